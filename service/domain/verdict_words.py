"""A verdict in plain English. Never says that there is no difference, and never more than the rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
    if (shown := equivalence_shown(plan, found)) is not None:
        parts.append(
            f"Differences beyond ±{_amount(shown.margin, binary).lstrip('+')} are rejected at alpha = "
            f"{shown.alpha:g}: the {100 * shown.level:g} % interval of {shown.test} runs from "
            f"{_amount(shown.low, binary)} to {_amount(shown.high, binary)}."
        )
    if found.outcome == "not_supported":
        parts.append("This does not show that the arms are equal.")
    return " ".join(parts)


@dataclass(frozen=True, slots=True)
class EquivalenceShown:
    """What the equivalence test that a hypothesis names has rejected, and by which interval."""

    test: str
    margin: float
    low: float | None
    high: float | None
    level: float

    @property
    def alpha(self) -> float:
        """Of the two one-sided tests, whose interval has level 1 - 2 alpha."""
        return round((1 - self.level) / 2, 12)


def equivalence_shown(plan: Plan, found: HypothesisVerdict) -> EquivalenceShown | None:
    """The rejection behind the outcome `equivalent`, where an equivalence test named beside the rule made it."""
    hypothesis = plan.hypothesis(found.id)
    if found.outcome != "equivalent" or found.rule_holds or hypothesis is None:
        return None
    analysis = found.analyses.get(hypothesis.equivalence or "", {}).get("analysis")
    if not isinstance(analysis, Mapping):
        return None
    margin, ci = analysis.get("margin"), analysis.get("ci")
    if not isinstance(margin, int | float) or not isinstance(ci, Mapping):
        return None
    low, high, level = (_number(ci.get(name)) for name in ("low", "high", "level"))
    if level is None:
        return None
    return EquivalenceShown(hypothesis.equivalence or "", float(margin), low, high, level)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _why(found: HypothesisVerdict) -> str:
    if found.outcome == "invalid":
        return f"it cannot be judged as planned, because {found.reason}"
    if found.rule_holds and found.reason:
        return f"the rule `{found.rule}` holds, but {found.reason}"
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
