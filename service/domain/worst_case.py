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

from service.domain.assertion import states
from service.domain.assertion_clauses import Reader
from service.domain.claim import Target
from service.domain.exact_sums import exact_sum
from service.domain.lint_settings import settings
from service.domain.plan import Claim, Endpoint, Hypothesis, Plan

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

    It says so where every state in which it holds asks for one and the same direction, or bears out a
    claim that has one.
    """
    setting = next((each for each in settings(plan) if each.hypothesis == hypothesis), None)
    if setting is None or setting.rule is None:
        return None
    held, target = states(setting.rule, Reader.of(plan, setting)), Target.of(plan, hypothesis)
    asked = {each.asks for each in held}
    if len(asked) == 1 and len(asked & {frozenset({1}), frozenset({-1})}) == 1:
        return 1 if asked == {frozenset({1})} else -1
    directed = hypothesis.claim != "equivalence" and held
    return target.good if directed and all(target.gap(each) is None for each in held) else None


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
