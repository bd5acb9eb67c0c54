"""The missing policy `worst_case`: a result that is not ok takes the value that hurts the claim most.

A claim that one arm is better is hurt by the worst value of that arm and the best of the other; which
arm that is, the rule says. A claim of equivalence is hurt by a difference far from 0: all results that
are not ok are taken one way and then the other, and the way with the larger difference counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.domain.exact_sums import exact_sum
from service.domain.fields import EFFECT_FIELDS
from service.domain.plan import Claim, Endpoint, Hypothesis, Plan
from service.domain.rule import All, Comparison, Rule
from service.domain.rule_grammar import parse

Sign = Literal[1, -1]
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Extremes:
    """The least and the greatest value a result can have."""

    low: float
    high: float


def extremes(endpoint: Endpoint) -> Extremes | None:
    """0 and 1 for a binary endpoint, else the bounds the plan declares; None without any."""
    if endpoint.kind == "binary":
        return Extremes(0.0, 1.0)
    return None if endpoint.bounds is None else Extremes(endpoint.bounds.low, endpoint.bounds.high)


def favoured(plan: Plan, hypothesis: Hypothesis) -> Sign | None:
    """1 when the rule asks for a larger candidate, -1 for a smaller one; None when it does not say.

    It says so by a clause that must hold: `delta`, or an end of an interval of the difference, above or
    below a number, or a p-value of a one-sided test.
    """
    signs = {sign for part in _parts(parse(hypothesis.rule)) if (sign := _sign(plan, part)) is not None}
    return signs.pop() if len(signs) == 1 else None


def fill(
    baseline: Values,
    candidate: Values,
    ok: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    *,
    claim: Claim,
    sign: Sign | None,
    ends: Extremes,
) -> tuple[Values, Values]:
    """Both arms, of any one shape, with the worst value wherever a result is not ok."""
    if claim != "equivalence":
        return _filled(baseline, candidate, ok, sign or 1, ends)
    up, down = (_filled(baseline, candidate, ok, way, ends) for way in (-1, 1))
    return up if abs(_difference(up)) >= abs(_difference(down)) else down


def _filled(
    baseline: Values,
    candidate: Values,
    ok: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    sign: int,
    ends: Extremes,
) -> tuple[Values, Values]:
    worst, best = (ends.low, ends.high) if sign > 0 else (ends.high, ends.low)
    return np.where(ok[0], baseline, best), np.where(ok[1], candidate, worst)


def _difference(arms: tuple[Values, Values]) -> Fraction:
    return exact_sum(arms[1]) - exact_sum(arms[0])


def _parts(rule: Rule) -> tuple[Rule, ...]:
    return rule.parts if isinstance(rule, All) else (rule,)


def _sign(plan: Plan, part: Rule) -> Sign | None:
    if not isinstance(part, Comparison) or part.operator in ("==", "!="):
        return None
    name = part.field
    if name.test is None or (name.path[0] in EFFECT_FIELDS and name.path[-1] in ("delta", "low", "high")):
        return 1 if part.operator in (">", ">=") else -1
    use = plan.test(name.test)
    if use is not None and name.path[-1] == "p_value" and part.operator in ("<", "<="):
        alternative = use.parameters.get("alternative")
        return 1 if alternative == "greater" else -1 if alternative == "less" else None
    return None
