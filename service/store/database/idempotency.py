"""Answers kept for retries. The row is part of the write's own transaction: both or neither."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from service.errors import Conflict, InvalidData, RecordAltered
from service.store.database import integrity
from service.store.database.pipeline import Later, Questions, Row, reading
from service.store.database.tables import idempotency

Scope = tuple[str, str, str]
"""API key, route and Idempotency-Key: what an answer is kept under."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that may be repeated.

    `fingerprint` tells one request from another and is computed by the caller, without outcomes.
    """

    key_id: str
    route: str
    idempotency_key: str
    fingerprint: str

    @property
    def scope(self) -> Scope:
        """What its answer is kept under."""
        return self.key_id, self.route, self.idempotency_key

    def require_same(self, fingerprint: str) -> None:
        """Refuse a key that another request has used."""
        if self.fingerprint != fingerprint:
            raise InvalidData(
                "this Idempotency-Key was used for another request: send a new one",
                code="idempotency_key_reused",
            )


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What the first request was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Earlier:
    """A request that came before under the same scope; without a fingerprint it is being answered elsewhere."""

    fingerprint: str | None
    response: StoredResponse | None
    altered: bool = False
    """The answer is not the one that was given."""

    def answer_to(self, attempt: Attempt) -> StoredResponse:
        """Return its answer to one that repeats it.

        Raises:
            InvalidData: `idempotency_key_reused`: this is another request.
            Conflict: `idempotency_in_flight`: there is no answer yet.
            RecordAltered: the stored answer is not the one that was given.
        """
        if self.altered:
            raise _make_altered(attempt.scope)
        if self.fingerprint is not None:
            attempt.require_same(self.fingerprint)
        if self.response is None:
            raise Conflict(
                "the first request with this Idempotency-Key is still being answered: retry shortly",
                code="idempotency_in_flight",
            )
        return self.response


def find(session: Session, attempts: Iterable[Attempt]) -> dict[Scope, Earlier]:
    """Return what came before under the scopes of these; the others are theirs until the transaction ends."""
    with reading(session) as questions:
        question = ask(questions, attempts)
    return question.get()


def ask(questions: Questions, attempts: Iterable[Attempt]) -> Later[dict[Scope, Earlier]]:
    """Return what `find` answers, asked in one round trip with other questions."""
    scopes = {attempt.scope for attempt in attempts}
    # The locks are tried before the rows are read: what another transaction commits in between is then seen as a
    # row. The other way round it would be neither, and this write would end at the primary key.
    held = _ask_held(questions, scopes)
    wanted: dict[tuple[str, str], list[str]] = {}
    for key_id, route, name in scopes:
        wanted.setdefault((key_id, route), []).append(name)
    answers = [
        questions.ask(
            _FIND, {"of_key_id": key_id, "of_route": route, "of_names": sorted(names)}, _read_earlier
        )
        for (key_id, route), names in wanted.items()
    ]

    def merge(_rows: list[Row]) -> dict[Scope, Earlier]:
        known: dict[Scope, Earlier] = {}
        for answer in answers:
            known |= answer.get()
        for scope in (scope for scope, earlier in known.items() if earlier.altered):
            integrity.note(questions.session, _make_altered(scope))
        return known | dict.fromkeys(held.get(), Earlier(None, None))

    return Later(list, merge)


def keep(session: Session, answers: Sequence[tuple[Attempt, StoredResponse]], now: datetime) -> None:
    """Keep answers to requests that `find` found nothing for."""
    rows = [
        {
            "key_id": attempt.key_id,
            "route": attempt.route,
            "idempotency_key": attempt.idempotency_key,
            "fingerprint": attempt.fingerprint,
            "status": answer.status,
            "headers": dict(answer.headers),
            "body": answer.body,
            "created_at": now,
            "sha256": _hash_answer(attempt.scope, attempt.fingerprint, answer),
        }
        for attempt, answer in answers
    ]
    if rows:
        session.execute(_KEEP, rows)


def sweep(session: Session, before: datetime) -> int:
    """Forget answers older than that, and say how many."""
    statement = sa.delete(idempotency).where(idempotency.c.created_at < before)
    return len(session.execute(statement.returning(idempotency.c.key_id)).all())


# Made once: every write that may be retried executes them.
_FIND = sa.select(
    idempotency.c.key_id,
    idempotency.c.route,
    idempotency.c.idempotency_key,
    idempotency.c.fingerprint,
    idempotency.c.status,
    idempotency.c.headers,
    idempotency.c.body,
    idempotency.c.sha256,
).where(
    idempotency.c.key_id == sa.bindparam("of_key_id"),
    idempotency.c.route == sa.bindparam("of_route"),
    idempotency.c.idempotency_key.in_(sa.bindparam("of_names", expanding=True)),
)
_KEEP = sa.insert(idempotency)
_NUMBER = sa.func.unnest(sa.bindparam("numbers", type_=ARRAY(sa.BigInteger))).column_valued("number")
_HELD = sa.select(_NUMBER).where(sa.not_(sa.func.pg_try_advisory_xact_lock(_NUMBER)))


def _read_earlier(rows: list[Row]) -> dict[Scope, Earlier]:
    """Kept answers by scope, each with whether it is still the one that was given."""
    earlier = {}
    for key_id, route, name, fingerprint, status, headers, body, sha256 in rows:
        scope = key_id, route, name
        answer = None if status is None else StoredResponse(status, dict(headers or {}), bytes(body or b""))
        altered = sha256 is not None and sha256 != _hash_answer(scope, fingerprint, answer)
        earlier[scope] = Earlier(fingerprint, answer, altered)
    return earlier


def _make_altered(scope: Scope) -> RecordAltered:
    return RecordAltered("answer", f"an earlier {scope[1]}")


def _hash_answer(scope: Scope, fingerprint: str, answer: StoredResponse | None) -> str:
    """SHA-256 of an answer and of what it is kept under."""
    head = None if answer is None else [answer.status, sorted(answer.headers.items())]
    # JSON has no line break outside a string, where it is escaped: the head ends where the body begins.
    text = json.dumps([scope, fingerprint, head], ensure_ascii=True)
    return hashlib.sha256(text.encode() + b"\n" + (b"" if answer is None else answer.body)).hexdigest()


def _ask_held(questions: Questions, scopes: Iterable[Scope]) -> Later[list[Scope]]:
    """On Postgres, scopes that a transaction holds which has not committed; SQLite has one writer."""
    numbers = {_number_scope(scope): scope for scope in scopes}
    if questions.dialect.name != "postgresql":
        return Later(list, lambda _rows: [])
    return questions.ask(
        _HELD, {"numbers": sorted(numbers)}, lambda rows: [numbers[number] for (number,) in rows]
    )


def _number_scope(scope: Scope) -> int:
    # Advisory locks are named by 64 signed bits. Of two scopes that share them one is told to retry.
    digest = hashlib.sha256("\x00".join(scope).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
