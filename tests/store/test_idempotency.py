from __future__ import annotations

from datetime import timedelta
from threading import Event, Thread

import pytest

from service.errors import Conflict, InvalidData
from service.store import idempotency
from service.store.idempotency import StoredResponse

SCOPE = {"key_id": "key", "route": "POST /v1/x", "idempotency_key": "i1"}
ANSWER = {"status": 201, "headers": {"Location": "/v1/x/1"}, "body": b"\x00{}"}


def begin(session, world, fingerprint="f", **changes):
    return idempotency.find_or_begin(session, **SCOPE | changes, fingerprint=fingerprint, now=world.now)


def test_a_retry_gets_the_first_answer(world):
    with world.database.write() as session:
        assert begin(session, world) is None
        idempotency.finish(session, **SCOPE, **ANSWER)
    with world.database.write() as session:
        assert begin(session, world) == StoredResponse(**ANSWER)


def test_another_request_under_the_same_key_is_refused(world):
    with world.database.write() as session:
        begin(session, world)
        idempotency.finish(session, **SCOPE, **ANSWER)
        with pytest.raises(InvalidData) as refusal:
            begin(session, world, "g")
        assert refusal.value.problem_code == "idempotency_key_reused"


@pytest.mark.parametrize("change", [{"route": "POST /v1/y"}, {"idempotency_key": "i2"}])
def test_keys_count_by_route(world, change):
    with world.database.write() as session:
        begin(session, world)
        assert begin(session, world, "g", **change) is None


def test_a_write_that_failed_may_be_repeated(world):
    with world.database.write() as session:
        begin(session, world)
        session.rollback()
    with world.database.write() as session:
        assert begin(session, world) is None


def test_a_begun_write_without_an_answer_is_in_flight(world):
    with world.database.write() as session:
        begin(session, world)
    with world.database.write() as session, pytest.raises(Conflict) as refusal:
        begin(session, world)
    assert refusal.value.problem_code == "idempotency_in_flight"


def test_of_two_at_once_one_writes(world):
    """Postgres answers 409 while the first is open; SQLite makes the second wait for the answer."""
    begun, outcome = Event(), []

    def second():
        begun.wait(30)
        try:
            with world.database.write() as session:
                outcome.append(begin(session, world))
        except Conflict as conflict:
            outcome.append(conflict.problem_code)

    other = Thread(target=second)
    other.start()
    with world.database.write() as session:
        begin(session, world)
        begun.set()
        if world.database.dialect == "postgresql":
            other.join(30)
        idempotency.finish(session, **SCOPE, **ANSWER)
    other.join(30)
    expected = "idempotency_in_flight" if world.database.dialect == "postgresql" else StoredResponse(**ANSWER)
    assert outcome == [expected]


def test_old_answers_are_swept(world):
    with world.database.write() as session:
        begin(session, world)
        assert idempotency.sweep(session, world.now) == 0
        assert idempotency.sweep(session, world.now + timedelta(seconds=1)) == 1
        assert begin(session, world, "g") is None
