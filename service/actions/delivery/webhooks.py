"""Webhooks: make one, give it another secret, try it, send something again. Secrets are sealed to the runner's key."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from service.domain.access import Key
from service.domain.outgoing import (
    MOST_ASKED,
    MOST_WEBHOOKS,
    OVERLAP,
    PING,
    Delivery,
    EventName,
    Webhook,
    WebhookFormat,
    seal_info,
)
from service.domain.results import sealing
from service.errors import InvalidData, TooMany
from service.publish.addresses import Allowed
from service.publish.targets import UnusableAddress, require_target
from service.store.delivery import deliveries, webhooks
from service.store.projects import audit


def create(
    session: Session,
    caller: Key,
    *,
    url: str,
    events: Sequence[EventName],
    description: str | None,
    shape: WebhookFormat,
    allowed: Sequence[Allowed],
    webhook_id: str,
    secret: str,
    seal_public: bytes,
    now: datetime,
) -> Webhook:
    """Create a webhook of the caller's project.

    Raises:
        InvalidData: the address is none that may be called.
        TooMany: the project has as many as it may.
    """
    require_address("url", url, allowed)
    if webhooks.count(session, caller.project_id) >= MOST_WEBHOOKS:
        raise TooMany(f"this project has {MOST_WEBHOOKS} webhooks, as many as it may; delete one")
    webhook = Webhook(
        id=webhook_id,
        url=url,
        events=tuple(dict.fromkeys(events)),
        description=description,
        format=shape,
        created_at=now,
        previous_until=None,
    )
    webhooks.insert(session, caller.project_id, webhook, _seal(caller, webhook_id, secret, seal_public))
    audit.record_act(session, caller, "webhook.create", webhook_id, {"events": list(webhook.events)}, now=now)
    return webhook


def require_address(path: str, url: str, allowed: Sequence[Allowed]) -> None:
    """Refuse an address that may not be called: a private one that the operator has not allowed, or one without TLS.

    Raises:
        InvalidData: with `path`, the name of the field that holds the address.
    """
    try:
        require_target(url, allowed)
    except UnusableAddress as fault:
        raise InvalidData.field(path, fault.message, fault.fix) from None


def rotate(
    session: Session, caller: Key, webhook_id: str, *, secret: str, seal_public: bytes, now: datetime
) -> Webhook:
    """Give a webhook another secret. The one before signs as well for a day, so that nothing is refused meanwhile."""
    webhooks.get(session, caller.project_id, webhook_id)
    sealed = _seal(caller, webhook_id, secret, seal_public)
    webhook = webhooks.rotate(session, caller.project_id, webhook_id, sealed, until=now + OVERLAP)
    audit.record_act(session, caller, "webhook.rotate", webhook_id, {}, now=now)
    return webhook


def delete(session: Session, caller: Key, webhook_id: str, *, now: datetime) -> None:
    """Remove a webhook, and the messages that wait for it."""
    webhooks.get(session, caller.project_id, webhook_id)
    deliveries.forget_target(session, caller.project_id, webhook_id)
    webhooks.delete(session, caller.project_id, webhook_id)
    audit.record_act(session, caller, "webhook.delete", webhook_id, {}, now=now)


def ping(session: Session, caller: Key, webhook_id: str, *, delivery_id: str, now: datetime) -> Delivery:
    """Queue a message that tells of nothing, to see whether it arrives.

    Raises:
        TooMany: too many messages wait for this webhook already.
    """
    webhooks.get(session, caller.project_id, webhook_id)
    _require_room(session, caller, webhook_id)
    deliveries.insert(
        session,
        delivery_id=delivery_id,
        project_id=caller.project_id,
        preregistration_id=None,
        channel="webhook",
        target=webhook_id,
        event=PING,
        sequence=None,
        now=now,
    )
    return deliveries.get(session, caller.project_id, webhook_id, delivery_id)


def redeliver(session: Session, caller: Key, webhook_id: str, delivery_id: str, *, now: datetime) -> Delivery:
    """Queue a message that has ended again, under its id. One that still waits is left to its turn.

    Raises:
        TooMany: too many messages wait for this webhook already.
    """
    webhooks.get(session, caller.project_id, webhook_id)
    if deliveries.get(session, caller.project_id, webhook_id, delivery_id).state != "waiting":
        _require_room(session, caller, webhook_id)
        deliveries.ask_again(session, caller.project_id, delivery_id, now)
        audit.record_act(session, caller, "webhook.redeliver", webhook_id, {"delivery": delivery_id}, now=now)
    return deliveries.get(session, caller.project_id, webhook_id, delivery_id)


def _require_room(session: Session, caller: Key, webhook_id: str) -> None:
    if deliveries.count_waiting(session, caller.project_id, webhook_id) >= MOST_ASKED:
        raise TooMany(f"{MOST_ASKED} messages wait for this webhook already; let it answer first")


def _seal(caller: Key, webhook_id: str, secret: str, seal_public: bytes) -> bytes:
    """Seal a secret to the runner's key, bound to its webhook: it cannot be moved to the row of another."""
    info = seal_info("webhook", caller.project_id, webhook_id)
    return sealing.seal(secret.encode(), seal_public, info)
