"""Two arms alone: the interval and p that a comparison of them gives, so that one pair has one interval.

Of more arms intervals hold all at once and are wider. Right and wrong of independent items have Tango's interval, and
are told apart where McNemar's exact test rejects as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import codes_of
from service.kernels.pairs.mean_bounds import p_against_zero
from service.kernels.suites.design import Design
from service.kernels.suites.many_arms import SuiteArms
from service.stats.leaderboard.suites import ends_of
from service.stats.shared.methods.pair_interval import pair_interval
from service.stats.shared.methods.standings import Guard
from service.stats.shared.methods.weighing import Weighed

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def guard_of_two(columns: Floats, codes: Codes | None, alpha: float) -> Guard | None:
    """Return the guard of two arms (n, 2), NaN where an outcome is missing: the interval of a comparison of both.

    None where the comparison has none either.
    """
    both = ~np.isnan(columns).any(axis=1)
    if not both.any():
        return None
    first, second = columns[both].T
    own = None if codes is None else codes_of(codes[both].tolist())
    ends = pair_interval(second, first, own, alpha)
    if ends is None:
        return None
    # where rounding leaves no room, the interval decides
    p = max(ends.p, alpha) if ends.low <= 0 <= ends.high else ends.p
    return Guard(np.array([p]), np.array([ends.low]), np.array([ends.high]), alone=ends.method)


def guard_of_two_suites(
    columns: Floats, codes: Codes | None, tasks: Codes, units: SuiteArms, alpha: float
) -> Guard | None:
    """Return the guard of two arms by the mean of a suite's tasks; None where nothing tells how far it may be off."""
    both = ~np.isnan(columns).any(axis=1)
    own = np.arange(np.count_nonzero(both)) if codes is None else codes_of(codes[both].tolist())
    low, high, seen = ends_of(columns, tasks)
    difference = columns[both, 0] - columns[both, 1]
    weighed = Weighed(Design(tasks[both], own), difference, units.weights, low, high, paired=True, seen=seen)
    bounds = weighed.bounds
    if bounds is None or not bounds.se > 0:
        return None
    ends = bounds.ends(alpha / 2)
    p = p_against_zero(bounds)
    return Guard(np.array([p]), np.array([ends[0]]), np.array([ends[1]]), alone=bounds.method)
