"""Pairs of several arms in clusters: intervals and p that know of outcomes and of clusters that were not seen.

Signs of what was seen know nothing of a cluster that is lost and was not among them, right and wrong included. So a
pair's interval reaches as far as Gaffke's bounds of items and of whole clusters with a part of one more, as the gate's
does, at the level that the joint critical value leaves a single pair, or Bonferroni's where that is more: sign flips of
few clusters are told apart by no Bonferroni. No interval is narrower than CR2's of the pair alone.

Sources: Gaffke (2005), Math Methods Statist 14:451; Bell & McCaffrey (2002), Surv Methodol 28:169.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.planning import gaffke_many
from service.kernels.planning.many_clusters import ManyPairs
from service.kernels.randomization.max_t import ManyArms, MaxT
from service.kernels.randomization.partial_arms import PartialArms
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.methods.standings import Guard

Floats = NDArray[np.float64]
MOST_PAIRS = 1_000
"""Pairs that are looked at, of more those told apart that lie the least far apart first: a tenth of a second."""
AT_ONCE = 2**21
"""Items times pairs that are worked on at a time."""


def seconds(items: int, clusters: int, arms: int) -> float:
    """Return what the pairs of so many arms take."""
    return min(arms * (arms - 1) // 2, MOST_PAIRS) * (5e-5 + 1e-6 * clusters + 5e-8 * items)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Outcomes (n, k) in units of the largest difference, 0 where missing; items of a cluster stand together."""

    outcomes: Floats
    present: NDArray[np.bool_]
    starts: NDArray[np.intp]
    binary: bool

    def pairs(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> ManyPairs:
        """Return first minus second of these pairs, on the items that both have."""
        both = (self.present[:, first] & self.present[:, second]).T
        gaps = np.where(both, (self.outcomes[:, first] - self.outcomes[:, second]).T, 0.0)
        sizes = np.add.reduceat(both.astype(np.float64), self.starts, axis=1)
        sums = np.add.reduceat(gaps, self.starts, axis=1)
        if self.binary:
            won, lost, n = (gaps > 0).sum(axis=1), (gaps < 0).sum(axis=1), both.sum(axis=1)
            values = np.broadcast_to(np.array([[-1.0, 0.0, 1.0]]), (len(gaps), 3))
            return ManyPairs(values, np.stack([lost, n - won - lost, won], axis=1).astype(float), sums, sizes)
        # what is missing goes to the least value, whose count it is taken from again
        least = np.where(both, gaps, np.inf).min(axis=1)
        filled = np.where(both, gaps, least[:, None])
        values, counts = gaffke_many.spread_over_grid(filled)
        if values.shape[1] == filled.shape[1]:
            return ManyPairs(values, both.astype(np.float64), sums, sizes)
        counts[:, 0] -= (~both).sum(axis=1)
        return ManyPairs(values, counts, sums, sizes)


def guard_of_clusters(
    columns: Floats,
    codes: NDArray[np.int64],
    units: ManyArms | PartialArms,
    joint: MaxT,
    alpha: float,
    limit: float,
) -> Guard | None:
    """Return the guard of pairs in clusters, from outcomes (n, k) at most `limit` apart; NaN where there is none.

    Intervals of all pairs are looked at, p of those that signs tell apart or that differ by the same everywhere, of
    which signs tell nothing.
    """
    many = len(joint.adjusted)
    pairs = _choose_pairs(units, joint, alpha)
    if not len(pairs):
        return None
    order = np.argsort(codes, kind="stable")
    columns, codes = columns[order] / limit, codes[order]
    present = ~np.isnan(columns)
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    binary = is_binary(columns[present])
    table = _Columns(np.where(present, columns, 0.0), present, starts, binary)
    first, second = units.pairs
    p, low, high = np.zeros(many), np.full(many, np.nan), np.full(many, np.nan)
    level = max(alpha / many, _level_of(units, joint.critical))
    width = max(1, AT_ONCE // len(columns))
    for start in range(0, len(pairs), width):
        some = pairs[start : start + width]
        one = table.pairs(first[some], second[some])
        other = one.turn()
        (se, df), delta = one.robust, one.delta
        still = ~(se > 0)
        half = np.where(still, 0.0, special.stdtrit(np.where(still, 1.0, df), 1 - alpha / 2) * se)
        low[some] = limit * np.minimum(one.low(level / 2), delta - half)
        high[some] = limit * np.maximum(-other.low(level / 2), delta + half)
        chance = np.where(delta > 0, one.above_zero(), other.above_zero())
        by_pairs = np.minimum(2 * many * chance, joint.adjust(_on_joint_scale(units, chance)))
        alone = np.where(still, 0.0, 2 * special.stdtr(df, -np.abs(delta) / np.where(still, np.inf, se)))
        p[some] = np.minimum(np.maximum(by_pairs, alone), 1.0)
    # bounds to a few digits: a pair whose interval holds 0 is not told apart
    p = np.where((low <= 0) & (high >= 0), np.maximum(p, alpha), p)
    return Guard(np.where(joint.adjusted >= alpha, 0.0, p), low, high)


def _choose_pairs(units: ManyArms | PartialArms, joint: MaxT, alpha: float) -> NDArray[np.intp]:
    """Pairs that vary or differ by the same everywhere, of too many those told apart, the least far apart first."""
    still = steadily_apart(units)
    either = np.flatnonzero((units.squares > 0) | still)
    if len(either) <= MOST_PAIRS:
        return either
    apart = np.flatnonzero((joint.adjusted < alpha) | still)
    return np.asarray(apart[np.lexsort((np.abs(units.t[apart]), -joint.adjusted[apart]))][:MOST_PAIRS])


def _level_of(units: ManyArms | PartialArms, critical: float) -> float:
    """Two-sided level of a single pair."""
    if isinstance(units, PartialArms):
        return 2 * float(special.ndtr(-critical))
    return 2 * float(special.stdtr(units.n_units - 1, -critical))


def _on_joint_scale(units: ManyArms | PartialArms, chance: Floats) -> Floats:
    """Return what has such a one-sided chance, on the scale of the critical value."""
    if isinstance(units, PartialArms):
        return np.asarray(-special.ndtri(chance))
    return np.asarray(-special.stdtrit(units.n_units - 1, chance))


def steadily_apart(units: ManyArms | PartialArms) -> NDArray[np.bool_]:
    """Pairs that differ by the same amount everywhere, so that there is no spread to studentize by. Shape (P,)."""
    gaps = np.nan_to_num(units.differences)
    return np.asarray((units.squares == 0) & ~units.sparse & (gaps != 0))
