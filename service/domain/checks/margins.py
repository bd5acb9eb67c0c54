"""Lint of margins: a test is held against the SESOI and the number of the statement, or the plan says why it is not."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.rules.claims.margins import TestedMargin, margins_of
from service.domain.rules.claims.words import quantity
from service.domain.rules.settings import Setting, settings


def margin_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """An error for a margin that is another number than the plan's own; with a reason a warning to acknowledge."""
    for each in margins_of(plan, setting):
        if not each.differs:
            continue
        path = f"tests[{each.use.index}].parameters.margin" if each.own else f"{setting.path}.statement"
        margin, beside = quantity(each.endpoint, each.value), _beside(each)
        if each.falls_short:
            yield error(
                "MARGIN_DIFFERS",
                path,
                f"`{each.use.use.id}` tests a margin of {margin}, and {beside}: it shows less than the statement says. "
                "Write one number everywhere; without a `margin` of its own the test takes the SESOI",
            )
        elif each.reason is None:
            yield error(
                "MARGIN_DIFFERS",
                path,
                f"`{each.use.use.id}` tests a margin of {margin}, and {beside}: write one number everywhere (without a "
                "`margin` of its own the test takes the SESOI), or say in the test's `margin_reason` why it differs",
            )
        else:
            yield warning(
                "MARGIN_DIFFERS",
                path,
                f"`{each.use.use.id}` tests a margin of {margin}, and {beside}, for the reason that the plan gives: "
                "every verdict says so. Acknowledge it",
            )


def _beside(margin: TestedMargin) -> str:
    """The numbers that it is not."""
    numbers = []
    if margin.from_sesoi and margin.sesoi is not None:
        numbers.append(f"the SESOI is {quantity(margin.endpoint, margin.sesoi)}")
    if margin.from_statement and margin.stated is not None:
        numbers.append(f"the statement says {quantity(margin.endpoint, margin.stated)}")
    return " and ".join(numbers)


def as_reasoned(plan: Plan, setting: Setting) -> tuple[Plan, Setting]:
    """The plan as if it gave reasons for its margins, to look at the rest of it."""
    tests = tuple(test.model_copy(update={"margin_reason": "so far none"}) for test in plan.tests or ())
    changed = plan.model_copy(update={"tests": tests})
    return changed, settings(changed)[setting.index]
