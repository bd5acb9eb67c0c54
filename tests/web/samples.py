"""Records the pages are shown with: one hypothesis whose rule holds, fails and cannot be decided."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.domain.verdicts.pairs import Excluded
from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import ClauseVerdict, HypothesisVerdict, Verdict, VoidedBatch

NOW = datetime(2027, 1, 4, 9, 0, tzinfo=UTC)

PLAN: dict[str, Any] = {
    "title": "Caching & <b>synthesis</b>",
    "populations": [
        {"id": "dev", "dataset": "Dev set", "n": 4, "independence": "one conversation per question"},
        {"id": "talks", "dataset": "Talks", "n": 40, "clusters": {"key": "conversation", "n": 8}},
    ],
    "hypotheses": [
        {
            "id": "H1a",
            "claim": "superiority",
            "statement": "C3 improves accuracy over C1 by at least 2 pp",
            "population": "dev",
            "baseline": "C1",
            "candidate": "C3",
            "endpoint": "accuracy",
            "rule": "delta>=2.0pp AND mcnemar.p < 0.05 and mcnemar.ci excludes 0",
        }
    ],
    "endpoints": [{"id": "accuracy", "kind": "binary", "role": "primary"}],
    "tests": [{"id": "mcnemar", "test": "mcnemar", "version": 1, "parameters": {}}],
}
RULE = "delta >= 2.0 pp and mcnemar.p_value < 0.05 and mcnemar.ci excludes 0"


def hypothesis_verdict(**changes: Any) -> HypothesisVerdict:
    """A verdict on H1a of `PLAN`, which fails on one clause and cannot decide another."""
    planned = PLAN["hypotheses"][0]
    fields = {name: planned[name] for name in planned if name not in ("rule", "id")}
    found: dict[str, Any] = {
        **fields,
        "id": "H1a",
        "outcome": "not_supported",
        "sentence": "The rule `delta <b>` of H1a is false: its claim is not supported.",
        "rule": RULE,
        "rule_holds": False,
        "clauses": (
            ClauseVerdict(text="delta >= 2.0 pp", observed=0.25, threshold=0.02, holds=True),
            ClauseVerdict(text="mcnemar.p_value < 0.05", observed=0.625, threshold=0.05, holds=False),
            ClauseVerdict(
                text="mcnemar.ci excludes 0",
                observed=Span(low=-0.5, high=None),
                threshold=0,
                holds=None,
                reason="an end is undefined",
            ),
        ),
        "delta": 0.25,
        "delta_exact": "1/4",
        "n": 3,
        "n_planned": 4,
        "excluded": Excluded(),
        "reading": None,
        "reading_of": None,
        "analyses": {
            "mcnemar": {"test": "mcnemar", "analysis": {"sentence": "They differ by +25.00 pp."}},
            "broken": {"test": "broken", "analysis": None, "reason": "all values are equal"},
        },
    }
    return HypothesisVerdict(**{**found, **changes})


def verdict_of(preregistration_id: str, hypothesis: HypothesisVerdict | None = None) -> Verdict:
    return Verdict(
        preregistration_id=preregistration_id,
        title=PLAN["title"],
        plan_sha256="ab" * 32,
        judged_at=NOW + timedelta(days=2),
        multiplicity="One hypothesis: no correction is needed.",
        hypotheses=(hypothesis or hypothesis_verdict(),),
        voided_batches=(VoidedBatch(batch=2, reason="<b>wrong</b> arm"),),
        versions={},
    )


def draft_of(project_id: str, name: str = "p1", plan: dict[str, Any] | None = None) -> Preregistration:
    return Preregistration(
        id=name,
        project_id=project_id,
        state="draft",
        revision=1,
        version=1,
        plan=Plan.from_dict(PLAN if plan is None else plan),
        created_at=NOW,
    )
