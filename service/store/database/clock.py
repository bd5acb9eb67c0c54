"""What time it is, for everything that several processes must agree on."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.moment import Moment
from service.store.database.pipeline import Later, Questions
from service.store.database.types import Timestamp

_DATABASE_TIME = sa.select(sa.func.clock_timestamp(type_=Timestamp()))


def read_now(session: Session) -> datetime:
    """Return the database's clock on Postgres, where machines share it; this process' clock on SQLite."""
    if session.get_bind().dialect.name == "postgresql":
        time = session.scalar(_DATABASE_TIME)
        assert time is not None  # noqa: S101  # a clock always answers
        return time
    return datetime.now(UTC)


def read_moment(session: Session) -> Moment:
    """Read this moment, with fresh randomness for what is done at it."""
    return Moment(read_now(session))


def ask_now(questions: Questions) -> Later[datetime]:
    """Return the time of `read_now`, asked in one round trip with other questions."""
    if questions.dialect.name == "postgresql":
        return questions.ask(_DATABASE_TIME, {}, lambda rows: rows[0][0])
    time = datetime.now(UTC)
    return Later(list, lambda _rows: time)
