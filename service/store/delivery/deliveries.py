"""Deliveries: the outbox. A row is written by the transaction that it tells of, and sent by a runner.

Whoever sends has a lease on the row, which is a time before which nobody else takes it; a runner that dies leaves the
row to the next one. The end is written by the number of the attempt, so that only the last sender writes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.outgoing import Channel, Delivery
from service.store.database import paging, scope
from service.store.database.tables import deliveries

_SHOWN = sa.select(*(deliveries.c[name] for name in Delivery.model_fields))
_WAITING = deliveries.c.state == "waiting"


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery that a sender holds and is about to send."""

    id: str
    project_id: str
    preregistration_id: str | None
    channel: Channel
    target: str
    event: str
    sequence: int | None
    body: bytes | None = field(repr=False)
    attempts: int
    """Attempts at it, this one included. The number is the token of the sender's lease as well."""
    asked_at: datetime
    """When it was last asked for: the time to give up counts from here."""
    created_at: datetime


_DUE = tuple(Due.__dataclass_fields__)


def insert(
    session: Session,
    *,
    delivery_id: str,
    project_id: str,
    preregistration_id: str | None,
    channel: Channel,
    target: str,
    event: str,
    sequence: int | None,
    now: datetime,
) -> None:
    """Add a delivery that is due at once; a runner sends it after the caller's transaction has committed."""
    session.execute(
        sa.insert(deliveries).values(
            id=delivery_id,
            project_id=project_id,
            preregistration_id=preregistration_id,
            channel=channel,
            target=target,
            event=event,
            sequence=sequence,
            state="waiting",
            attempts=0,
            asked_at=now,
            next_at=now,
            created_at=now,
        )
    )


def has_due(session: Session, now: datetime) -> bool:
    """Tell whether anything is to be sent by now, by a read of an index that keeps no writer waiting."""
    due = sa.select(deliveries.c.id).where(_WAITING, deliveries.c.next_at <= now).limit(1)
    return session.scalar(due) is not None


def claim(
    session: Session, *, busy: Collection[str], others_only: bool, now: datetime, lease: timedelta
) -> Due | None:
    """Take the delivery that has waited longest, under a lease; None where none is due.

    Projects in `busy`, which are being served already, come last, and with `others_only` not at all.
    """
    due = sa.select(deliveries.c.id).where(_WAITING, deliveries.c.next_at <= now)
    if others_only:
        due = due.where(deliveries.c.project_id.not_in(list(busy)))
    first = (
        due.order_by(deliveries.c.project_id.in_(list(busy)), deliveries.c.next_at, deliveries.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)  # of several runners each takes another one
    )
    delivery_id = session.scalar(first)
    if delivery_id is None:
        return None
    statement = (
        sa.update(deliveries)
        # Asked again: SQLite knows no row locks, and there another may have taken it between the two statements.
        .where(deliveries.c.id == delivery_id, _WAITING, deliveries.c.next_at <= now)
        .values(next_at=now + lease, attempts=deliveries.c.attempts + 1)
        .returning(*(deliveries.c[name] for name in _DUE))
    )
    row = session.execute(statement).mappings().one_or_none()
    if row is None:
        return None
    return Due(**{**row, "body": None if row["body"] is None else bytes(row["body"])})


def keep_body(session: Session, due: Due, body: bytes) -> None:
    """Store what is sent, so that it stays the same over all attempts."""
    session.execute(sa.update(deliveries).where(_match_held(due)).values(body=body))


def put_off(session: Session, due: Due, *, until: datetime) -> None:
    """Put a delivery off that cannot be sent yet; this counts as no attempt."""
    values = {"next_at": until, "attempts": due.attempts - 1}
    session.execute(sa.update(deliveries).where(_match_held(due)).values(values))


def finish(
    session: Session, due: Due, *, delivered: bool, status: int | None, error: str | None, now: datetime
) -> None:
    """End a delivery that has arrived, or is given up."""
    state = "delivered" if delivered else "failed"
    values = {"state": state, "status": status, "error": error, "finished_at": now}
    session.execute(sa.update(deliveries).where(_match_held(due)).values(values))


def fail(
    session: Session, due: Due, *, status: int | None, error: str, now: datetime, wait: timedelta
) -> None:
    """Have a delivery tried again later; whatever else waits for the same target is not tried before."""
    values = {"status": status, "error": error, "next_at": now + wait}
    session.execute(sa.update(deliveries).where(_match_held(due)).values(values))
    # A target that is away is asked once a turn, not once for every message that waits for it.
    theirs = sa.and_(deliveries.c.target == due.target, deliveries.c.project_id == due.project_id)
    session.execute(
        sa.update(deliveries).where(theirs, _WAITING, deliveries.c.next_at <= now).values(next_at=now + wait)
    )


def read_page(
    session: Session, project_id: str, target: str, *, cursor: str | None, limit: int
) -> tuple[list[Delivery], str | None]:
    """Read a page of the deliveries to a target, newest first, and the cursor of the next."""
    statement = scope.select_of_project(_SHOWN.where(deliveries.c.target == target), deliveries, project_id)
    order = (deliveries.c.created_at, deliveries.c.id)
    return paging.read_page(session, statement, order, _read, cursor=cursor, limit=limit)


def read_newest(session: Session, preregistration_id: str, channel: Channel) -> dict[str, Delivery]:
    """Read by target the newest delivery of a record through a channel. Reach it through its record."""
    theirs = sa.and_(deliveries.c.preregistration_id == preregistration_id, deliveries.c.channel == channel)
    newest = _SHOWN.add_columns(deliveries.c.target).where(theirs).order_by(deliveries.c.created_at)
    # In the order of time: of several to one target the last one stays in the dictionary.
    return {row["target"]: _read(row) for row in session.execute(newest).mappings()}


def get(session: Session, project_id: str, target: str, delivery_id: str) -> Delivery:
    """Read the delivery of that id to that target; NotFound when the project has none."""
    this = _SHOWN.where(deliveries.c.id == delivery_id, deliveries.c.target == target)
    missing = f"there is no delivery {delivery_id} to this webhook"
    return _read(scope.get_row(session, this, deliveries, project_id, missing))


def ask_again(session: Session, project_id: str, delivery_id: str, now: datetime) -> None:
    """Have a delivery that has ended sent once more, with the time to give up counted anew."""
    values = {"state": "waiting", "attempts": 0, "asked_at": now, "next_at": now, "finished_at": None}
    statement = sa.update(deliveries).where(deliveries.c.id == delivery_id, ~_WAITING).values(values)
    session.execute(scope.select_of_project(statement, deliveries, project_id))


def count_waiting(session: Session, project_id: str, target: str) -> int:
    """Count the deliveries that wait for a target."""
    counted = sa.select(sa.func.count()).where(deliveries.c.target == target, _WAITING)
    return int(session.scalar(scope.select_of_project(counted, deliveries, project_id)) or 0)


def forget_target(session: Session, project_id: str, target: str) -> None:
    """Delete every delivery to a target, those that wait included."""
    statement = sa.delete(deliveries).where(deliveries.c.target == target)
    session.execute(scope.select_of_project(statement, deliveries, project_id))


def forget_old(session: Session, before: datetime) -> int:
    """Delete the deliveries that ended before a time; returns how many."""
    statement = sa.delete(deliveries).where(~_WAITING, deliveries.c.finished_at < before)
    return len(session.execute(statement.returning(deliveries.c.id)).all())


def _match_held(due: Due) -> sa.ColumnElement[bool]:
    # The number of the attempt is the lease's token: whoever claimed the row since has raised it.
    return sa.and_(deliveries.c.id == due.id, _WAITING, deliveries.c.attempts == due.attempts)


def _read(row: sa.RowMapping) -> Delivery:
    fields = {name: row[name] for name in Delivery.model_fields}
    return Delivery.model_validate(fields | ({} if row["state"] == "waiting" else {"next_at": None}))
