"""What a claim is about: the means, or another effect that its plan declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, partial

from service.domain.plans.sections.hypothesis import About
from service.domain.rules.feeding import parameter
from service.domain.rules.settings import Use
from service.stats.shared.declaring.shows import Bounded, Covers, Effect, EffectKind, PValue

KINDS: Mapping[About, frozenset[EffectKind]] = {
    "mean": frozenset({"means", "cluster_means"}),
    "median": frozenset({"quantiles", "quantile_of_differences"}),
    "quantile": frozenset({"quantiles", "quantile_of_differences"}),
    "rank": frozenset({"ranks", "shift"}),
    "pass_hat_k": frozenset({"pass_hat_k"}),
    "every_item": frozenset({"every_item"}),
    "every_task": frozenset({"every_task"}),
    "labels": frozenset({"labelled_means"}),
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
    """Return what the interval and the p-value of a plan's test are about."""
    return Effect() if use.test.plan is None else use.test.plan.effect(partial(parameter, use.use))


OF_ONE_ARM: frozenset[About] = frozenset({"mean", "pass_hat_k", "every_item", "every_task", "labels"})
"""What a claim about one arm can be about."""
OF_TWO_ARMS: frozenset[About] = frozenset({"mean", "median", "quantile", "rank", "every_task", "labels"})
"""What a claim that compares two arms can be about."""


def names_of(use: Use, about: About) -> Iterator[str]:
    """Yield what facts call the test, or one of its fields, that can bear out a claim about that."""
    if bears_on(effect_of(use), about):
        yield use.use.id
    for path, meaning in ({} if use.test.plan is None else use.test.plan.shows).items():
        effect = meaning.effect if isinstance(meaning, Covers | Bounded | PValue) else None
        if effect is not None and bears_on(effect, about):
            yield f"{use.use.id}.{path}"


def bears_on(effect: Effect, about: About) -> bool:
    """Tell whether a test of this effect can bear out a claim about that."""
    return effect.kind in KINDS[about] and (about != "median" or effect.q in (None, MIDDLE))


def about_of(effect: Effect) -> About:
    """Return what a claim is about that rests on a test of this effect alone."""
    return next(about for about in KINDS if bears_on(effect, about))


@cache
def find_named(statement: str) -> About | None:
    """Return what a statement names; None where it names none of these, or several."""
    quantities = {about for about, pattern in NAMED if re.search(pattern, statement, re.IGNORECASE)}
    return quantities.pop() if len(quantities) == 1 else None
