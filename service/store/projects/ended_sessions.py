"""Sessions of browsers that were signed out of. Of a cookie only its hash is kept, until it would have ended anyway."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from service.store.database.tables import ended_sessions


def end(session: Session, cookie_sha256: str, ends_at: datetime) -> bool:
    """End a session; False when it had ended already, also where another request ended it at the same time."""
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    row = {"cookie_sha256": cookie_sha256, "ends_at": ends_at}
    ended = dialect.insert(ended_sessions).on_conflict_do_nothing().returning(ended_sessions.c.cookie_sha256)
    return session.execute(ended, row).first() is not None


def has_ended(session: Session, cookie_sha256: str) -> bool:
    """Tell whether a session was signed out of."""
    wanted = sa.select(sa.literal(1)).where(ended_sessions.c.cookie_sha256 == cookie_sha256)
    return session.execute(wanted).first() is not None


def sweep(session: Session, now: datetime) -> None:
    """Forget the sessions whose cookies have expired by themselves."""
    session.execute(sa.delete(ended_sessions).where(ended_sessions.c.ends_at < now))
