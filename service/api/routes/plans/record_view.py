"""A record as its project sees it, with the tag of what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, TypeVar

from fastapi import Response
from pydantic import Field, JsonValue
from sqlalchemy.orm import Session

from service.actions.ledger import proofs
from service.actions.plans import families, namings
from service.actions.projects import embargoes
from service.actions.results import unblinding
from service.api.examples import common as examples
from service.api.http.answers.answers import View, answer, answer_embedding
from service.domain.ledger import Kind, Receipt
from service.domain.outgoing import Link, links_tag
from service.domain.plans.family import FamilyPlace
from service.domain.plans.findings import Finding
from service.domain.plans.naming import Evidence, open_arms
from service.domain.plans.preregistration import Preregistration, State
from service.domain.plans.sections.arms import Described
from service.domain.results.unblinding import Erasure, Unblinding
from service.store.database import clock
from service.store.ledger import ledger
from service.store.plans import links, preregistrations


class Closing(View):
    """An early close: the verdict carries it as a mark."""

    at: datetime
    reason: str
    deviation: int = Field(description="The deviation about the sample size.")
    received: int = Field(description="Results that were in.")
    expected: int = Field(description="Results that were planned.")
    receipt: Receipt


class Publication(View):
    """The end of an embargo: the record became public by itself."""

    at: datetime
    embargo_until: date
    receipt: Receipt


class Withdrawal(View):
    """A withdrawal: what was locked stays on record."""

    at: datetime
    state: State = Field(description="Before it.")
    reason: str
    receipt: Receipt


class NamedArmView(View):
    """What the criterion of an arm chose, as it was named before the arm's results."""

    arm: str
    criterion: str = Field(description="As it is locked.")
    card: Described = Field(description="What was chosen.")
    evidence: Evidence = Field(description="What shows that the criterion chose it.")
    at: datetime
    receipt: Receipt


class PreregistrationView(View):
    """A preregistration as its project sees it. Nothing in it is derived from outcomes."""

    id: str
    state: State
    version: int = Field(description="Of the plan.")
    plan: dict[str, JsonValue] = Field(
        description="The plan. Once locked, the SHA-256 of its RFC 8785 text is `plan_sha256`.",
        examples=[examples.PLAN],
    )
    plan_sha256: str | None = Field(description="Null in a draft.")
    lint: list[Finding] | None = Field(description="What lint said at the lock; null in a draft.")
    acknowledged: list[str] = Field(description="Codes of the lint warnings that the lock acknowledged.")
    created_at: datetime
    locked_at: datetime | None
    complete_at: datetime | None
    judged_at: datetime | None
    results_due: date | None
    overdue: bool = Field(
        description="True when `results_due` has passed and the plan is not complete; changes no state."
    )
    embargo_until: date | None = Field(
        None,
        description="Before it nobody outside the project reads the record, and on it the record becomes public.",
    )
    published: Publication | None = Field(
        None, description="How its embargo ended; null: it had none, or it lasts."
    )
    closed: Closing | None = Field(description="How the collection was closed early; null: it was not.")
    withdrawn: Withdrawal | None = Field(description="How it was withdrawn; null: it was not.")
    family: FamilyPlace | None = Field(
        description="Which registration on these items in this project it is; null in a draft."
    )
    receipt: Receipt | None = Field(
        description="Of the lock, or of the last amendment, in the ledger; null in a draft."
    )
    unblindings: list[Unblinding] = Field(
        [], description="Results were opened before the verdict: when, by whom and why."
    )
    erasure: Erasure | None = Field(None, description="The rows were destroyed: when, by whom and why.")
    named_arms: list[NamedArmView] = Field(
        [], description="Arms that were locked by a criterion and have been named, in that order."
    )
    links: list[Link] = Field([], description="Places outside that belong to it; no part of the plan.")


def make_view(
    session: Session, record: Preregistration, just_locked: Receipt | None = None
) -> PreregistrationView:
    """Make the view of a record as its project sees it."""
    return PreregistrationView(**make_view_fields(session, record, just_locked))


def make_view_fields(
    session: Session, record: Preregistration, just_locked: Receipt | None = None
) -> dict[str, Any]:
    """Make the fields of a record's view, for a view that has more.

    Args:
        just_locked: the receipt of a lock in this very transaction. Nothing else has happened to the record, nothing
            is linked to it, and no checkpoint holds the leaf: none of that is asked for.
    """
    draft = record.state == "draft"
    new = draft or just_locked is not None
    entries = [] if new else ledger.read_entries(session, record.id, *_SHOWN_KINDS)
    happened = {entry.receipt.kind: entry for entry in entries}
    lock = happened.get("plan_amended") or happened.get("plan_locked")
    seals = unblinding.seals_of(entries)
    return {
        "id": record.id,
        "state": record.state,
        "version": record.version,
        "plan": record.plan.as_dict(),
        "plan_sha256": record.plan_sha256,
        "lint": None if record.lint is None else list(record.lint),
        "acknowledged": list(record.acknowledged),
        "created_at": record.created_at,
        "locked_at": record.locked_at,
        "complete_at": record.complete_at,
        "judged_at": record.judged_at,
        "results_due": record.plan.results_due,
        "overdue": not draft and record.overdue(clock.read_now(session).date()),
        "embargo_until": record.plan.embargo_until,
        "published": _view_entry(Publication, happened.get("published")),
        "closed": _view_entry(Closing, happened.get("close")),
        "withdrawn": _view_entry(Withdrawal, happened.get("withdrawal")),
        "family": families.find_place(session, record),
        "receipt": just_locked if lock is None else proofs.prove(session, [lock.receipt])[0],
        "unblindings": list(seals.unblindings),
        "erasure": seals.erasure,
        "named_arms": list(_view_named_arms(record, entries)),
        "links": [] if new else links.read_all(session, record.id),
    }


_SHOWN_KINDS: tuple[Kind, ...] = (
    "plan_locked", "plan_amended", "arm_named", "close", "withdrawal", "published", *unblinding.SEALS
)  # fmt: skip
V = TypeVar("V", Closing, Withdrawal, Publication)


def _view_entry(view: type[V], entry: ledger.Entry | None) -> V | None:
    """Make a view of what an entry of the ledger says of a record; None without an entry."""
    if entry is None:
        return None
    fields = {name: entry.body[name] for name in view.model_fields if name in entry.body}
    return view(at=entry.created_at, receipt=entry.receipt, **fields)


def _view_named_arms(record: Preregistration, entries: Sequence[ledger.Entry]) -> Iterator[NamedArmView]:
    """Yield the arms that were named after the lock, with each one's criterion and the receipt of its naming."""
    receipts = {entry.sequence: entry.receipt for entry in entries}
    criteria = open_arms(record.plan)
    for arm, naming in namings.collect_named_arms(entries).items():
        yield NamedArmView(
            arm=arm,
            criterion=criteria[arm].criterion or "",
            card=naming.card,
            evidence=naming.evidence,
            at=naming.at,
            receipt=receipts[naming.sequence],
        )


def respond(session: Session, record: Preregistration, just_locked: Receipt | None = None) -> Response:
    """Answer with the record's view and its ETag; a locked plan is shown byte for byte as it was locked."""
    record_shown = make_view(session, record, just_locked)
    seals = unblinding.Seals(tuple(record_shown.unblindings), record_shown.erasure)
    acts = len(record_shown.named_arms), record_shown.published is not None
    tagged = {"ETag": _format_etag(record, seals, record_shown.links, *acts)}
    if record.state == "draft":
        return answer(record_shown, headers=tagged)
    return answer_embedding(
        record_shown, "plan", preregistrations.read_locked_text(session, record), headers=tagged
    )


def make_etag(session: Session, record: Preregistration) -> str:
    """Make the ETag of a record as it is shown, for a conditional request."""
    n_named = len(namings.read_named_arms(session, record))
    published = embargoes.has_ended(session, record)
    return _format_etag(
        record, unblinding.seals(session, record), links.read_all(session, record.id), n_named, published
    )


def _format_etag(
    record: Preregistration, seals: unblinding.Seals, links_shown: Sequence[Link], named: int, published: bool
) -> str:
    """Format the ETag of a record as it is shown.

    Seals, named arms, the end of an embargo and links change what is shown and not the record's revision.
    """
    changes = f".{seals.changes}" if seals.changes else ""
    changes += f".a{named}" if named else ""
    changes += ".p" if published else ""
    return f'{record.etag[:-1]}{changes}{links_tag(links_shown)}"'
