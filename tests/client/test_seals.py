"""`forelock unblind`, `erase` and `log`."""

from __future__ import annotations

import io
import sys

UNBLINDED = {"unblinding": {"received": 4, "expected": 16}, "job_id": None, "receipt": {}}
ERASED = {"erasure": {}, "can_check": ["the plan"], "cannot_check": ["the rows"], "receipt": {}}


def test_unblind_sends_the_reason_and_says_what_was_in(service, command):
    service.will_answer(201, UNBLINDED)
    status, output, _ = command("unblind", "p1", "--reason", "It broke.", "--endpoint", "accuracy", "--yes")
    assert status == 0
    assert output.startswith("p1 is unblinded, with 4 of 16 results in")
    request = service.requests[-1]
    assert (request.method, request.url.path) == ("POST", "/v1/preregistrations/p1/unblinding")
    assert service.sent() == {"reason": "It broke.", "population": None, "endpoint": "accuracy"}
    assert request.headers["Idempotency-Key"]


def test_erase_says_what_can_still_be_checked(service, command):
    service.will_answer(201, ERASED)
    status, output, _ = command("erase", "p1", "--reason", "Personal data.", "--yes")
    assert status == 0
    assert "the rows of p1 are gone" in output
    assert "the plan" in output
    assert service.requests[-1].url.path == "/v1/preregistrations/p1/erasure"


def test_neither_is_done_unasked(service, command):
    for name in ("unblind", "erase"):
        status, _, errors = command(name, "p1", "--reason", "why")
        assert (status, service.requests) == (2, [])
        assert "--yes" in errors


def test_on_a_terminal_the_id_has_to_be_typed(service, command, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("p2\n"))
    status, _, errors = command("erase", "p1", "--reason", "why")
    assert (status, service.requests) == (2, [])
    assert "nothing was done" in errors
    monkeypatch.setattr(sys, "stdin", Terminal("p1\n"))
    service.will_answer(201, ERASED)
    assert command("erase", "p1", "--reason", "why")[0] == 0


def test_the_log_is_printed_line_by_line_and_filtered(service, command):
    event = {
        "at": "2027-01-04T09:00:00Z",
        "action": "verdict.read",
        "subject": "p1",
        "key_id": "k1",
        "key_name": "Ada",
        "facts": {"times": 2},
    }
    nobody = event | {"key_id": None, "key_name": None, "facts": {}, "action": "verdict.record"}
    service.will_answer(200, {"items": [event, nobody], "next_cursor": None})
    status, output, _ = command("log", "--subject", "p1", "--since", "2027-01-01T00:00:00Z")
    assert status == 0
    assert output.splitlines() == [
        '2027-01-04T09:00:00Z  Ada  verdict.read  p1  {"times": 2}',
        "2027-01-04T09:00:00Z  the service  verdict.record  p1",
    ]
    assert dict(service.requests[-1].url.params) == {"subject": "p1", "since": "2027-01-01T00:00:00Z"}
    service.will_answer(200, {"items": [], "next_cursor": None})
    assert command("log", "--deployment")[1] == "no events\n"
    assert service.requests[-1].url.path == "/v1/audit/deployment"


def test_receipts_are_printed_line_by_line(service, command):
    entry = {
        "sequence": 7,
        "kind": "batch",
        "leaf_sha256": "ab" * 32,
        "leaf": "{}",
        "checkpoint": None,
        "proof": None,
        "at": "2027-01-04T09:00:00Z",
    }
    signed = entry | {"sequence": 3, "kind": "plan_locked", "checkpoint": "note", "proof": "proof"}
    service.will_answer(200, {"items": [entry, signed], "next_cursor": None})
    status, output, _ = command("receipts", "p1")
    assert status == 0
    assert output.splitlines() == [
        f"7  2027-01-04T09:00:00Z  batch  {'ab' * 32}  (not signed yet)",
        f"3  2027-01-04T09:00:00Z  plan_locked  {'ab' * 32}",
    ]
    assert service.requests[-1].url.path == "/v1/preregistrations/p1/receipts"
