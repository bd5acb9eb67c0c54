"""What the runner's log says of a database that is away."""

from __future__ import annotations

import logging

import pytest
import sqlalchemy as sa

from service.errors import Unavailable
from service.jobs.outages import PAUSES, Outage
from service.store.database.engine import Database


def test_an_outage_is_said_once_with_its_cause_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "forelock.runner")
    waited: list[float] = []
    outage = Outage(
        lambda error: f"'one' at h:1 does not answer: {error.detail}",
        "it answers again",
        waited.append,
        clock=lambda: sum(waited),
    )
    outage.end()
    for _ in range(6):
        outage.wait_out(Unavailable("refused"))
    for _ in range(2):
        outage.wait_out(Unavailable("starting up"))
    outage.end()
    outage.end()
    outage.wait_out(Unavailable("starting up"))
    assert waited == [*PAUSES, 5.0, 5.0, 5.0, 5.0, PAUSES[0]]
    assert [record.getMessage() for record in caplog.records] == [
        "'one' at h:1 does not answer: refused; waiting for it",
        "'one' at h:1 does not answer: starting up; waiting for it",
        "it answers again after 28 s",
        "'one' at h:1 does not answer: starting up; waiting for it",
    ]


def test_a_database_that_is_away_is_named_with_host_and_cause() -> None:
    database = Database("postgresql://someone:secret@127.0.0.1:1/evaluations")
    with pytest.raises(Unavailable) as raised, database.read() as session:
        session.execute(sa.text("SELECT 1"))
    said = database.why(raised.value)
    assert said.startswith("the database 'evaluations' at 127.0.0.1:1 does not answer: ")
    assert "refused" in said
    assert "secret" not in said
    database.dispose()


def test_a_database_behind_a_socket_is_named_with_its_directory() -> None:
    database = Database("postgresql://someone@/evaluations?host=/nowhere")
    with pytest.raises(Unavailable) as raised, database.read() as session:
        session.execute(sa.text("SELECT 1"))
    assert database.why(raised.value).startswith(
        "the database 'evaluations' at /nowhere:5432 does not answer: "
    )
    database.dispose()
