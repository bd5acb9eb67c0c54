"""Who may read a record without a key: its visibility, and view-only links. Of a token only its hash is kept."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, cast

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.access import ViewLink, Visibility
from service.errors import NotFound
from service.store.database import paging
from service.store.database.tables import preregistrations, view_links, visibilities

_SHOWN = tuple(view_links.c[name] for name in ViewLink.model_fields)
_SEEN = sa.func.coalesce(visibilities.c.visibility, "private").label("visibility")
_OPENED = (
    sa.select(*_SHOWN, preregistrations.c.project_id, _SEEN)
    .join(preregistrations, preregistrations.c.id == view_links.c.preregistration_id)
    .outerjoin(visibilities, visibilities.c.preregistration_id == view_links.c.preregistration_id)
)


class Sharing(NamedTuple):
    """Who may read a record besides the keys of its project."""

    visibility: Visibility
    changed_at: datetime | None
    """When the visibility was set; None where it never was."""
    opens_at: datetime | None
    """When an embargo ends and the record becomes public by itself; None: it has no embargo, or its day is over."""


class OpenLink(NamedTuple):
    """A view-only link with the project and the visibility of its record."""

    link: ViewLink
    project_id: str
    visibility: Visibility


def read_sharing(session: Session, preregistration_id: str) -> Sharing:
    """Read who may read a record that was read in its project: private where nobody set it."""
    wanted = visibilities.c.preregistration_id == preregistration_id
    row = session.execute(
        sa.select(visibilities.c.visibility, visibilities.c.changed_at, visibilities.c.opens_at).where(wanted)
    ).first()
    return Sharing("private", None, None) if row is None else Sharing(*row)


def share(
    session: Session,
    preregistration_id: str,
    visibility: Visibility,
    now: datetime,
    opens_at: datetime | None = None,
) -> Sharing:
    """Set the visibility of a record, and when it becomes public by itself. The caller holds a lock on the record."""
    changes = {"visibility": visibility, "changed_at": now, "opens_at": opens_at}
    # Update, else insert: whoever calls holds the record, so nobody else inserts between the two.
    known = visibilities.c.preregistration_id == preregistration_id
    updated = sa.update(visibilities).where(known).values(changes).returning(visibilities.c.visibility)
    if session.execute(updated).first() is None:
        session.execute(sa.insert(visibilities).values(changes | {"preregistration_id": preregistration_id}))
    return Sharing(visibility, now, opens_at)


def find_due(session: Session, now: datetime, limit: int) -> list[tuple[str, str]]:
    """Find project and id of at most `limit` records to be made public, those whose embargo ended first."""
    statement = (
        sa.select(preregistrations.c.project_id, preregistrations.c.id)
        .join(visibilities, visibilities.c.preregistration_id == preregistrations.c.id)
        .where(visibilities.c.opens_at <= now)
        .order_by(visibilities.c.opens_at, preregistrations.c.id)
        .limit(limit)
    )
    return [(str(project_id), str(record_id)) for project_id, record_id in session.execute(statement)]


def find_public_project(session: Session, preregistration_id: str) -> str | None:
    """Find the project of a record that everybody may read; None for any other, whether it is there or not."""
    project_id = session.scalar(
        sa.select(preregistrations.c.project_id)
        .join(visibilities, visibilities.c.preregistration_id == preregistrations.c.id)
        .where(preregistrations.c.id == preregistration_id, visibilities.c.visibility == "public")
    )
    return None if project_id is None else str(project_id)


def insert(session: Session, link: ViewLink, token_sha256: str, key_id: str) -> ViewLink:
    """Add a view-only link, of whose token the hash alone is kept; returns it unchanged."""
    row = link.model_dump() | {
        "anonymous": int(link.anonymous),
        "token_sha256": token_sha256,
        "key_id": key_id,
    }
    session.execute(sa.insert(view_links).values(row))
    return link


def get(session: Session, preregistration_id: str, link_id: str) -> ViewLink:
    """Read a link of a record that was read in its project; NotFound when it has none of that id."""
    of_record = view_links.c.preregistration_id == preregistration_id
    row = session.execute(sa.select(*_SHOWN).where(view_links.c.id == link_id, of_record)).mappings().first()
    if row is None:
        raise NotFound(f"there is no view-only link {link_id} to this record")
    return _read(row)


def read_page(
    session: Session, preregistration_id: str, *, cursor: str | None, limit: int
) -> tuple[list[ViewLink], str | None]:
    """Read a page of the links of a record that was read in its project, newest first, revoked ones included."""
    statement = sa.select(*_SHOWN).where(view_links.c.preregistration_id == preregistration_id)
    order = (view_links.c.created_at, view_links.c.id)
    return paging.read_page(session, statement, order, _read, cursor=cursor, limit=limit)


def count(session: Session, preregistration_id: str, now: datetime) -> int:
    """Count the links to a record that are neither revoked nor expired."""
    statement = sa.select(sa.func.count()).where(
        view_links.c.preregistration_id == preregistration_id,
        view_links.c.revoked_at.is_(None),
        view_links.c.expires_at > now,
    )
    return session.scalar(statement) or 0


def revoke(session: Session, preregistration_id: str, link_id: str, now: datetime) -> ViewLink:
    """Revoke a link. To revoke it again changes nothing."""
    of_record = view_links.c.preregistration_id == preregistration_id
    statement = sa.update(view_links).where(
        view_links.c.id == link_id, of_record, view_links.c.revoked_at.is_(None)
    )
    session.execute(statement.values(revoked_at=now))
    return get(session, preregistration_id, link_id)


def find_by_token(session: Session, token_sha256: str) -> OpenLink | None:
    """Find the link whose token has that hash, expired and revoked ones included."""
    row = session.execute(_OPENED.where(view_links.c.token_sha256 == token_sha256)).mappings().one_or_none()
    if row is None:
        return None
    return OpenLink(_read(row), row["project_id"], cast(Visibility, row["visibility"]))


def _read(row: sa.RowMapping) -> ViewLink:
    known = {name: row[name] for name in ViewLink.model_fields}
    return ViewLink.model_validate(known | {"anonymous": bool(row["anonymous"])})
