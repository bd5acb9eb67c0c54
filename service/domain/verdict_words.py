"""A verdict in plain English. Never says that there is no difference, and never more than the rule."""

from __future__ import annotations

import math

from service.domain.plan import Plan
from service.domain.reading import IntervalRead
from service.domain.verdict_records import HypothesisVerdict
from service.stats.common import percent


def multiplicity(plan: Plan) -> str:
    """What was done about several hypotheses."""
    if plan.multiplicity is None:
        return "not declared"
    size = len(plan.multiplicity.family) or len(plan.hypotheses or ())
    family = _counted(size, "hypothesis", "hypotheses")
    if plan.multiplicity.policy == "none":
        return f"uncorrected: the policy is `none`, and the family has {family}"
    return f"{plan.multiplicity.policy} over {family}"


def sentence(plan: Plan, found: HypothesisVerdict, read: IntervalRead | None) -> str:
    """Outcome, estimate, why, and what was not shown."""
    endpoint = plan.endpoint(found.endpoint)
    binary = endpoint is not None and endpoint.kind == "binary"
    parts = [f"{found.id} is {found.outcome.replace('_', ' ')}: {_why(found)}."]
    if found.delta is not None:
        left_out = f", {_counted(found.excluded.pairs, 'pair')} left out" if found.excluded.pairs else ""
        parts.append(
            f"{found.candidate} minus {found.baseline} in {found.endpoint} on {found.population} is "
            f"{_amount(found.delta, binary)} (n = {found.n}{left_out})."
        )
    if read is not None:
        parts.append(_interval(read, binary))
    if found.outcome == "not_supported":
        parts.append("This does not show that the arms are equal.")
    return " ".join(parts)


def _why(found: HypothesisVerdict) -> str:
    if found.outcome == "invalid":
        return f"it cannot be judged as planned, because {found.reason}"
    if found.outcome == "inconclusive":
        return f"the rule cannot be decided ({found.reason})"
    if found.rule_holds:
        return f"the rule `{found.rule}` holds"
    failing = [f"`{clause.text}`" for clause in found.clauses if clause.holds is False]
    because = f" ({', '.join(failing)} {'does' if len(failing) == 1 else 'do'} not hold)" if failing else ""
    if found.outcome == "equivalent":
        return (
            f"the rule `{found.rule}` is false{because}, and the equivalence test that the plan names "
            "rejects differences beyond its margin"
        )
    return f"the rule `{found.rule}` is false{because}"


def _interval(read: IntervalRead, binary: bool) -> str:
    low, high = (_amount(end, binary) for end in (read.ends.low, read.ends.high))
    both = ", although it also lies inside the smallest effect of interest"
    also = both if read.within_sesoi and read.reading in ("positive", "negative") else ""
    return f"{read.of} runs from {low} to {high} and reads as {read.reading}{also}."


def _amount(value: float | None, binary: bool) -> str:
    if value is None:
        return "an undefined end"
    if math.isinf(value):
        return "infinity" if value > 0 else "minus infinity"
    return percent(value) if binary else f"{value:+.4g}"


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
