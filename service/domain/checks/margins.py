"""Lint of margins: a test is held against the SESOI and the number of the statement, or the plan says why it is not."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.rules.claims.margins import TestedMargin, margins_of
from service.domain.rules.claims.words import quantity
from service.domain.rules.settings import Setting, resolve
from service.words import say


def margin_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Find a margin that is another number than the plan's own: an error, or with a reason a warning to acknowledge."""
    for stated in margins_of(plan, setting):
        if not stated.differs:
            continue
        path = f"tests[{stated.use.index}].parameters.margin" if stated.own else f"{setting.path}.statement"
        margin, beside = quantity(stated.endpoint, stated.value), _beside(stated)
        if stated.falls_short:
            yield error(
                "MARGIN_DIFFERS",
                path,
                say("findings.margin_wider", test=stated.use.use.id, margin=margin, beside=beside),
            )
        elif stated.reason is None:
            yield error(
                "MARGIN_DIFFERS",
                path,
                say("findings.margin_other", test=stated.use.use.id, margin=margin, beside=beside),
            )
        else:
            yield warning(
                "MARGIN_DIFFERS",
                path,
                say("findings.margin_reasoned", test=stated.use.use.id, margin=margin, beside=beside),
            )


def _beside(margin: TestedMargin) -> str:
    """Describe the margins of the plan that a tested margin is not."""
    sesoi = margin.sesoi if margin.from_sesoi else None
    stated = margin.stated if margin.from_statement else None
    numbers = [None if size is None else quantity(margin.endpoint, size) for size in (sesoi, stated)]
    match numbers:
        case [str(of_plan), str(of_statement)]:
            return say("findings.both_margins", sesoi=of_plan, stated=of_statement)
        case [str(of_plan), None]:
            return say("findings.sesoi_is", margin=of_plan)
        case [None, str(of_statement)]:
            return say("findings.statement_says", margin=of_statement)
    return ""


def add_reasons(plan: Plan, setting: Setting) -> tuple[Plan, Setting]:
    """Return the plan as if it gave reasons for its margins, to look at the rest of it."""
    tests = tuple(test.model_copy(update={"margin_reason": "so far none"}) for test in plan.tests or ())
    changed = plan.model_copy(update={"tests": tests})
    return changed, resolve(changed).settings[setting.index]
