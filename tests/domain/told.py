"""A judged hypothesis with everything that is said of it."""

from __future__ import annotations

from typing import Any

from service.domain.notes.notes import HypothesisSentences, sentences
from service.domain.plans.plan import Plan
from service.domain.verdicts.records import Verdict
from tests.domain.sample import plan, verdict_of

EQUIVALENCE = {
    "tests.1": {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}},
    "hypotheses.0.equivalence": "eq",
}
"""Beside the rule, to be laid over the sample plan."""


def judged(changes: dict[str, Any], results: Any) -> tuple[Plan, Verdict]:
    verdict = verdict_of(changes, results)
    size = len(next(iter(results.cells.values())).values)
    return plan({"populations.0.n": size, **changes}), verdict


def said(
    changes: dict[str, Any], results: Any, powers: Any = None
) -> tuple[Plan, Verdict, HypothesisSentences]:
    judged_plan, verdict = judged(changes, results)
    (found,) = sentences(judged_plan, verdict, powers or {})
    return judged_plan, verdict, found
