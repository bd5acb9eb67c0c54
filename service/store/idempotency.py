"""Answers kept for retries. The row is part of the write's own transaction: both or neither."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.errors import Conflict, InvalidData
from service.store.tables import idempotency


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What the first request was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def find_or_begin(
    session: Session, *, key_id: str, route: str, idempotency_key: str, fingerprint: str, now: datetime
) -> StoredResponse | None:
    """The earlier answer to this request, or None after noting that it has begun.

    `fingerprint` tells one request from another and is computed by the caller, without outcomes.
    """
    _require_alone(session, key_id, route, idempotency_key)
    row = session.execute(_FIND, _of(key_id, route, idempotency_key)).one_or_none()
    if row is None:
        begun = {
            "key_id": key_id,
            "route": route,
            "idempotency_key": idempotency_key,
            "fingerprint": fingerprint,
            "created_at": now,
        }
        session.execute(_BEGIN, begun)
        return None
    if row.fingerprint != fingerprint:
        raise InvalidData(
            "this Idempotency-Key was used for another request: send a new one", code="idempotency_key_reused"
        )
    if row.status is None:
        raise _in_flight()
    return StoredResponse(row.status, dict(row.headers or {}), bytes(row.body or b""))


def finish(
    session: Session,
    *,
    key_id: str,
    route: str,
    idempotency_key: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
) -> None:
    """Keep the answer for retries."""
    answer = {"new_status": status, "new_headers": dict(headers), "new_body": body}
    session.execute(_FINISH, _of(key_id, route, idempotency_key) | answer)


def sweep(session: Session, before: datetime) -> int:
    """Forget answers older than that, and say how many."""
    statement = sa.delete(idempotency).where(idempotency.c.created_at < before)
    return len(session.execute(statement.returning(idempotency.c.key_id)).all())


def _of(key_id: str, route: str, idempotency_key: str) -> dict[str, object]:
    return {"of_key_id": key_id, "of_route": route, "of_idempotency_key": idempotency_key}


# Made once: every write that may be retried executes them.
_OURS = sa.and_(*(idempotency.c[name.removeprefix("of_")] == sa.bindparam(name) for name in _of("", "", "")))
_FIND = sa.select(idempotency).where(_OURS)
_BEGIN = sa.insert(idempotency)
_FINISH = (
    sa.update(idempotency)
    .where(_OURS)
    .values(
        status=sa.bindparam("new_status"), headers=sa.bindparam("new_headers"), body=sa.bindparam("new_body")
    )
)


def _require_alone(session: Session, *scope: str) -> None:
    """On Postgres, see a transaction that holds the key and has not committed; SQLite has one writer."""
    if session.get_bind().dialect.name != "postgresql":
        return
    digest = hashlib.sha256("\x00".join(scope).encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big", signed=True)
    if not session.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(number))):
        raise _in_flight()


def _in_flight() -> Conflict:
    return Conflict(
        "the first request with this Idempotency-Key is still being answered: retry shortly",
        code="idempotency_in_flight",
    )
