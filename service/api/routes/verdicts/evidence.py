"""The five pieces of evidence: of a record, and of a paper without one; and a verdict in words."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response
from pydantic import AwareDatetime, Field

from service.actions.plans import families
from service.actions.verdicts import evidence as actions
from service.actions.verdicts.proven import kept_outside
from service.actions.verdicts.since_lock import since_lock_of
from service.api.examples import evidence as examples
from service.api.http.answers.answers import View, answer, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Reader, ReadSession, RecordId, Tester
from service.api.http.serving.route import audits, make_router, refuses
from service.api.routes.verdicts.verdicts import require_verdict
from service.domain.evidence.paper_checklist import PaperCard, PaperChecklist, of_paper
from service.domain.evidence.record import EvidenceCard
from service.domain.notes.notes import HypothesisSentences, marks_in_words
from service.domain.notes.said import NO_WORDS, Words, in_words
from service.domain.plans.family import FamilyPlace
from service.reports.verdict.content import Acknowledged, list_acknowledged
from service.store.plans import preregistrations

routes = make_router("evidence")


class VerdictInWords(View):
    """The outcomes of a verdict in English and Chinese."""

    preregistration_id: str
    verdict_sha256: str = Field(description="Of the stored verdict, which these words leave as it is.")
    hypotheses: list[HypothesisSentences]
    marks: list[Words] = Field([], description="What stands against the verdict, for good.")
    version: int = Field(1, description="Of the plan that was judged.")
    locked_at: AwareDatetime | None = Field(None, description="When that plan was locked.")
    arrival: Words = Field(
        NO_WORDS,
        description="How soon after the lock all results were in, and what that says of the runs; empty where unknown.",
    )
    since_lock: Words = Field(
        NO_WORDS, description="What happened to the record since its lock, in a sentence."
    )
    outside: Words = Field(
        NO_WORDS, description="What witnesses outside hold of the lock, as far as the service knows."
    )
    outside_checkpoint: str | None = Field(
        None, description="What `forelock stamps save` calls the checkpoint that one of them stamped."
    )
    warnings: list[Acknowledged] = Field([], description="Warnings on record at the lock.")
    family: FamilyPlace | None = Field(
        None, description="Which registration on these items in this project it is."
    )


@routes.get(
    "/preregistrations/{prereg_id}/evidence", response_model=EvidenceCard, responses=shows(examples.CARD)
)
@audits("evidence.read")
def get_evidence(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """Read the five pieces of evidence of a record.

    Each scores 0 to 2 by what the record proves, and never more. Before the verdict nothing in it follows from
    outcomes.
    """
    return answer(actions.card(session, preregistrations.get(session, caller.project_id, prereg_id)))


@routes.post("/evidence", response_model=PaperCard, responses=shows(examples.PAPER_CARD))
def score_paper(
    caller: Tester,  # noqa: ARG001
    body: Annotated[PaperChecklist, StrictBody(PaperChecklist, example=examples.CHECKLIST)],
) -> Response:
    """Score a paper that has no record.

    Ten questions, two for each piece of evidence. A piece is as good as the weaker of its answers. Nothing is stored.
    """
    return answer(of_paper(body))


@routes.get(
    "/preregistrations/{prereg_id}/verdict/sentences",
    response_model=VerdictInWords,
    responses=shows(examples.SENTENCES) | refuses(409),
)
@audits("verdict.read")
def get_verdict_sentences(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """Read the verdict in words.

    Every outcome as a sentence in English and in Chinese, with notes. Made when it is read: the stored verdict and its
    hash stay as they are.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    verdict = require_verdict(session, record)
    since, outside = since_lock_of(session, record, verdict.read()), kept_outside(session, record)
    return answer(
        VerdictInWords(
            preregistration_id=record.id,
            verdict_sha256=verdict.sha256,
            hypotheses=list(actions.in_words(session, record, verdict.read())),
            marks=list(marks_in_words(verdict.read())),
            version=record.version,
            locked_at=record.locked_at,
            arrival=in_words(since.arrival),
            since_lock=in_words(since.sentence),
            outside=in_words(outside.says),
            outside_checkpoint=outside.checkpoint,
            warnings=list(list_acknowledged(record.plan, record.lint or ())),
            family=families.find_place(session, record),
        )
    )
