"""Pairs of arms with scores that are told apart: whether bounds that know of outcomes not seen tell them apart as well.

Signs of what was seen know nothing of a loss that is rare and large: where one item in twenty loses a half and the rest
gain a little, two arms alike were told apart 33 times in 100 on 20 items. Right and wrong of independent items need
none of it: of two arms alike their differences are as often up as down, and as far. In clusters they do (`clustered`),
and two arms alone have the interval of a comparison (`two_arms`).

Source: Gaffke (2005), Math Methods Statist 14:451; see `service.stats.shared.methods.bounded`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.clusters import codes_of
from service.kernels.randomization.max_t import ManyArms, MaxT
from service.kernels.randomization.partial_arms import PartialArms
from service.kernels.suites.design import Design
from service.kernels.suites.many_arms import SuiteArms
from service.stats.leaderboard import clustered
from service.stats.leaderboard.suites import ends_of
from service.stats.leaderboard.two_arms import guard_of_two, guard_of_two_suites
from service.stats.shared.data.score_range import lies_in_unit
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.methods.bounded import Bounded
from service.stats.shared.methods.standings import Guard
from service.stats.shared.methods.weighing import Weighed

Floats = NDArray[np.float64]

MOST_PAIRS = 300
"""Pairs that are looked at, the least far apart first: each takes about a millisecond."""
SECONDS = 1.5e-3, 3e-6
"""A pair's, and of every item more."""


def seconds(raw: Floats, units: int | None) -> float:
    """Estimate the seconds of the pairs of outcomes (n, k), if as many as are looked at are told apart."""
    n, k = int(raw.shape[0]), int(raw.shape[1])
    if k == 2:
        return 0.05 + 1e-4 * n
    if units is not None:
        return clustered.seconds(n, units, k)
    if is_binary(raw[~np.isnan(raw)]):
        return 0.0
    return float(min(k * (k - 1) // 2, MOST_PAIRS) * (SECONDS[0] + SECONDS[1] * n))


@dataclass(frozen=True, slots=True)
class _Pair:
    """What bounds tell of a pair of arms: the one-sided p of the side it stands on, and how far it can lie from 0."""

    difference: float
    p: float
    farthest: float


def guard_of(
    raw: Floats,
    codes: NDArray[np.int64] | None,
    units: ManyArms | PartialArms,
    joint: MaxT,
    alpha: float,
    unit: float,
    tasks: NDArray[np.int64] | None,
) -> Guard | None:
    """Of outcomes (n, k) as sent, NaN where there is none; None of right and wrong of three arms or more on independent
    items, and where no pair is told apart. `unit`: of the board, one of which is so many of the outcomes'.

    Of independent items a pair's p is Bonferroni's over all pairs, and its interval as much wider as that p asks: it
    holds 0 just where p is not below alpha. Scores lie between 0 and 1 where all do, else between the least and the
    greatest seen. Of a suite (`tasks` (n,), the task of each item) the bounds are those of its weighted mean, by task.
    """
    present = raw[~np.isnan(raw)]
    limit = 1.0 if lies_in_unit(present) else float(np.ptp(present))
    guard = None
    if limit <= 0:
        return None
    if raw.shape[1] == 2 and isinstance(units, SuiteArms):
        if tasks is not None:
            guard = guard_of_two_suites(raw, codes, tasks, units, alpha)
        return None if guard is None else guard.in_units(unit)
    if raw.shape[1] == 2:
        guard = guard_of_two(raw, codes, alpha)
        return None if guard is None else guard.in_units(unit)
    if codes is not None and not isinstance(units, SuiteArms):
        guard = clustered.guard_of_clusters(raw, codes, units, joint, alpha, limit)
        return None if guard is None else guard.in_units(unit)
    apart = np.flatnonzero((joint.adjusted < alpha) | clustered.steadily_apart(units))
    if is_binary(present) or not len(apart):
        return None
    if tasks is not None and isinstance(units, SuiteArms):
        ends, weights = ends_of(raw, tasks), units.weights

        def bound(first: int, second: int) -> _Pair:
            return _of_suite(raw[:, [first, second]], codes, tasks, weights, ends)

    else:

        def bound(first: int, second: int) -> _Pair:
            return _of_items(raw[:, first] - raw[:, second], limit)

    many = len(joint.adjusted)
    p_values, times = np.zeros(many), np.zeros(many)
    nearest = apart[np.lexsort((np.abs(units.t[apart]), -joint.adjusted[apart]))][:MOST_PAIRS]
    first, second = units.pairs
    needed = -float(special.ndtri(alpha / 2 / many))
    for pair in nearest.tolist():
        bounded = bound(int(first[pair]), int(second[pair]))
        p_values[pair] = min(2 * many * bounded.p, 1.0)
        reached = -float(special.ndtri(bounded.p))
        # the gap lies so many standard errors of the bounds from 0; no difference lies beyond the limit
        farthest = 1 + bounded.farthest / abs(bounded.difference)
        times[pair] = min(needed / reached, farthest) if reached > 0 else farthest
    return Guard.of_times(p_values, np.nan_to_num(units.differences), times)


def _of_items(difference: Floats, limit: float) -> _Pair:
    """Return a pair by differences (n,) of independent items, at most `limit` from 0; NaN where an arm has none."""
    bounded = Bounded(difference[~np.isnan(difference)], None, limit)
    p = bounded.p_above(0.0) if bounded.delta > 0 else bounded.p_below(0.0)
    return _Pair(bounded.delta, p, limit)


def _of_suite(
    pair: Floats,
    codes: NDArray[np.int64] | None,
    tasks: NDArray[np.int64],
    weights: Floats,
    ends: tuple[Floats, Floats, tuple[Floats, Floats]],
) -> _Pair:
    """Return a pair (n, 2) by the suite's mean; `ends` as `ends_of` gives them."""
    difference = pair[:, 0] - pair[:, 1]
    both = ~np.isnan(difference)
    own = np.arange(np.count_nonzero(both)) if codes is None else codes_of(codes[both].tolist())
    low, high, seen = ends
    weighed = Weighed(Design(tasks[both], own), difference[both], weights, low, high, paired=True, seen=seen)
    widths = np.where(np.isnan(low), seen[1] - seen[0], high - low)
    bounds, farthest = weighed.bounds, float(weights @ np.nan_to_num(widths))
    if bounds is None:
        return _Pair(weighed.mean, 1.0, farthest)
    p = bounds.p_above(0.0) if weighed.mean > 0 else bounds.p_below(0.0)
    return _Pair(weighed.mean, p, farthest)
