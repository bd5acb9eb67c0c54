"""Slices of the items of two arms: whether each loses less than a margin, and whether the arms change sides.

"No slice loses the margin" takes every slice and needs no correction (intersection-union: Berger 1982, Technometrics
24:295). That some slice does lose more is said after Holm's correction, and so is a claim of a single slice. Right or
wrong and independent: Tango's score test at the margin, with fewer than 10 discordant items an exact one beside it.
All else: CR2 t of the clusters' (or the items') differences; below 30 of them sign flips too, and the larger p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.clusters import ClusterSums, cluster_sums, robust_errors
from service.kernels.flip_interval import flip_interval, flip_tail
from service.kernels.multiplicity import holm
from service.kernels.paired_exact import SPARSE, exact_p_below
from service.kernels.reversal import LEAST, gail_simon
from service.kernels.two_one_sided import by_t, by_tango
from service.stats.shared.pairs import floored
from service.stats.shared.sliced import Reversal, Standing

Floats = NDArray[np.float64]

FEW = 30
"""Clusters, or scores, below which sign flips have a say."""
FLAT = "the differences do not vary, so their spread measures nothing"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one slice shows of a loss of the margin; `better` is the difference in the good direction."""

    better: float | None
    low: float | None
    high: float | None
    p: float | None
    p_loss: float | None
    se: float | None
    reason: str | None = None


def weigh(
    difference: Floats, codes: NDArray[np.int64], margin: float, alpha: float, *, by_score: bool
) -> Evidence:
    """A slice's differences (n,) in the good direction, by cluster; `by_score` for -1, 0 and 1 of single items."""
    n = len(difference)
    if n == 0:
        return Evidence(None, None, None, None, None, None, "no item is left")
    if by_score:
        b, c = (int(np.count_nonzero(difference == sign)) for sign in (1, -1))
        found = by_tango(b, c, n, margin, alpha, exact=False)
        p, p_loss = found.p_lower, float(special.ndtr(found.lower))
        if b + c < SPARSE:
            p = max(p, exact_p_below(c, b, n, margin))
            # an item is lost at most so often under a loss of the margin
            p_loss = max(p_loss, float(special.bdtrc(c - 1, n, (1 + margin) / 2)) if c else 1.0)
        return Evidence((b - c) / n, found.low, found.high, p, p_loss, error_of(difference, codes))
    groups = cluster_sums(difference, codes)
    better, units = groups.item_weighted, groups.n_clusters
    if units < 2:
        why = "a single cluster says nothing of others" if n > 1 else "a single item shows no spread"
        return Evidence(better, None, None, None, None, None, why)
    error = robust_errors(groups)["cr2"]
    if error.se <= 1e-12 * float(np.abs(difference).max(initial=0.0)):
        return Evidence(better, None, None, None, None, None, FLAT)
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
    return Evidence(better, low, high, p, p_loss, error.se)


def standings(
    p: Sequence[float | None], p_loss: Sequence[float | None], alpha: float
) -> list[tuple[Standing, float | None, float | None]]:
    """Of every slice where it stands, and its two p-values by Holm; one without a p counts as 1."""
    shown, lost = _by_holm(p), _by_holm(p_loss)
    found: list[tuple[Standing, float | None, float | None]] = []
    for own, own_holm, loss in zip(p, shown, lost, strict=True):
        standing: Standing = "cannot_tell"
        if own is not None and own < alpha:
            standing = "pass"
        elif loss is not None and loss < alpha:
            standing = "fail"
        found.append((standing, own_holm, loss))
    return found


def overall(each: Sequence[Standing]) -> Standing:
    """Pass where every slice does, fail where one does."""
    if "fail" in each:
        return "fail"
    return "pass" if each and all(one == "pass" for one in each) else "cannot_tell"


def reversal_of(
    found: Sequence[tuple[float | None, float | None]], alpha: float, *, spans: bool = False
) -> Reversal:
    """Gail and Simon's test of (difference, standard error) by slice; `spans`: a cluster has items in several."""
    usable = [(delta, se) for delta, se in found if delta is not None and se]
    reason = None
    if len(found) < LEAST:
        reason = "a single slice has none to be compared with" if found else "there are no slices"
    elif spans:
        reason = "a cluster has items in several slices, whose differences are then not independent"
    elif len(usable) < len(found):
        lacking = len(found) - len(usable)
        reason = (
            f"{lacking} of {len(found)} slices have no standard error, since their differences do not vary"
        )
    if reason is not None:
        return Reversal(p_value=None, gains=None, losses=None, slices=len(found), shown=None, reason=reason)
    test = gail_simon(*zip(*usable, strict=True))
    return Reversal(
        p_value=floored(test.p, "p_value", {}),
        gains=test.above,
        losses=test.below,
        slices=len(found),
        shown=test.p < alpha,
    )


def error_of(difference: Floats, codes: NDArray[np.int64]) -> float | None:
    """CR2 standard error of the mean of differences (n,), of items the ordinary one; None where nothing varies."""
    return _error(cluster_sums(difference, codes)) if len(difference) > 1 else None


def _error(groups: ClusterSums) -> float | None:
    if groups.n_clusters < 2:
        return None
    se = robust_errors(groups)["cr2"].se
    return se if se > 1e-12 * float(np.abs(groups.sums).max(initial=0.0)) / groups.n else None


def _by_holm(p: Sequence[float | None]) -> list[float | None]:
    if not p:
        return []
    adjusted = holm(np.array([1.0 if each is None else each for each in p]))
    return [None if each is None else float(q) for each, q in zip(p, adjusted, strict=True)]
