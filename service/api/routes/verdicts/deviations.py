"""Deviations: file one, list them with what they do to the verdict, decide about one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Path, Response
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.verdicts import deviations as actions
from service.api.examples import deviations as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import (
    Cursor,
    Limit,
    Planner,
    Reader,
    ReadSession,
    RecordId,
    Shared,
    scope,
)
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import audits, make_router, refuses
from service.api.http.shared import Services
from service.api.routes.plans.preregistrations import audit_refusals
from service.domain.access import Key
from service.domain.deviations.changes import Change
from service.domain.deviations.classification import Classification, Facts, RuleApplied
from service.domain.deviations.consequences import Consequences
from service.domain.deviations.deviation import (
    Decided,
    Decision,
    Deviation,
    Filing,
    HypothesisDirection,
    standing,
)
from service.domain.deviations.direction import Direction
from service.domain.ledger import Receipt
from service.domain.plans.strings import Paragraph
from service.errors import ForelockError
from service.records import StrictRecord
from service.store.database import clock
from service.store.plans import preregistrations
from service.store.verdicts import deviations

routes = make_router("deviations")
Reviewer = Annotated[Key, Depends(scope("deviations:review"))]
DeviationNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="Number of the deviation.")]


class DirectionView(View):
    """Which way a deviation pushes: as its author says, and as the service computes."""

    stated: Direction
    agrees: bool = Field(description="The stated direction is the computed one for every hypothesis.")
    hypotheses: list[HypothesisDirection] = Field(description="Those that the change touches.")


class DeviationView(View):
    """A deviation: what its author said, what the record knew, what the rules and people made of it."""

    deviation: int = Field(description="Its number in the preregistration.")
    title: str
    original: str = Field(description="What the plan says; the plan itself is never edited.")
    actual: str
    reason: str
    impact: str
    direction: DirectionView
    change: Change
    author: str = Field(description="Name of the key that filed it.")
    author_key: str | None = Field(description="Id of that key; null where an earlier release filed it.")
    filed_at: datetime
    facts: Facts
    classification: Classification = Field(description="By the rules.")
    rule: RuleApplied
    standing: Classification = Field(description="What counts now: the latest decision, else the rules.")
    decisions: list[Decision]
    plan_sha256: str
    deviation_sha256: str = Field(description="SHA-256 of the stored text, as the ledger has it.")


class FiledDeviation(DeviationView):
    """A deviation with the receipt of what was just done."""

    receipt: Receipt


class DeviationPage(Page[DeviationView]):
    """Deviations, and what all of them do to the verdict."""

    consequences: Consequences | None = Field(
        description="Null before the verdict, and on later pages. The verdict itself stays as it is."
    )


class DecisionRequest(StrictRecord):
    """What a person decides about a deviation."""

    classification: Decided
    note: Paragraph | None = Field(None, description="Why; required where it is gentler than what stands.")


@routes.post(
    "/preregistrations/{prereg_id}/deviations",
    status_code=201,
    response_model=FiledDeviation,
    responses=shows(examples.FILED, 201) | refuses(409),
)
def file_deviation(
    caller: Planner,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[Filing, StrictBody(Filing, example=examples.FILING)],
) -> Response:
    """File a deviation from a locked plan.

    Reason, impact and direction are required, and the plan stays as it is. An ordered list of rules classifies it
    by what the record knows of this moment; the direction is computed for every hypothesis. It cannot be taken back.
    """
    prepared = _prepare(shared, caller, prereg_id, body)

    def work(session: Session) -> Response:
        if isinstance(prepared, ForelockError):
            raise prepared
        filed = actions.file(session, caller, prepared, clock.read_moment(session))
        return answer(FiledDeviation(**_make_fields(filed.deviation, ()), receipt=filed.receipt), 201)

    with audit_refusals(shared, caller, prereg_id, "deviation.file"):
        return once.run(work)


def _prepare(shared: Services, caller: Key, prereg_id: str, body: Filing) -> actions.Prepared | ForelockError:
    """Check the filing before the write begins.

    A refusal is returned, not raised: a stored answer to a retry comes before it.
    """
    try:
        with shared.database.read() as session:
            return actions.prepare(session, caller, prereg_id, body)
    except ForelockError as refused:
        return refused


@routes.get(
    "/preregistrations/{prereg_id}/deviations",
    response_model=DeviationPage,
    responses=shows(examples.DEVIATIONS),
)
@audits("deviations.read")
def list_deviations(
    caller: Reader, session: ReadSession, prereg_id: RecordId, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """List deviations, newest first.

    After the verdict the first page also says what they do to it: the verdict as run, all together and one by one,
    the tipping points of missing, left-out and disputed items, and declared threshold sweeps. Before it nothing here
    follows from outcomes.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    filed, following = deviations.read_page(session, record.id, cursor=cursor, limit=limit)
    decided = deviations.read_decisions(session, record.id, [deviation.number for deviation in filed])
    return answer(
        DeviationPage(
            items=[
                DeviationView(**_make_fields(deviation, decided[deviation.number])) for deviation in filed
            ],
            next_cursor=following,
            consequences=actions.effects_on_verdict(session, record) if cursor is None else None,
        )
    )


@routes.post(
    "/preregistrations/{prereg_id}/deviations/{deviation}/decision",
    status_code=201,
    response_model=FiledDeviation,
    responses=shows(examples.DECIDED, 201) | refuses(409),
)
def decide_deviation(
    caller: Reviewer,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    deviation: DeviationNumber,
    body: Annotated[DecisionRequest, StrictBody(DecisionRequest, example=examples.DECISION)],
) -> Response:
    """Decide about a deviation.

    Anybody who may review can be as strict as what stands, or stricter. To be gentler takes a note, and a person
    other than the deviation's author: another name, and a key that neither made the author's nor was made by it. Every
    decision stays on record; the latest counts.
    """

    def work(session: Session) -> Response:
        filed, decisions, receipt = actions.decide(
            session, caller, prereg_id, deviation, body.classification, body.note, clock.read_moment(session)
        )
        return answer(FiledDeviation(**_make_fields(filed, decisions), receipt=receipt), 201)

    with audit_refusals(shared, caller, prereg_id, "deviation.decide"):
        return once.run(work)


def _make_fields(deviation: Deviation, decisions: tuple[Decision, ...]) -> dict[str, Any]:
    """Make the fields that every view of a deviation has, with its decisions and where they leave it."""
    filing = deviation.filing
    return {
        "deviation": deviation.number,
        "title": filing.title,
        "original": filing.original,
        "actual": filing.actual,
        "reason": filing.reason,
        "impact": filing.impact,
        "direction": DirectionView(
            stated=filing.direction, agrees=deviation.stated_agrees, hypotheses=list(deviation.directions)
        ),
        "change": filing.change,
        "author": deviation.author,
        "author_key": deviation.author_key,
        "filed_at": deviation.filed_at,
        "facts": deviation.facts,
        "classification": deviation.classification,
        "rule": deviation.rule,
        "standing": standing(deviation, decisions),
        "decisions": list(decisions),
        "plan_sha256": deviation.plan_sha256,
        "deviation_sha256": deviation.sha256(),
    }
