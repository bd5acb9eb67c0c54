"""Announcing: what happens to a record goes into the outbox, in the transaction in which it happens."""

from __future__ import annotations

import hashlib
from datetime import datetime

from sqlalchemy.orm import Session

from service.domain.outgoing import LINKED, Channel, Event
from service.domain.plans.preregistration import Preregistration
from service.store.delivery import deliveries, trackers, webhooks


def announce(
    session: Session, record: Preregistration, event: Event, sequence: int, *, now: datetime
) -> None:
    """Have it sent to whoever wants it; of a project that nobody listens to nothing is written.

    It comes after the append to the ledger, whose leaf it names: it adds rows, and waits for nobody's.
    """
    name = event.value.name
    for webhook_id in webhooks.find_subscribers(session, record.project_id, name):
        _queue(session, record, "webhook", webhook_id, name, sequence, now)
    if event.value.concerns_runs:
        for run in trackers.read_run_ids(session, record.id):
            _queue(session, record, "mlflow", run, name, sequence, now)


def announce_run(
    session: Session, record: Preregistration, run: str, *, sequence: int, now: datetime
) -> None:
    """Have a run that was just linked say what there is to say of its record."""
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
    """What a message is called: the same for one event and target, and for nothing else."""
    return "msg_" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
