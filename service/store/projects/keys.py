"""API keys. Only the hash of a secret is kept."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.domain.access import Key
from service.store.database import paging, scope
from service.store.database.tables import keys
from service.words import message

TOUCH_EVERY = timedelta(minutes=1)
"""How exactly the last use of a key is known: one that is used all the time costs a write a minute."""


def insert(session: Session, key: Key, secret_sha256: str) -> Key:
    """Add a key, of whose secret the hash alone is kept; returns it unchanged."""
    row = key.model_dump() | {"scopes": " ".join(key.scopes), "secret_sha256": secret_sha256}
    session.execute(sa.insert(keys).values(row))
    return key


def insert_if_new(session: Session, key: Key, secret_sha256: str) -> bool:
    """Add a key; False where there is one of that id already, such as from a request at the same time."""
    try:
        # A savepoint: Postgres would refuse everything after a failed insert, and the caller has more to write.
        with session.begin_nested():
            insert(session, key, secret_sha256)
    except IntegrityError:
        return False
    return True


def find_by_secret(session: Session, secret_sha256: str) -> Key | None:
    """Find the key whose secret has that hash, expired and revoked ones included."""
    row = (
        session.execute(sa.select(keys).where(keys.c.secret_sha256 == secret_sha256)).mappings().one_or_none()
    )
    return None if row is None else _read(row)


def get(session: Session, project_id: str, key_id: str) -> Key:
    """Read the project's key of that id; NotFound when it has none."""
    this = sa.select(keys).where(keys.c.id == key_id)
    return _read(scope.get_row(session, this, keys, project_id, message("refusals.no_key_of_id", id=key_id)))


def find_makers(session: Session, key_id: str) -> set[str]:
    """Find the ids of the key that made a key, of the one that made that, and so on to the first."""
    ids: set[str] = set()
    maker: str | None = key_id
    while maker is not None and maker not in ids:
        if maker != key_id:
            ids.add(maker)
        maker = session.scalar(sa.select(keys.c.created_by).where(keys.c.id == maker))
    return ids


def read_keys_of_person(session: Session, project_id: str, stem: str) -> list[Key]:
    """Read the keys of a person who signs in, whose ids are `STEM-1`, `STEM-2` and so on.

    Newest first, revoked ones included.
    """
    statement = sa.select(keys).where(keys.c.id.startswith(f"{stem}-", autoescape=True))
    rows = session.execute(scope.select_of_project(statement, keys, project_id)).mappings()
    return sorted(map(_read, rows), key=lambda key: int(key.id.rpartition("-")[2]), reverse=True)


def read_page(
    session: Session, project_id: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[Key], str | None]:
    """Read a page of the project's keys, newest first, revoked ones included, and the cursor of the next."""
    statement = scope.select_of_project(sa.select(keys), keys, project_id)
    order = (keys.c.created_at, keys.c.id)
    return paging.read_page(session, statement, order, _read, cursor=cursor, limit=limit)


def revoke(session: Session, project_id: str, key_id: str, now: datetime) -> Key:
    """Revoke a key. To revoke it again changes nothing."""
    statement = sa.update(keys).where(keys.c.id == key_id, keys.c.revoked_at.is_(None)).values(revoked_at=now)
    session.execute(scope.select_of_project(statement, keys, project_id))
    return get(session, project_id, key_id)


def touch(session: Session, key_id: str, now: datetime) -> bool:
    """Write when the key was used, once a minute at most; True when something was written."""
    stale = sa.or_(keys.c.last_used_at.is_(None), keys.c.last_used_at <= now - TOUCH_EVERY)
    statement = sa.update(keys).where(keys.c.id == key_id, stale).values(last_used_at=now)
    return session.execute(statement.returning(keys.c.id)).first() is not None


def _read(row: sa.RowMapping) -> Key:
    known = {name: value for name, value in row.items() if name != "secret_sha256"}
    return Key.model_validate(known | {"scopes": tuple(row["scopes"].split())})
