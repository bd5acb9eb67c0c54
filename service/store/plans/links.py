"""Links of a record to places outside."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.outgoing import Link
from service.store.database.tables import links

_SHOWN = sa.select(*(links.c[name] for name in Link.model_fields))


def read_all(session: Session, preregistration_id: str) -> list[Link]:
    """Return the record's links, by name. Reach them through a record that was read in its project."""
    statement = _SHOWN.where(links.c.preregistration_id == preregistration_id).order_by(links.c.name)
    return [Link.model_validate(dict(row)) for row in session.execute(statement).mappings()]


def put(session: Session, preregistration_id: str, link: Link) -> None:
    """Set the link of that name. Hold the record."""
    delete(session, preregistration_id, link.name)
    session.execute(sa.insert(links).values(link.model_dump() | {"preregistration_id": preregistration_id}))


def delete(session: Session, preregistration_id: str, name: str) -> bool:
    """Remove it; False when there was none."""
    statement = sa.delete(links).where(links.c.preregistration_id == preregistration_id, links.c.name == name)
    return session.execute(statement.returning(links.c.name)).first() is not None
