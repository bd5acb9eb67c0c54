"""Example answers about evidence for OpenAPI: made by the code they are examples of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from service.api import examples
from service.domain.evidence_paper import PaperChecklist, of_paper
from service.domain.evidence_record import EvidenceCard, Known, of_record
from service.domain.plan import Plan
from service.domain.preregistration import Preregistration

_AT = datetime(2027, 1, 4, 9, tzinfo=UTC)
CHECKLIST: dict[str, Any] = {
    "title": "Memory with caches",
    "plan_timestamped": "stated",
    "primary_endpoint_named": "checkable",
    "paired_test": "checkable",
    "p_and_counts_reported": "checkable",
    "equivalence_tested": "absent",
    "clusters_named": "stated",
    "interval_respects_clusters": "absent",
    "run_to_planned_n": "stated",
    "deviations_listed": "checkable",
}
PAPER_CARD = of_paper(PaperChecklist.model_validate(CHECKLIST)).model_dump(mode="json")
LOCKED_CARD: EvidenceCard = of_record(
    Known(
        record=Preregistration(
            id="9d0f3c0f6d0b4a4f9c7c3f8f5f0b1c2d",
            project_id="default",
            state="locked",
            revision=2,
            version=1,
            plan=Plan.from_dict(examples.PLAN),
            created_at=_AT,
            locked_at=_AT,
        ),
        received=0,
        expected=1000,
        lock_sequence=41,
        first_batch_sequence=None,
        first_result_at=None,
        unblinded=False,
        standing=(),
        powers={},
        verdict=None,
        sentences=(),
    )
)
CARD = LOCKED_CARD.model_dump(mode="json")
SENTENCES: dict[str, Any] = {
    "preregistration_id": "9d0f3c0f6d0b4a4f9c7c3f8f5f0b1c2d",
    "verdict_sha256": "b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184",
    "hypotheses": [
        {
            "hypothesis": "H1a",
            "outcome": "not_supported",
            "sentences": {
                "en": "H1a is not supported: the rule `delta >= 2.0 pp` is false (`delta >= 2.0 pp` does not hold). C3 "
                "minus C1 in accuracy on longmemeval is +0.40 pp (n = 500). This does not show that the arms are "
                "equal.",
                "zh": "假设 H1a 未获支持:规则 `delta >= 2.0 pp` 不成立(`delta >= 2.0 pp` 不成立)。"
                "在 longmemeval 上,C3 与 C1 的 accuracy 之差为 +0.40 个百分点(n = 500)。这并不表明两者相同。",
            },
            "notes": [],
            "next": {
                "en": "Next: if the true difference is the observed +0.40 pp, no number of items makes the rule "
                "hold in 80 of 100 studies.",
                "zh": "下一步:若真实差异为观察到的 +0.40 个百分点,再多的题目也不会使规则在 100 次研究中有 80 次成立。",
            },
        }
    ],
}
