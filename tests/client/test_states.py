"""`forelock amend`, `name-arm`, `close`, `withdraw`, `run-token`, `runs` and `family`."""

from __future__ import annotations

import hashlib

import pytest

RECORD = {
    "id": "p1",
    "state": "locked",
    "version": 2,
    "plan": {"title": "Amended", "hypotheses": []},
    "plan_sha256": "ab" * 32,
    "locked_at": "2027-01-04T09:00:00Z",
    "family": {"id": "f1", "registration": 2, "of": 2},
    "closed": {"received": 8, "expected": 12},
}


def test_an_amendment_names_the_version_that_was_read(service, command, tmp_path):
    (tmp_path / "changes.json").write_text('{"title": "Amended"}')
    service.will_answer(200, RECORD, ETag='"2"')
    service.will_answer(200, RECORD)
    status, output, _ = command(
        "amend", "p1", str(tmp_path / "changes.json"), "--reason", "a slip", "--acknowledge", "LOW_POWER"
    )
    assert status == 0
    assert output.startswith("p1  locked  version 2\n  Amended\n")
    assert service.sent() == {
        "changes": {"title": "Amended"},
        "reason": "a slip",
        "acknowledge": ["LOW_POWER"],
    }
    assert service.header("If-Match") == [None, '"2"']
    assert service.header("Idempotency-Key")[1]


def test_all_warnings_are_acknowledged_at_once(service, command, tmp_path):
    (tmp_path / "changes.json").write_text("{}")
    service.will_answer(200, RECORD, ETag='"2"')
    service.will_answer(200, RECORD)
    command("amend", "p1", str(tmp_path / "changes.json"), "--reason", "r", "--acknowledge", "all")
    assert service.sent()["acknowledge"] == "all"


def test_an_arm_is_named_with_its_evidence(service, command, tmp_path):
    (tmp_path / "card.json").write_text('{"model": {"checkpoint_sha256": "c"}, "tools": []}')
    (tmp_path / "notes.txt").write_bytes(b"released today")
    named = {"arm": "B", "at": "2027-02-11T09:00:00Z", "card": {"model": {"name": "x-2", "revision": "r"}}}
    service.will_answer(200, RECORD | {"named_arms": [named]})
    status, output, _ = command(
        "name-arm", "p1", "B", "--model", "x-2", "--revision", "r", "--card", str(tmp_path / "card.json"),
        "--evidence", "it is the first", "--evidence-file", str(tmp_path / "notes.txt"),
    )  # fmt: skip
    assert status == 0
    assert "B named 2027-02-11T09:00:00Z: x-2 r" in output
    assert service.requests[0].url.path == "/v1/preregistrations/p1/arms/B"
    assert service.sent() == {
        "card": {"model": {"checkpoint_sha256": "c", "name": "x-2", "revision": "r"}, "tools": []},
        "evidence": {"text": "it is the first", "sha256": hashlib.sha256(b"released today").hexdigest()},
    }


def test_a_close_tells_how_much_was_in(service, command):
    service.will_answer(200, RECORD)
    status, output, _ = command("close", "p1", "--deviation", "3", "--reason", "no budget")
    assert (status, output) == (0, "closed with 8 of 12 results in; the verdict will say so\n")
    assert service.sent() == {"reason": "no budget", "deviation": 3}


def test_a_withdrawal_gives_its_reason(service, command):
    service.will_answer(200, RECORD | {"state": "withdrawn"})
    status, output, _ = command("withdraw", "p1", "--reason", "retired")
    assert status == 0
    assert "withdrawn" in output
    assert (service.requests[0].url.path, service.sent()) == (
        "/v1/preregistrations/p1/withdrawal",
        {"reason": "retired"},
    )


def test_a_run_token_is_all_that_is_printed(service, command, tmp_path):
    (tmp_path / "judges.json").write_text('{"accuracy": {"model": "j"}}')
    service.will_answer(201, {"run": "made-here"})
    status, output, _ = command(
        "run-token", "p1", "--arm", "C1", "--model", "generator=m=1", "--environment", "harness=h",
        "--judges", str(tmp_path / "judges.json"), "--started-at", "2027-01-04T09:00:00Z", "--name", "mine",
    )  # fmt: skip
    assert (status, output) == (0, "made-here\n")
    assert service.sent() == {
        "arm": "C1",
        "run": "mine",
        "models": {"generator": "m=1"},
        "environment": {"harness": "h"},
        "judges": {"accuracy": {"model": "j"}},
        "started_at": "2027-01-04T09:00:00Z",
    }


@pytest.mark.parametrize("pair", ["generator", "=m", "generator="])
def test_a_pair_has_a_name_and_a_value(command, pair):
    assert command("run-token", "p1", "--arm", "C1", "--model", pair)[0] == 2


def test_runs_are_listed_with_what_stands_against_them(service, command):
    run = {"run": "r1", "arm": "C1", "bound_at": "2027", "bound_by": "job"}
    mark = {"code": "run_missing", "effect": "invalid", "says": "1 batch came in without a run"}
    page = {"items": [run], "next_cursor": None, "marks": [mark]}
    service.will_answer(200, page)
    service.will_answer(200, page)
    status, output, _ = command("runs", "p1")
    assert (status, output) == (0, "r1  C1, bound 2027 by job\nINVALID: 1 batch came in without a run\n")


def test_a_family_is_listed_by_the_order_of_the_locks(service, command):
    items = [
        {"registration": n, "preregistration_id": f"p{n}", "state": state, "title": "T", "outcomes": outcomes}
        for n, state, outcomes in ((1, "judged", {"H1": "invalid"}), (2, "locked", {}))
    ]
    page = {"id": "f1", "of": 2, "items": items, "next_cursor": None}
    service.will_answer(200, RECORD)
    service.will_answer(200, page)
    service.will_answer(200, page)
    status, output, _ = command("family", "p1")
    assert status == 0
    assert output.splitlines() == [
        "registration 2 of 2 on these items in this project",
        "   1  p1  judged  T  H1: invalid",
        "   2  p2  locked  T",
    ]


def test_a_draft_belongs_to_no_family(service, command):
    service.will_answer(200, RECORD | {"family": None})
    assert command("family", "p1")[1] == "a draft belongs to no family: it promises nothing yet\n"


def test_versions_are_told_as_they_came(service):
    service.will_answer(200, {"items": [{"version": 1}, {"version": 2}]})
    assert [each["version"] for each in service.client().versions("p1")] == [1, 2]
    assert service.requests[0].url.path == "/v1/preregistrations/p1/versions"
