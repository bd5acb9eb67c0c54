"""How a locked plan uses the test of a suite: what its fields show, and what the plan fills in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.stats.shared.declaring import shows
from service.stats.shared.declaring.common import Margin
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.suite_sets import SuiteSets

Floats = NDArray[np.float64]

EVERY_TASK = shows.Effect("every_task")


def _tail(parameter: shows.Parameter) -> float:
    """Return an interval misses by half of alpha on each side."""
    return float(parameter("alpha")) / 2


def _above(_parameter: shows.Parameter) -> tuple[shows.Bounds, ...]:
    return (shows.ABOVE_ZERO,)


def _below(_parameter: shows.Parameter) -> tuple[shows.Bounds, ...]:
    return (shows.BELOW_ZERO,)


def _no_loss(_parameter: shows.Parameter) -> tuple[shows.Bounds, ...]:
    return (shows.ABOVE_LOWER,)


def _fixes_nothing(_parameter: shows.Parameter) -> bool:
    """What is shown of every task fixes nothing of their mean."""
    return False


SHOWS: shows.Shows = {
    "estimate": shows.Estimate(),
    "ci": shows.Covers(_tail),
    "p_value": shows.PValue(shows.either_side),
    # the plan's threshold: no difference, and of one arm its reference
    "p_above": shows.PValue(_above),
    "p_below": shows.PValue(_below),
    "every": shows.Covers(_tail, around=False, effect=EVERY_TASK),
    "losses.none_loses.p_value": shows.PValue(_no_loss, fixes=_fixes_nothing, effect=EVERY_TASK),
    **shows.no_meaning("item_weighted", "baseline_mean", "candidate_mean", "critical_value", "se", "df"),
    **shows.no_meaning("heterogeneity.*", "losses.none_loses.*", "paired", "binary", "n_tasks", "n_spanning"),
}


def _margin(sets: SuiteSets, parameter: shows.Parameter) -> float | None:
    """Return what a task may lose: the test's own margin, or the SESOI."""
    own = parameter("margin")
    return sets.margin if own is None else float(Margin.model_validate(own).exact())


def _of_tasks(sets: SuiteSets, parameter: shows.Parameter, path: shows.Path, limit: float) -> Floats | None:
    """A field on many data sets; of a p-value a number that lies on its side of the limit, and says nothing else."""
    match path:
        case ("estimate",):
            return sets.sets.means
        case ("ci" | "every" as name, "low" | "high" as end):
            suite, tasks = sets.ends(_tail(parameter))
            return (suite if name == "ci" else tasks)[0 if end == "low" else 1]
        case ("p_value" | "p_above" | "p_below" as name,):
            tail = limit / 2 if name == "p_value" else limit
            if not 0 < tail < 0.5:
                return None
            (low, high), _ = sets.ends(tail)
            above, below = low > sets.threshold, high < sets.threshold
            small = {"p_value": above | below, "p_above": above, "p_below": below}[name]
        case ("losses", "none_loses", "p_value"):
            margin = _margin(sets, parameter)
            if margin is None or not 0 < limit < 0.5:
                return None
            small = sets.ends(limit)[1][0] > -margin
        case _:
            return None
    return np.where(small, limit / 2, (1 + limit) / 2)


IN_PLANS = PlanUse(
    endpoints=frozenset({"binary", "continuous"}),
    clusters="when_planned",
    shows=SHOWS,
    takes_range=lambda _parameter: True,
    arms="either",
    tasks=True,
    of_two_arms=frozenset({"p_value", "losses"}),
    fills=frozenset({"tasks", "weights", "rescale", "estimand", "threshold"}),
    of_tasks=_of_tasks,
    clause="ci.low > 0",
)
