"""`forelock spool`: what waits is told by counts, and sent."""

from __future__ import annotations

import json

import pytest

from forelock.spool import Head, Spool

HEAD = Head("results", {"arm": "A", "endpoint": "accuracy"})


@pytest.fixture(autouse=True)
def waiting(tmp_path, monkeypatch):
    monkeypatch.setenv("FORELOCK_SPOOL", str(tmp_path))
    writer = Spool().writer("p1", HEAD)
    writer.append({"item_id": "a", "replicate": 1, "value": 0.25})
    writer.close()


def test_status_counts(command) -> None:
    status, output, _ = command("spool", "status")
    assert (status, output) == (0, "p1: 1 rows of arm A wait (results)\n")
    status, output, _ = command("spool", "status", "p2", "--json")
    assert (status, json.loads(output)) == (0, [])


def test_send_empties_the_spool(command, service) -> None:
    service.will_answer(201, {"n": 1})
    assert command("spool", "send", "p1")[:2] == (0, "1 rows are with the service\n")
    assert command("spool", "status")[1].startswith("nothing waits in ")


def test_send_tells_what_stays_and_why(command, service) -> None:
    service.will_refuse(422, "unknown_items")
    status, output, _ = command("spool", "send")
    assert status == 1
    assert output == (
        "0 rows are with the service\nrefused: unknown_items: it is unknown_items\n"
        "p1: 1 rows of arm A wait (results)\n  refused: unknown_items: it is unknown_items\n"
    )
    assert command("spool", "discard", "p1", "--refused")[:2] == (0, "1 refused rows are thrown away\n")


def test_no_outcome_is_printed(command, service) -> None:
    service.will_refuse(503, "overloaded")
    for _ in range(5):
        service.will_refuse(503, "overloaded")
    told = [*command("spool", "send")[1:], *command("spool", "status", "--json")[1:]]
    assert not any("0.25" in each for each in told)
