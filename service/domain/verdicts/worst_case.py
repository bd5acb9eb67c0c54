"""The missing policy `worst_case`: a result that is not ok takes the value that hurts the claim most.

A claim that one arm is better is hurt by the worst value of that arm and the best of the other; which
arm that is, the rule says. A claim of equivalence is hurt by a difference far from 0: all results that
are not ok are taken up and then down, and what is claimed must hold both times. An equivalence test
that is asked where a rule is false claims equivalence, so it stands both ways too, whatever the rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.claims.assertion import states
from service.domain.rules.claims.claim import Target
from service.domain.rules.claims.clauses import Reader
from service.domain.rules.settings import Setting
from service.words import say

Sign = Literal[1, -1]
Way = Literal["up", "down"]
"""Of the difference: `up` takes what is not ok for the candidate, `down` for the baseline."""
WAYS: tuple[Way, ...] = ("up", "down")
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


def favoured(setting: Setting) -> Sign | None:
    """1 when the rule asks for a larger candidate, -1 for a smaller one; None when it does not say.

    It says so where every state in which it holds asks for one and the same direction, or bears out a
    claim that has one.
    """
    if setting not in _FAVOURED:
        _FAVOURED[setting] = _favoured(setting)
    return _FAVOURED[setting]


_FAVOURED: WeakKeyDictionary[Setting, Sign | None] = WeakKeyDictionary()
"""Every filling of every arm asks for it, and the states of a rule cost more than the filling."""


def _favoured(setting: Setting) -> Sign | None:
    """Return the arm that the rule favours by its states: 1 the candidate, -1 the baseline, None neither."""
    if setting.rule is None:
        return None
    held, target = states(setting.rule, Reader.of(setting)), Target.of(setting)
    directions = {state.asks for state in held}
    # One direction alone: a state may also ask for none, or for both.
    if len(directions) == 1 and len(directions & {frozenset({1}), frozenset({-1})}) == 1:
        return 1 if directions == {frozenset({1})} else -1
    directed = target.claim != "equivalence" and held
    return target.good if directed and all(target.gap(state) is None for state in held) else None


def against(setting: Setting) -> tuple[Way, ...]:
    """Return the ways of filling that hurt the claim; a claim of equivalence must stand both of them.

    Any other filling lies between the two: a one-sided score test against a margin is hardest to pass with
    every result that is not ok taken towards that margin (Sidik 2003, Stat Med 22:265).
    """
    if setting.hypothesis.claim == "equivalence":
        return WAYS
    sign = favoured(setting)
    return () if sign is None else ("down" if sign > 0 else "up",)


def why_no_worst_case(setting: Setting) -> str | None:
    """Say why the plan does not tell what the worst case of a hypothesis is; None when it does."""
    endpoint, hypothesis = setting.endpoint, setting.hypothesis
    if endpoint is not None and extremes(endpoint) is None:
        return say("reasons.no_bounds", endpoint=endpoint.id)
    if hypothesis.claim != "equivalence" and favoured(setting) is None:
        return say("reasons.no_favoured_arm", hypothesis=hypothesis.id)
    return None


def fill(
    baseline: Values,
    candidate: Values,
    ok: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    *,
    way: Way,
    ends: Extremes,
) -> tuple[Values, Values]:
    """Return both arms, of any one shape, with an extreme value wherever a result is not ok."""
    before, after = (ends.low, ends.high) if way == "up" else (ends.high, ends.low)
    return np.where(ok[0], baseline, before), np.where(ok[1], candidate, after)
