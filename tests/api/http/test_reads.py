"""Reads on their way into the audit log: none waits for it, and none is lost while the process lives."""

from __future__ import annotations

import pytest

from service.api.http import reads as module
from service.api.http.reads import WINDOW_SECONDS, Reads
from service.errors import Unavailable
from service.store.projects import audit
from tests.api.conftest import add_key, add_project


@pytest.fixture
def caller(database):
    return add_key(database, add_project(database, "default"))[0]


@pytest.fixture
def reads(database, clock):
    return Reads(database, monotonic=clock.monotonic, now=clock.now)


def events(database, caller):
    with database.read() as session:
        return [
            (each.action, each.subject, each.facts.get("times", 1))
            for each in audit.read_page(session, caller.project_id)[0]
        ]


def test_the_first_read_is_written_and_those_of_the_next_minute_are_one_event(database, caller, reads, clock):
    reads.note(caller, "verdict.read", "p")
    assert reads.is_due()
    reads.write()
    for _ in range(5):
        clock.seconds += 1
        reads.note(caller, "verdict.read", "p")
    assert not reads.is_due()
    reads.write()
    assert events(database, caller) == [("verdict.read", "p", 1)]
    clock.seconds = WINDOW_SECONDS
    assert reads.is_due()
    reads.write()
    assert sorted(events(database, caller)) == [("verdict.read", "p", 1), ("verdict.read", "p", 5)]
    assert not reads.is_due()


def test_reads_of_others_or_of_other_things_are_events_of_their_own(database, caller, reads):
    other = add_key(database, caller.project_id)[0]
    for key, action, subject in (
        (caller, "verdict.read", "p"),
        (other, "verdict.read", "p"),
        (caller, "results.read", "p"),
        (caller, "verdict.read", "q"),
    ):
        reads.note(key, action, subject)
    reads.write()
    assert len(events(database, caller)) == 4


def test_what_cannot_be_written_waits_and_is_counted_on(database, caller, reads, monkeypatch):
    reads.note(caller, "verdict.read", "p")

    def away(*_arguments):
        raise Unavailable("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(module.audit, "record_all", away)
        with pytest.raises(Unavailable):
            reads.write()
    reads.note(caller, "verdict.read", "p")
    reads.write()
    assert events(database, caller) == [("verdict.read", "p", 2)]


def test_what_waits_is_bounded_and_still_counts_every_read(database, caller, reads, monkeypatch):
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    for number in range(10):
        reads.note(caller, "verdict.read", f"p{number}")
    reads.write()
    found = events(database, caller)
    assert len(found) == 4
    assert sum(times for _, _, times in found) == 10
    assert ("verdict.read", None, 7) in found
