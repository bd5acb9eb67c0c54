"""What a delivery says, made from the record when it is sent: nothing that follows from outcomes before the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy.orm import Session

from service.actions.ledger import proofs
from service.domain.ledger import Receipt
from service.domain.notes.said import in_words
from service.domain.outgoing import PING, WebhookFormat, members_of, payload
from service.domain.plans.preregistration import Preregistration
from service.domain.rules.grammar import parse
from service.domain.rules.rule import clauses
from service.domain.rules.settings import resolve
from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import HypothesisVerdict, Verdict
from service.domain.verdicts.words.headline import headline
from service.publish import chats
from service.publish.mlflow import Metric, Push
from service.store.delivery.deliveries import Due
from service.store.ledger import checkpoints, ledger
from service.store.plans import preregistrations
from service.store.verdicts import verdicts

MOST_NOTE = 3000
"""Characters of a run's description: well below the 5,000 that every MLflow takes as the value of a tag."""


def is_signed(session: Session, due: Due) -> bool:
    """Tell whether a signed checkpoint holds the leaf that the delivery tells of; True where it tells of none."""
    return due.sequence is None or checkpoints.find_covering(session, due.sequence) is not None


def format_webhook(session: Session, due: Due, public_url: str | None, shape: WebhookFormat) -> bytes:
    """Format the message of a webhook as bytes, in the shape that the webhook was created with."""
    event, data = _compose_message(session, due, public_url)
    return (
        payload(event, due.created_at, data)
        if shape == "standard"
        else chats.shape_message(shape, event, data)
    )


def _compose_message(session: Session, due: Due, public_url: str | None) -> tuple[str, dict[str, Any]]:
    """Compose the event's name and what the message tells of it, from the record as it is now."""
    if due.preregistration_id is None or due.event == PING:
        return PING, {}
    record = preregistrations.get(session, due.project_id, due.preregistration_id)
    entry = next(
        entry for entry in ledger.read_entries(session, record.id) if entry.receipt.sequence == due.sequence
    )
    (receipt,) = proofs.prove(session, [entry.receipt])
    kind = entry.receipt.kind
    data: dict[str, Any] = {
        "preregistration_id": record.id,
        "title": record.plan.title,
        **({} if public_url is None else {"url": format_page_url(record, public_url)}),
        **{name: entry.body[name] for name in members_of(due.event) if name in entry.body},
        "receipt": {name: getattr(receipt, name) for name in ("sequence", "leaf_sha256", "checkpoint")},
    }
    verdict = _read_verdict(session, record) if kind == "verdict" else None
    if verdict is not None:
        plan = resolve(record.plan)
        data["outcome"] = verdict.worst_outcome
        data["hypotheses"] = [
            {
                "id": hypothesis.id,
                "outcome": hypothesis.outcome,
                "delta": hypothesis.delta,
                "n": hypothesis.n,
                "headline": in_words(headline(plan.require(hypothesis.id), hypothesis).line).model_dump(),
                "sentence": hypothesis.sentence,
            }
            for hypothesis in verdict.hypotheses
        ]
    return due.event, data


def compose_push(session: Session, due: Due, public_url: str | None) -> Push:
    """Compose what an MLflow run is to carry of its record as it is now.

    Tags at any time; metrics, a description and files once there is a verdict.
    """
    record = preregistrations.get(session, due.project_id, due.preregistration_id or "")
    verdict = _read_verdict(session, record)
    entries = ledger.read_entries(session, record.id, "plan_locked", "plan_amended", "verdict")
    # The last lock or amendment has the plan that counts; those before it are in the ledger alone.
    plan = [entry.receipt for entry in entries if entry.receipt.kind != "verdict"][-1:]
    judged = [entry.receipt for entry in entries if entry.receipt.kind == "verdict"]
    receipts = proofs.prove(session, [*plan, *judged])
    tags = {
        "forelock.preregistration": record.id,
        "forelock.plan_sha256": record.plan_sha256 or "",
        "forelock.state": _format_state(record),
    }
    if receipts[-1].checkpoint is not None:
        tags["forelock.checkpoint"] = receipts[-1].checkpoint
    if public_url is not None:
        tags["forelock.url"] = format_page_url(record, public_url)
    if verdict is None:
        return Push(record.id, tags)
    tags["forelock.verdict"] = verdict.worst_outcome
    tags |= {f"forelock.verdict.{hypothesis.id}": hypothesis.outcome for hypothesis in verdict.hypotheses}
    at = int(verdict.judged_at.timestamp() * 1000)
    stored = verdicts.find_stored(session, record.project_id, record.id)
    return Push(
        record.id,
        tags,
        [Metric(f"forelock.{key}", value, at) for key, value in _list_metrics(verdict)],
        _format_note(record, verdict, public_url),
        {
            f"forelock/{record.id}/verdict.json": b"" if stored is None else stored.text.encode(),
            f"forelock/{record.id}/receipt.json": _format_receipts(receipts).encode(),
        },
        _format_receipts(receipts[-1:]),
    )


def format_page_url(record: Preregistration, public_url: str) -> str:
    """Format the address of the page that shows the record to people."""
    return f"{public_url.rstrip('/')}/preregistrations/{record.id}"


def _read_verdict(session: Session, record: Preregistration) -> Verdict | None:
    """Read the record's verdict; a withdrawal after it does not hide it."""
    return None if record.judged_at is None else verdicts.find(session, record.project_id, record.id)


def _format_state(record: Preregistration) -> str:
    """Format the record's state in one of three words.

    `collecting` and `complete` read as `locked`: whether results came in is nobody's business who sees the run.
    """
    return record.state if record.state in ("judged", "withdrawn") else "locked"


def _list_metrics(verdict: Verdict) -> Iterator[tuple[str, float]]:
    """List name and value of what the clauses of every rule saw, and of every difference.

    Undefined values are left out.
    """
    for hypothesis in verdict.hypotheses:
        metrics: dict[str, float | None] = {
            "delta": hypothesis.delta,
            "n": hypothesis.n,
            "n_planned": hypothesis.n_planned,
        }
        for name, observed in _list_observations(hypothesis):
            if isinstance(observed, Span):
                metrics |= {f"{name}.low": observed.low, f"{name}.high": observed.high}
            elif observed is not None:
                metrics.setdefault(name, float(observed))
        for name, value in metrics.items():
            # MLflow takes keys of up to 250 characters; the prefix `forelock.` comes before.
            if value is not None and len(key := f"{hypothesis.id}.{name}") <= 240:
                yield key, float(value)


def _list_observations(judged: HypothesisVerdict) -> Iterator[tuple[str, float | Span | bool | None]]:
    """List every field that the hypothesis' rule names, with the value that the verdict observed for it."""
    planned = {str(clause): str(clause.field) for clause in clauses(parse(judged.rule))}
    for clause in judged.clauses:
        if clause.text in planned:
            yield planned[clause.text], clause.observed


def _format_note(record: Preregistration, verdict: Verdict, public_url: str | None) -> str:
    """Format a verdict as a note of a run in MLflow, with sentences as far as there is room."""
    where = record.id if public_url is None else f"[{record.id}]({format_page_url(record, public_url)})"
    head = f"**Preregistered (Forelock {where}): {verdict.worst_outcome.replace('_', ' ')}**"
    plan = resolve(record.plan)
    first = [
        f"- {hypothesis.id}: {headline(plan.require(hypothesis.id), hypothesis).line.text('en')}."
        for hypothesis in verdict.hypotheses
    ]
    lines = [f"{line} {judged.sentence}" for line, judged in zip(first, verdict.hypotheses, strict=True)]
    whole = "\n".join([head, "", *lines])
    if len(whole) <= MOST_NOTE:
        return whole
    short = "\n".join([head, "", *first])
    return short if len(short) <= MOST_NOTE else head


def _format_receipts(receipts: list[Receipt]) -> str:
    """Format receipts as JSON, a single one as an object: with the ledger's verifier key they are checked offline."""
    bodies = [receipt.model_dump(mode="json") for receipt in receipts]
    return json.dumps(bodies[0] if len(bodies) == 1 else bodies, ensure_ascii=False)
