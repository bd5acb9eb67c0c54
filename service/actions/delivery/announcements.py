"""Announcing: what happens to a record goes into the ledger and the outbox, in the transaction in which it happens."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from service.domain.ledger import Receipt
from service.domain.moment import Moment
from service.domain.outgoing import LINKED, Channel, Event
from service.domain.plans.preregistration import Preregistration
from service.store.delivery import deliveries, trackers, webhooks
from service.store.ledger import ledger


def announce(
    session: Session, record: Preregistration, event: Event, body: Mapping[str, Any], moment: Moment
) -> Receipt:
    """Append the event's leaf to the ledger, and queue it for every webhook and run that asks for such events.

    It takes the ledger's lock, so it is a transaction's last act. Where nobody listens nothing is queued.
    """
    receipt = ledger.append(session, record, event.value.leaf, body, moment)
    # After the append, whose leaf the messages name: they only add rows, and wait for no lock under the ledger's.
    name, sequence, now = event.value.name, receipt.sequence, moment.now
    for webhook_id in webhooks.find_subscribers(session, record.project_id, name):
        _queue(session, record, "webhook", webhook_id, name, sequence, now)
    if event.value.concerns_runs:
        for run in trackers.read_run_ids(session, record.id):
            _queue(session, record, "mlflow", run, name, sequence, now)
    return receipt


def announce_run(
    session: Session, record: Preregistration, run: str, *, sequence: int, now: datetime
) -> None:
    """Queue what is known of a record for a run that was just linked to it."""
    _queue(session, record, "mlflow", run, LINKED, sequence, now)


def _queue(
    session: Session,
    record: Preregistration,
    channel: Channel,
    target: str,
    event: str,
    sequence: int,
    now: datetime,
) -> None:
    """Queue one delivery under an id that names it, so that it is queued once."""
    deliveries.insert(
        session,
        delivery_id=make_delivery_id(
            record.project_id, record.id, target, event, str(sequence), now.isoformat()
        ),
        project_id=record.project_id,
        preregistration_id=record.id,
        channel=channel,
        target=target,
        event=event,
        sequence=sequence,
        now=now,
    )


def make_delivery_id(*parts: str) -> str:
    """Derive the id of a message from what it is about: one event and target give one id, so a repeat is recognised."""
    return "msg_" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
