"""Webhooks of a project. Their secrets are sealed: only the runner opens them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.outgoing import Webhook, WebhookFormat
from service.store.database import paging, scope
from service.store.database.tables import webhooks

_SHOWN = sa.select(*(webhooks.c[name] for name in Webhook.model_fields))


@dataclass(frozen=True, slots=True)
class Signing:
    """Where a message goes, in which shape, and the sealed secrets that it is signed with."""

    project_id: str
    url: str
    format: WebhookFormat
    secret: bytes = field(repr=False)
    previous: bytes | None = field(repr=False)
    """The secret before this one, which signs as well until `previous_until`."""
    previous_until: datetime | None


def insert(session: Session, project_id: str, webhook: Webhook, sealed: bytes) -> None:
    """Add a webhook to the project, with its secret sealed to the runner's key."""
    row = webhook.model_dump() | {
        "project_id": project_id,
        "events": " ".join(webhook.events),
        "secret": sealed,
    }
    session.execute(sa.insert(webhooks).values(row))


def get(session: Session, project_id: str, webhook_id: str) -> Webhook:
    """Read the project's webhook of that id; NotFound when it has none."""
    this = _SHOWN.where(webhooks.c.id == webhook_id)
    missing = f"there is no webhook {webhook_id} in this project"
    return _read(scope.get_row(session, this, webhooks, project_id, missing))


def count(session: Session, project_id: str) -> int:
    """Count the webhooks that a project has at the moment; there is a limit to them."""
    counted = sa.select(sa.func.count()).select_from(webhooks)
    return int(session.scalar(scope.select_of_project(counted, webhooks, project_id)) or 0)


def read_page(
    session: Session, project_id: str, *, cursor: str | None, limit: int
) -> tuple[list[Webhook], str | None]:
    """Read a page of the project's webhooks, newest first, and the cursor of the next."""
    statement = scope.select_of_project(_SHOWN, webhooks, project_id)
    order = (webhooks.c.created_at, webhooks.c.id)
    return paging.read_page(session, statement, order, _read, cursor=cursor, limit=limit)


def find_subscribers(session: Session, project_id: str, event: str) -> list[str]:
    """Find the ids of the project's webhooks that ask for an event, the oldest first."""
    rows = session.execute(_EVENTS, {"of_project": project_id})
    return [row.id for row in rows if event in row.events.split()]


_EVENTS = scope.select_of_project(
    sa.select(webhooks.c.id, webhooks.c.events).order_by(webhooks.c.created_at, webhooks.c.id),
    webhooks,
    sa.bindparam("of_project", type_=sa.Text),
)
"""Made once: every lock and every verdict executes it."""


def rotate(session: Session, project_id: str, webhook_id: str, sealed: bytes, *, until: datetime) -> Webhook:
    """Give a webhook another secret; the one before signs as well until a time."""
    statement = (
        sa.update(webhooks)
        .where(webhooks.c.id == webhook_id)
        .values(secret=sealed, previous=webhooks.c.secret, previous_until=until)
    )
    session.execute(scope.select_of_project(statement, webhooks, project_id))
    return get(session, project_id, webhook_id)


def delete(session: Session, project_id: str, webhook_id: str) -> None:
    """Delete a webhook; nothing happens when the project has none of that id."""
    statement = sa.delete(webhooks).where(webhooks.c.id == webhook_id)
    session.execute(scope.select_of_project(statement, webhooks, project_id))


def read_signing(session: Session, project_id: str, webhook_id: str) -> Signing | None:
    """Read where a webhook's messages go and what signs them, for the runner; None where the webhook is gone."""
    columns = ("project_id", "url", "format", "secret", "previous", "previous_until")
    statement = sa.select(*(webhooks.c[name] for name in columns)).where(webhooks.c.id == webhook_id)
    row = session.execute(scope.select_of_project(statement, webhooks, project_id)).mappings().one_or_none()
    return None if row is None else Signing(**{**row, "format": row["format"] or "standard"})


def _read(row: sa.RowMapping) -> Webhook:
    shape = row["format"] or "standard"
    return Webhook.model_validate({**row, "events": tuple(row["events"].split()), "format": shape})
