"""What time it is, for everything that several processes must agree on."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.store.database.pipeline import Later, Questions
from service.store.database.types import Moment

_DATABASE_TIME = sa.select(sa.func.clock_timestamp(type_=Moment()))


def now(session: Session) -> datetime:
    """The database's clock on Postgres, where machines share it; this process' clock on SQLite."""
    if session.get_bind().dialect.name == "postgresql":
        moment = session.scalar(_DATABASE_TIME)
        assert moment is not None  # noqa: S101  # a clock always answers
        return moment
    return datetime.now(UTC)


def asked(questions: Questions) -> Later[datetime]:
    """The same, beside other questions."""
    if questions.dialect.name == "postgresql":
        return questions.ask(_DATABASE_TIME, {}, lambda rows: rows[0][0])
    moment = datetime.now(UTC)
    return Later(list, lambda _rows: moment)
