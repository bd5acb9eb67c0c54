"""Slices of the items of two arms: whether each loses less than a margin, and whether the arms change sides.

"No slice loses the margin" takes every slice and needs no correction (intersection-union: Berger 1982, Technometrics
24:295). That some slice does lose more is said after Holm's correction, and so is a claim of a single slice. Right or
wrong and independent: Tango's score test at the margin, with fewer than 10 discordant items an exact one beside it.
All else: CR2 t of the clusters' (or the items') differences; below 30 of them sign flips too, and the larger p. Where
scores have a range, the bounds that know of losses too rare to be seen (`bounded`) beside them, and the larger p.
Gail and Simon's test takes every slice's z from such p-values of no difference. The difference over its error would do
for large slices alone: of two slices with 5 clusters each it finds a false change of sides 8 times in 100.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.multiplicity.corrections import correct_known
from service.kernels.multiplicity.reversal import LEAST, of_sides
from service.kernels.numeric.clusters import ClusterSums, cluster_sums, robust_errors
from service.kernels.numeric.t_distribution import t_tail
from service.kernels.pairs.paired_exact import SPARSE, exact_p_below
from service.kernels.pairs.two_one_sided import by_t, by_tango
from service.kernels.randomization.flip_interval import flip_interval, flip_tail
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring.fields import Unseen
from service.stats.shared.methods.bounded import Bounded
from service.stats.shared.methods.slice_records import Reversal, Standing

Floats = NDArray[np.float64]

FEW = 30
"""Clusters, or scores, below which sign flips have a say."""
LEAST_P = 1e-300
"""Where no smaller p is told apart."""
FLAT = "the differences do not vary, so their spread measures nothing"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one slice shows of a loss of the margin; `better` is the difference in the good direction."""

    better: float | None
    low: float | None
    high: float | None
    p: float | None
    p_loss: float | None
    reason: str | None = None


def weigh(
    difference: Floats,
    codes: NDArray[np.int64],
    margin: float,
    alpha: float,
    *,
    by_score: bool,
    limit: float | None = None,
    unseen: Unseen = "items",
) -> Evidence:
    """Return a slice's differences (n,) in the good direction, by cluster; `by_score` for -1, 0 and 1 of single items.

    `limit`: the largest difference an item can have; None where scores have no range. `unseen`: what bounds in
    clusters take into account beyond what was seen.
    """
    n = len(difference)
    if n == 0:
        return Evidence(None, None, None, None, None, "no item is left")
    if by_score:
        return weigh_counts(*_counts(difference), n, margin, alpha)
    groups = cluster_sums(difference, codes)
    better, units = groups.item_weighted, groups.n_clusters
    if units < 2:
        why = "a single cluster says nothing of others" if n > 1 else "a single item shows no spread"
        return Evidence(better, None, None, None, None, why)
    error = robust_errors(groups)["cr2"]
    bounded = None if limit is None else _bound(difference, codes, groups, limit, unseen)
    if error.se <= 1e-12 * float(np.abs(difference).max(initial=0.0)):
        if bounded is None:
            return Evidence(better, None, None, None, None, FLAT)
        return Evidence(better, *bounded.ends(alpha), bounded.p_above(-margin), bounded.p_below(-margin))
    t = by_t(better, error.se, error.df, margin, alpha)
    low: float | None = t.low
    high: float | None = t.high
    p, p_loss = t.p_lower, 1 - t.p_lower
    if units < FEW:
        ends = flip_interval(groups.sums, groups.sizes, alpha)
        low = None if ends[0] is None else min(t.low, ends[0])
        high = None if ends[1] is None else max(t.high, ends[1])
        p = max(p, flip_tail(groups.sums, groups.sizes, -margin))
        p_loss = max(p_loss, flip_tail(-groups.sums, groups.sizes, margin))
    if bounded is not None:
        least, most = bounded.ends(alpha)
        low = None if low is None else min(low, least)
        high = None if high is None else max(high, most)
        p, p_loss = max(p, bounded.p_above(-margin)), max(p_loss, bounded.p_below(-margin))
    return Evidence(better, low, high, p, p_loss)


def _bound(
    difference: Floats, codes: NDArray[np.int64], groups: ClusterSums, limit: float, unseen: Unseen
) -> Bounded:
    """Items that are clusters of their own are independent."""
    return Bounded(difference, codes if groups.n_clusters < len(difference) else None, limit, unseen)


def weigh_counts(only_candidate: int, only_baseline: int, n: int, margin: float, alpha: float) -> Evidence:
    """Return evidence against a loss of the margin, from the discordant counts of n independent items."""
    b, c = only_candidate, only_baseline
    result = by_tango(b, c, n, margin, alpha, exact=False)
    p, p_loss = result.p_lower, float(special.ndtr(result.lower))
    if b + c < SPARSE:
        p = max(p, exact_p_below(c, b, n, margin))
        # under a loss of the margin, lost less won is `margin`, and both are 1 at most together: an item is lost with a
        # chance of (1 + margin) / 2 at most
        p_loss = max(p_loss, float(special.bdtrc(c - 1, n, (1 + margin) / 2)) if c else 1.0)
    return Evidence((b - c) / n, result.low, result.high, p, p_loss)


@dataclass(frozen=True, slots=True)
class Lean:
    """How far a slice speaks for either side: z, at least 0, of the one-sided p that its differences are not above 0
    (`above`), and not below (`below`)."""

    above: float
    below: float


def lean(
    difference: Floats,
    codes: NDArray[np.int64],
    *,
    by_score: bool,
    limit: float | None = None,
    unseen: Unseen = "items",
) -> Lean | None:
    """Return how far a slice's differences (n,) lean to either side, weighed as against a margin; None: none vary."""
    if len(difference) < 2:
        return None
    groups = cluster_sums(difference, codes)
    if groups.n_clusters < 2:
        return None
    error = robust_errors(groups)["cr2"]
    if error.se <= 1e-12 * float(np.abs(groups.sums).max(initial=0.0)) / groups.n:
        return None
    if by_score:
        b, c = _counts(difference)
        z, m = (b - c) / math.sqrt(b + c), b + c
        above, below = float(special.ndtr(-z)), float(special.ndtr(z))
        if m < SPARSE:
            above, below = max(above, _coins(b, m)), max(below, _coins(c, m))
    else:
        t = groups.item_weighted / error.se
        above, below = t_tail(t, error.df, "greater"), t_tail(t, error.df, "less")
        if groups.n_clusters < FEW:
            above = max(above, flip_tail(groups.sums, groups.sizes, 0.0))
            below = max(below, flip_tail(-groups.sums, groups.sizes, 0.0))
        if limit is not None:
            bounded = _bound(difference, codes, groups, limit, unseen)
            above, below = max(above, bounded.p_above(0.0)), max(below, bounded.p_below(0.0))
    return Lean(_normal(above), _normal(below))


def _counts(difference: Floats) -> tuple[int, int]:
    """Return how many items the candidate alone has right, and the baseline alone."""
    return int(np.count_nonzero(difference == 1)), int(np.count_nonzero(difference == -1))


def _coins(heads: int, many: int) -> float:
    """Return the chance of so many heads or more of fair coins."""
    return float(special.bdtrc(heads - 1, many, 0.5)) if heads else 1.0


def _normal(p: float) -> float:
    """Return the z that has this upper tail; 0 for a p of a half or more."""
    return max(-float(special.ndtri(max(p, LEAST_P))), 0.0)


def standings(
    p: Sequence[float | None], p_loss: Sequence[float | None], alpha: float
) -> list[tuple[Standing, float | None, float | None]]:
    """Return where every slice stands, and its two p-values by Holm; one without a p counts as 1."""
    adjusted, lost = correct_known(p), correct_known(p_loss)
    by_slice: list[tuple[Standing, float | None, float | None]] = []
    for own, own_holm, loss in zip(p, adjusted, lost, strict=True):
        standing: Standing = "cannot_tell"
        if own is not None and own < alpha:
            standing = "pass"
        elif loss is not None and loss < alpha:
            standing = "fail"
        by_slice.append((standing, own_holm, loss))
    return by_slice


def overall(standings: Sequence[Standing]) -> Standing:
    """Pass where every slice does, fail where one does."""
    if "fail" in standings:
        return "fail"
    return "pass" if standings and all(one == "pass" for one in standings) else "cannot_tell"


def reversal_of(leans: Sequence[Lean | None], alpha: float, *, spans: bool = False) -> Reversal:
    """Run Gail and Simon's test of what every slice speaks for; `spans`: a cluster has items in several."""
    usable = [lean for lean in leans if lean is not None]
    reason = None
    if len(leans) < LEAST:
        reason = "a single slice has none to be compared with" if leans else "there are no slices"
    elif spans:
        reason = "a cluster has items in several slices, whose differences are then not independent"
    elif len(usable) < len(leans):
        lacking = len(leans) - len(usable)
        reason = (
            f"{lacking} of {len(leans)} slices have no standard error, since their differences do not vary"
        )
    if reason is not None:
        return Reversal(p_value=None, gains=None, losses=None, slices=len(leans), shown=None, reason=reason)
    test = of_sides([row.above for row in usable], [row.below for row in usable])
    return Reversal(
        p_value=apply_floor(test.p, "p_value", {}),
        gains=test.above,
        losses=test.below,
        slices=len(leans),
        shown=test.p < alpha,
    )
