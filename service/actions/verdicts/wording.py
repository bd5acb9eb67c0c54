"""What a record or analyses show, as far as the words of an author depend on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from sqlalchemy.orm import Session

from service.domain.decision.family import policy_of
from service.domain.plans.preregistration import Preregistration
from service.domain.rules.answers import Answer
from service.domain.wording.wording import Support
from service.stats.shared.declaring import registry
from service.store.verdicts import verdicts


def read_support(
    session: Session, record: Preregistration | None, analyses: Sequence[Mapping[str, JsonValue]]
) -> Support:
    """Return both together. A record without a verdict shows its plan, and nothing that follows from outcomes."""
    answers = [answer for answer in map(Answer, analyses) if answer.has_analysis]
    equivalent = any(answer.observe("equivalent").value is True for answer in answers)
    corrected = any(answer.test == registry.serving("family").name for answer in answers)
    one_sided = any(_is_one_sided(answer.analysis.member("alternative")) for answer in answers)
    if record is None:
        return Support(equivalent=equivalent, corrected=corrected, one_sided=one_sided)
    plan = record.plan
    verdict = None if record.judged_at is None else verdicts.find(session, record.project_id, record.id)
    judged = () if verdict is None else verdict.hypotheses
    policy = policy_of(plan)
    return Support(
        equivalent=equivalent or any(hypothesis.outcome == "equivalent" for hypothesis in judged),
        corrected=corrected or policy != "none",
        one_sided=one_sided
        or any(_is_one_sided(use.parameters.get("alternative")) for use in plan.tests or ()),
        primary=[endpoint.id for endpoint in plan.endpoints or () if endpoint.role == "primary"],
        secondary=[endpoint.id for endpoint in plan.endpoints or () if endpoint.role == "secondary"],
        outcomes={hypothesis.id: hypothesis.outcome for hypothesis in judged},
        sentences={hypothesis.id: hypothesis.sentence for hypothesis in judged},
    )


def _is_one_sided(alternative: JsonValue) -> bool:
    return alternative in ("greater", "less")
