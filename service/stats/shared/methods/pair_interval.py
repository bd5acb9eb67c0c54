"""The interval of two arms' difference on the same items that a comparison of them decides by, for who tells it beside.

Right and wrong of independent items: Tango's, and McNemar's exact test. All else: bounds that know of losses too rare
to have been seen, in clusters the furthest of four (`bounded`); of scores without a known range beside t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import cluster_sums, robust_errors
from service.kernels.numeric.moments import paired_differences
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.pairs import mcnemar
from service.kernels.pairs.mean_bounds import p_against_zero
from service.stats.shared.data.pairs import tabulate
from service.stats.shared.data.score_range import lies_in_unit
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.methods.bounded import Bounded

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairInterval:
    """Ends of candidate minus baseline, and the two-sided p of no difference by the same bounds."""

    low: float
    high: float
    p: float
    method: Literal["tango", "gaffke", "furthest"]


def pair_interval(
    baseline: Floats, candidate: Floats, codes: NDArray[np.int64] | None, alpha: float
) -> PairInterval | None:
    """The interval of candidate minus baseline, (n,) each, with items' clusters. None where nothing tells its error:
    scores that are all alike, a single item or cluster, or so few clusters that no pattern of theirs is rare enough.
    """
    units = np.arange(len(baseline)) if codes is None else codes
    g = int(units.max()) + 1
    if g < 2 or (codes is not None and 2.0**-g >= alpha / 2):
        return None
    if codes is None and is_binary(baseline, candidate):
        table = tabulate(baseline, candidate)
        low, high = table.ends(1 - alpha)["tango"]
        p = mcnemar.p_value(table.only_candidate, table.only_baseline, "exact", "two-sided")
        return PairInterval(low, high, p, "tango")
    known = lies_in_unit(baseline, candidate)
    limit = 1.0 if known else float(np.ptp([baseline, candidate]))
    if limit <= 0:
        return None
    difference = paired_differences(baseline, candidate)
    bounded = Bounded(difference, codes, limit)
    low, high = bounded.ends(alpha / 2)
    p = p_against_zero(bounded)
    if codes is not None or known:
        return PairInterval(low, high, p, "gaffke" if codes is None else "furthest")
    error = robust_errors(cluster_sums(difference, units))["cr2"]
    if error.se > 0:
        half = t_quantile(1 - alpha / 2, error.df) * error.se
        low, high = min(low, bounded.delta - half), max(high, bounded.delta + half)
        p = max(p, t_tail(bounded.delta / error.se, error.df))
    return PairInterval(low, high, p, "furthest")
