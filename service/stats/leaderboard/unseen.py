"""Pairs of arms with scores that are told apart: whether bounds that know of outcomes not seen tell them apart as well.

Signs of what was seen know nothing of a loss that is rare and large: where one item in twenty loses a half and the rest
gain a little, two arms alike were told apart 33 times in 100 on 20 items. Right and wrong need none of it: of two arms
alike their differences are as often up as down, and as far.

Source: Gaffke (2005), Math Methods Statist 14:451; see `service.stats.shared.methods.bounded`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.clusters import codes_of
from service.kernels.randomization.max_t import ManyArms, MaxT
from service.kernels.randomization.partial_arms import PartialArms
from service.stats.shared.data.score_range import lies_in_unit
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.methods.bounded import Bounded
from service.stats.shared.methods.standings import Guard

Floats = NDArray[np.float64]

MOST_PAIRS = 300
"""Pairs that are looked at, the least far apart first: each takes about a millisecond."""
SECONDS = 1.5e-3, 3e-6
"""A pair's, and of every item more."""


def seconds(raw: Floats) -> float:
    """What the pairs take of outcomes (n, k), if as many as are looked at are told apart."""
    if is_binary(raw[~np.isnan(raw)]):
        return 0.0
    n, k = int(raw.shape[0]), int(raw.shape[1])
    return float(min(k * (k - 1) // 2, MOST_PAIRS) * (SECONDS[0] + SECONDS[1] * n))


def guard_of(
    raw: Floats, codes: NDArray[np.int64] | None, units: ManyArms | PartialArms, joint: MaxT, alpha: float
) -> Guard | None:
    """Of outcomes (n, k) as sent, NaN where there is none; None of right and wrong, and where no pair is told apart.

    A pair's p is Bonferroni's over all pairs, and its interval as much wider as that p asks: it holds 0 just where p
    is not below alpha. Scores lie between 0 and 1 where all do, else between the least and the greatest seen.
    """
    present = raw[~np.isnan(raw)]
    apart = np.flatnonzero(joint.adjusted < alpha)
    if is_binary(present) or not len(apart):
        return None
    limit = 1.0 if lies_in_unit(present) else float(np.ptp(present))
    many = len(joint.adjusted)
    p_values, times = np.zeros(many), np.zeros(many)
    nearest = apart[np.lexsort((np.abs(units.t[apart]), -joint.adjusted[apart]))][:MOST_PAIRS]
    first, second = units.pairs
    needed = -float(special.ndtri(alpha / 2 / many))
    for pair in nearest.tolist():
        difference = raw[:, first[pair]] - raw[:, second[pair]]
        both = ~np.isnan(difference)
        own = None if codes is None else codes_of(codes[both].tolist())
        bounded = Bounded(difference[both], own, limit)
        p = bounded.p_above(0.0) if bounded.delta > 0 else bounded.p_below(0.0)
        p_values[pair] = min(2 * many * p, 1.0)
        reached = -float(special.ndtri(p))
        # the gap lies so many standard errors of the bounds from 0; no difference lies beyond the limit
        farthest = 1 + limit / abs(bounded.delta)
        times[pair] = min(needed / reached, farthest) if reached > 0 else farthest
    return Guard(p_values, times)
