"""What leaves the service: webhooks, trackers, deliveries to both, and links of a record to places outside."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import Field

from service.domain.canonical import canonical, sha256_hex
from service.domain.ledger import Kind
from service.records import StrictRecord


@dataclass(frozen=True, slots=True)
class Announced:
    """What is declared of an event that leaves the service; the rest follows from it, by `./do pages` where it is text.

    Messages, the API's schema, the choices of `forelock webhooks create --event` and the table in docs/webhooks.md are
    made from it. None but a verdict may hold anything that follows from an outcome.
    """

    name: str
    leaf: Kind
    """The kind of its leaf in the ledger."""
    line: str
    """The code of the line that a chat shows of it, in the room `chats` of every language."""
    repeats: tuple[str, ...]
    """Members of the event's leaf that a message repeats.

    Never a reason: people wrote it, and a message goes to others.
    """
    adds: str = ""
    """What the documentation says of it beside these members."""
    concerns_runs: bool = True
    """Runs of a tracker that carry the record are brought up to date by it."""


class Event(Enum):
    """Everything that a webhook may ask for, declared once each."""

    LOCKED = Announced("preregistration.locked", "plan_locked", "chats.locked", ("version", "plan_sha256"))
    AMENDED = Announced(
        "preregistration.amended", "plan_amended", "chats.amended", ("version", "plan_sha256", "prior_sha256")
    )
    CLOSED = Announced(
        "preregistration.closed",
        "close",
        "chats.closed",
        ("plan_sha256", "deviation", "received", "expected"),
    )
    WITHDRAWN = Announced(
        "preregistration.withdrawn",
        "withdrawal",
        "chats.withdrawn",
        ("plan_sha256", "state"),
        adds="`state` is the one before",
    )
    UNBLINDED = Announced("preregistration.unblinded", "unblinding", "chats.unblinded", ())
    DEVIATION_FILED = Announced(
        "deviation.filed", "deviation", "chats.filed", ("plan_sha256", "deviation"), concerns_runs=False
    )
    JUDGED = Announced(
        "verdict.published",
        "verdict",
        "chats.judged",
        ("plan_sha256", "verdict_sha256"),
        adds="`hypotheses`, and as `outcome` the gravest of theirs: the first of `invalid`, `inconclusive`, "
        "`not_supported`, `equivalent`, `supported`",
    )


EVENTS: tuple[str, ...] = tuple(event.value.name for event in Event)
"""Their names, in the order of their declaration."""
if TYPE_CHECKING:
    EventName = str
else:
    EventName = Literal[EVENTS]
PING = "webhook.ping"
LINKED = "run.linked"

Channel = Literal["webhook", "mlflow"]
WebhookFormat = Literal["standard", "slack", "teams", "discord", "text"]
"""The shape of a webhook's messages: the whole message as JSON, or the line that a chat shows."""
WEBHOOK_FORMATS: tuple[WebhookFormat, ...] = get_args(WebhookFormat)
DeliveryState = Literal["waiting", "delivered", "failed"]
Auth = Literal["none", "basic", "bearer"]
RunName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
LinkKind = Literal["wandb", "weave", "langfuse", "braintrust", "mlflow", "other"]

SECRET_MARK = "whsec_"  # noqa: S105 - what every secret begins with
SECRET_BYTES = 32
MOST_WEBHOOKS = 20
"""Of a project."""
MOST_RUNS = 20
"""Of a record."""
MOST_LINKS = 50
"""Of a record."""
MOST_ASKED = 100
"""Pings and redeliveries of one webhook that may wait."""
OVERLAP = timedelta(hours=24)
"""How long a secret signs beside the one that took its place."""


class Webhook(StrictRecord):
    """Where events of a project are posted. Its secret is shown once, in the answer that made it."""

    id: str
    url: str
    events: tuple[EventName, ...]
    description: str | None
    format: WebhookFormat = Field("standard", description="The shape of its messages.")
    created_at: datetime
    previous_until: datetime | None = Field(
        description="Until when the secret before the last rotation signs as well; null: there is none."
    )


class Tracker(StrictRecord):
    """Where verdicts of a project are pushed. Credentials are taken and never shown."""

    kind: Literal["mlflow"]
    url: str
    auth: Auth = Field(description="How the service says who it is.")
    put_at: datetime


class TrackedRun(StrictRecord):
    """A run of the project's tracker that carries a record's lock and verdict."""

    run: str
    linked_at: datetime


class Delivery(StrictRecord):
    """One message to one place: what became of it so far."""

    id: str
    event: str
    preregistration_id: str | None
    state: DeliveryState
    attempts: int
    status: int | None = Field(description="HTTP status of the last answer; null: there was none.")
    error: str | None = Field(description="What the last attempt met, where it failed.")
    created_at: datetime
    next_at: datetime | None = Field(description="When it is tried next; null once it has ended.")
    finished_at: datetime | None


class Link(StrictRecord):
    """A place outside that belongs to a record; no part of the plan, and of no hash."""

    name: str
    kind: LinkKind
    url: str
    external_id: str | None = Field(description="What the other side calls it.")
    put_at: datetime


def links_tag(links: Sequence[Link]) -> str:
    """Return what an entity tag says of links: nothing where there are none."""
    text = canonical([link.model_dump(mode="json") for link in links])
    return f".{sha256_hex(text)[:16]}" if links else ""


def secret_text(randomness: bytes) -> str:
    """Return a webhook's secret as Standard Webhooks writes it.

    Example:
        >>> secret_text(bytes(24))
        'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    """
    return SECRET_MARK + base64.b64encode(randomness).decode()


def seal_info(purpose: Literal["webhook", "tracker"], project_id: str, owner: str) -> bytes:
    """Return the associated data of a sealed credential: it opens for this owner alone."""
    return canonical({"purpose": f"forelock/{purpose}/1", "project_id": project_id, "owner": owner})


def members_of(name: str) -> tuple[str, ...]:
    """Return the members of a leaf that a message of this event repeats."""
    return next(event.value.repeats for event in Event if event.value.name == name)


def payload(event: str, at: datetime, data: object) -> bytes:
    """Return the body of a webhook's message."""
    document = {"type": event, "timestamp": at.isoformat().replace("+00:00", "Z"), "data": data}
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
