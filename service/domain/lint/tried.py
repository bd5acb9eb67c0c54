"""Lint of what a candidate was chosen from: variants that were tried on the very items that are to judge it."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, warning
from service.domain.plans.plan import Plan
from service.words import say


def tried_findings(plan: Plan) -> Iterator[Finding]:
    """Yield a warning where the data of the choice are the items of the plan."""
    for population in plan.tried_on_own():
        yield warning(
            "TRIED_ON_THESE",
            "tried.on",
            say("findings.tried_on_these", count=plan.tried.n if plan.tried else 0, population=population.id),
        )
