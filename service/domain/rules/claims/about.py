"""What a claim is about: the means, or another effect that its plan declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial

from service.domain.plans.plan import About
from service.domain.rules.feeding import parameter
from service.domain.rules.settings import Use
from service.stats.shared.declaring.shows import Effect, EffectKind

KINDS: Mapping[About, frozenset[EffectKind]] = {
    "mean": frozenset({"means", "cluster_means"}),
    "median": frozenset({"quantiles", "quantile_of_differences"}),
    "quantile": frozenset({"quantiles", "quantile_of_differences"}),
    "rank": frozenset({"ranks", "shift"}),
}
"""The effects of tests that bear out a claim about each."""

MIDDLE = 0.5

NAMED: tuple[tuple[About, str], ...] = (
    ("median", r"\bmedians?\b|中位数"),
    ("quantile", r"\b(?:quantiles?|percentiles?|p9\d)\b|分位"),
    ("mean", r"\b(?:means? (?:of|difference|score|value)|average[sd]?)\b|平均|均值"),
)
"""What a statement names, where the words can mean nothing else."""


def effect_of(use: Use) -> Effect:
    """What the interval and the p-value of a plan's test are about."""
    return Effect() if use.test.plan is None else use.test.plan.effect(partial(parameter, use.use))


def bears_on(effect: Effect, about: About) -> bool:
    """True when a test of this effect can bear out a claim about that."""
    return effect.kind in KINDS[about] and (about != "median" or effect.q in (None, MIDDLE))


def about_of(effect: Effect) -> About:
    """What a claim is about that rests on a test of this effect alone."""
    return next(about for about in KINDS if bears_on(effect, about))


@cache
def named_in(statement: str) -> About | None:
    """What a statement names; None where it names none of these, or several."""
    named = {about for about, pattern in NAMED if re.search(pattern, statement, re.IGNORECASE)}
    return named.pop() if len(named) == 1 else None
