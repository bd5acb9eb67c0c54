from __future__ import annotations

from datetime import timedelta
from threading import Event, Thread

import pytest
import sqlalchemy as sa

from service.errors import Conflict, InvalidData
from service.store.database import idempotency
from service.store.database.idempotency import Attempt, StoredResponse
from service.store.database.tables import idempotency as table

ANSWER = StoredResponse(201, {"Location": "/v1/x/1"}, b"\x00{}")


def attempt(name="i1", route="POST /v1/x", fingerprint="f"):
    return Attempt(key_id="key", route=route, idempotency_key=name, fingerprint=fingerprint)


def ask(session, *asked):
    """What each is answered, or the code that it is refused with; None: it is the first."""
    found = idempotency.find(session, asked)

    def answer(each):
        try:
            return found[each.scope].answer_to(each) if each.scope in found else None
        except (Conflict, InvalidData) as refused:
            return refused.problem_code

    return [answer(each) for each in asked]


def keep(session, world, *asked):
    idempotency.keep(session, [(each, ANSWER) for each in asked], world.now)


def test_a_retry_gets_the_first_answer(world):
    with world.database.write() as session:
        assert ask(session, attempt()) == [None]
        keep(session, world, attempt())
    with world.database.write() as session:
        assert ask(session, attempt()) == [ANSWER]


def test_another_request_under_the_same_key_is_refused(world):
    with world.database.write() as session:
        keep(session, world, attempt())
        assert ask(session, attempt(fingerprint="g")) == ["idempotency_key_reused"]


@pytest.mark.parametrize("change", [{"route": "POST /v1/y"}, {"name": "i2"}])
def test_keys_count_by_route(world, change):
    with world.database.write() as session:
        keep(session, world, attempt())
        assert ask(session, attempt(fingerprint="g", **change)) == [None]


def test_several_are_found_at_once(world):
    first, second, third = attempt("i1"), attempt("i2"), attempt("i1", route="POST /v1/y")
    with world.database.write() as session:
        assert ask(session, first, second, third) == [None, None, None]
        keep(session, world, first, third)
    with world.database.write() as session:
        others = attempt("i2", route="POST /v1/y"), attempt("i1", fingerprint="g")
        assert ask(session, first, second, third, *others) == [
            ANSWER,
            None,
            ANSWER,
            None,
            "idempotency_key_reused",
        ]


def test_nothing_is_kept_of_nothing(world):
    with world.database.write() as session:
        assert ask(session) == []
        keep(session, world)
        assert idempotency.sweep(session, world.now + timedelta(days=1)) == 0


def test_a_write_that_failed_may_be_repeated(world):
    with world.database.write() as session:
        keep(session, world, attempt())
        session.rollback()
    with world.database.write() as session:
        assert ask(session, attempt()) == [None]


def test_a_row_without_an_answer_is_in_flight(world):
    """Earlier releases noted that a request had begun."""
    with world.database.write() as session:
        begun = {"key_id": "key", "route": attempt().route, "idempotency_key": attempt().idempotency_key}
        begun |= {"fingerprint": attempt().fingerprint, "created_at": world.now}
        session.execute(sa.insert(table).values(begun))
    with world.database.write() as session:
        assert ask(session, attempt()) == ["idempotency_in_flight"]
        assert ask(session, attempt(fingerprint="g")) == ["idempotency_key_reused"]


def test_of_two_at_once_one_writes(world):
    """Postgres answers 409 while the first is open; SQLite makes the second wait for the answer."""
    begun, outcome = Event(), []

    def second():
        begun.wait(30)
        with world.database.write() as session:
            outcome.extend(ask(session, attempt("free"), attempt()))

    other = Thread(target=second)
    other.start()
    with world.database.write() as session:
        ask(session, attempt())
        begun.set()
        if world.database.dialect == "postgresql":
            other.join(30)
        keep(session, world, attempt())
    other.join(30)
    assert outcome == [None, "idempotency_in_flight" if world.database.dialect == "postgresql" else ANSWER]


def test_old_answers_are_swept(world):
    with world.database.write() as session:
        keep(session, world, attempt())
        assert idempotency.sweep(session, world.now) == 0
        assert idempotency.sweep(session, world.now + timedelta(seconds=1)) == 1
        assert ask(session, attempt(fingerprint="g")) == [None]
