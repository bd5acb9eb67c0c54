"""Agreement of raters beyond chance: each coefficient a function of sums over items, so that items or clusters can be
left out one by one.

`counts` (n, q) says how many raters put each item into each category. Items with fewer than two ratings tell nothing
of agreement.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pairwise(counts: Floats) -> Floats:
    """Return what Fleiss' and Gwet's coefficients sum over items, from counts (n, q). Shape (n, q + 3).

    Columns: 1 where two or more rated the item, the share of its pairs of raters that agree (0 without a pair), 1 where
    anybody rated it, and the share of every category among its ratings.
    """
    rated = counts.sum(axis=1)
    paired = rated >= 2
    pairs = np.where(paired, rated * (rated - 1), 1.0)
    agree = np.where(paired, (counts * (counts - 1)).sum(axis=1) / pairs, 0.0)
    shares = counts / np.maximum(rated, 1)[:, None]
    return np.column_stack([paired, agree, rated > 0, shares])


def fleiss(sums: Floats) -> Floats:
    """Return Fleiss' kappa from sums (..., q + 3) of `pairwise`; NaN where chance alone agrees always.

    Agreement is averaged over items with a pair of raters, shares of categories over all that were rated, as Gwet has
    missing ratings. Without any it is Fleiss (1971), Psychol Bull 76:378.
    """
    observed, shares = _parts(sums)
    return _beyond(observed, (shares**2).sum(axis=-1))


def gwet(sums: Floats) -> Floats:
    """Return Gwet's AC1 from sums (..., q + 3) of `pairwise`, q at least 2.

    Source: Gwet (2008), Br J Math Stat Psychol 61:29.
    """
    observed, shares = _parts(sums)
    return _beyond(observed, (shares * (1 - shares)).sum(axis=-1) / max(shares.shape[-1] - 1, 1))


def _parts(sums: Floats) -> tuple[Floats, Floats]:
    """The mean agreement (...,) of items with a pair, and the mean share (..., q) of categories, from such sums."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[..., 1] / sums[..., 0], sums[..., 3:] / sums[..., 2, None]


def _beyond(observed: Floats, chance: Floats) -> Floats:
    """(observed - chance) / (1 - chance)."""
    left = 1 - chance
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(left > 1e-12, (observed - chance) / left, np.nan)


def of_two(first: NDArray[np.int64], second: NDArray[np.int64], q: int) -> Floats:
    """Return per item (n, 2 q + 2): 1 and whether both agree, then each one's category; 0 where a code is -1."""
    both = (first >= 0) & (second >= 0)
    eye = np.vstack([np.eye(q), np.zeros((1, q))])
    columns = np.column_stack([np.ones(len(first)), first == second, eye[first], eye[second]])
    return np.where(both[:, None], columns, 0.0)


def cohen(sums: Floats) -> Floats:
    """Return Cohen's kappa from sums (..., 2 q + 2) of `of_two`.

    Source: Cohen (1960), Educ Psychol Meas 20:37.
    """
    q = (sums.shape[-1] - 2) // 2
    n = sums[..., 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = (sums[..., 2 : 2 + q] * sums[..., 2 + q :]).sum(axis=-1) / n**2
        return _beyond(sums[..., 1] / n, chance)


def nominal(counts: Floats) -> Floats:
    """Return per item (n, q + 1): disagreeing pairs over r - 1, then the counts; 0 where fewer than two rated it."""
    rated = counts.sum(axis=1)
    paired = rated >= 2
    # ordered pairs of ratings of different categories: all r^2, less those of one category, itself included
    apart = rated**2 - (counts**2).sum(axis=1)
    columns = np.column_stack([apart / np.maximum(rated - 1, 1), counts])
    return np.where(paired[:, None], columns, 0.0)


def alpha_nominal(sums: Floats) -> Floats:
    """Return Krippendorff's alpha from sums (..., q + 1) of `nominal`.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    """
    counts = sums[..., 1:]
    n = counts.sum(axis=-1)
    return _alpha(sums[..., 0], n**2 - (counts**2).sum(axis=-1), n)


def interval(values: Floats) -> Floats:
    """Return per item (n, 4): squared differences of pairs over r - 1, ratings, their sum and sum of squares.

    `values` (n, raters), nan where a rater left the item out.
    """
    known = ~np.isnan(values)
    rated = known.sum(axis=1).astype(np.float64)
    x = np.where(known, values, 0.0)
    total = x.sum(axis=1)
    away = np.where(known, values - (total / np.maximum(rated, 1))[:, None], 0.0)
    # over ordered pairs (x_i - x_j)^2 sums to 2 r sum (x - mean)^2: about the mean, so that no squares cancel
    apart = 2 * rated * (away**2).sum(axis=1)
    columns = np.column_stack([apart / np.maximum(rated - 1, 1), rated, total, (x**2).sum(axis=1)])
    return np.where((rated >= 2)[:, None], columns, 0.0)


def alpha_interval(sums: Floats) -> Floats:
    """Return Krippendorff's alpha with squared differences, from sums (..., 4) of `interval`."""
    n = sums[..., 1]
    # here sums alone are at hand, and n sum x^2 - (sum x)^2 cancels: what is left of equal values is rounding
    apart = 2 * (n * sums[..., 3] - sums[..., 2] ** 2)
    return _alpha(sums[..., 0], np.where(apart > 1e-13 * n * sums[..., 3], apart, 0.0), n)


def alpha_ordinal(counts: Floats, codes: NDArray[np.int64]) -> tuple[float, Floats]:
    """Krippendorff's alpha of ordered categories, and without each cluster (G,): squared differences of mid-ranks.

    `counts` (n, q) in ascending order of the categories. The ranks are those of the ratings that are left, so they
    move with every cluster that is left out. O((n + G) q) memory.
    """
    rated = counts.sum(axis=1)
    counts = np.where((rated >= 2)[:, None], counts, 0.0)
    less = np.maximum(rated - 1, 1)
    # observed: sum over items of 2 rated sum_c(counts r^2)/less - 2 (sum_c counts r)^2/less, for ranks r
    squares, kept_squares = left_out(counts * (2 * rated / less)[:, None], codes)
    products = (counts * (2 / less)[:, None]).T @ counts
    total, without = left_out(counts, codes)
    ranks = _mid_ranks(total)
    value = _of_ranks(ranks, total, squares @ ranks**2 - ranks @ products @ ranks)
    moved = _mid_ranks(without)
    of_others = np.einsum("gq,gq->g", moved @ products, moved)
    of_own = np.bincount(codes, weights=np.einsum("nq,nq->n", counts, moved[codes]) ** 2 * 2 / less)
    seen = (kept_squares * moved**2).sum(axis=1) - (of_others - of_own)
    return float(value), _of_ranks(moved, without, seen)


def _mid_ranks(counts: Floats) -> Floats:
    """Return the mean rank of each category's ratings, less a constant; `counts` (..., q)."""
    ranks = counts.cumsum(axis=-1) - counts / 2
    # about the middle, or sums of squares of large ranks would cancel
    return np.asarray(ranks - counts.sum(axis=-1, keepdims=True) / 2)


def _of_ranks(ranks: Floats, counts: Floats, seen: Floats) -> Floats:
    """Alpha (...,) from mid-ranks and counts (..., q) of the categories, and the disagreement `seen` within items."""
    n = counts.sum(axis=-1)
    # ranks are about n in size, their squares summed over n ratings n^3, and n times that n^4
    apart = 2 * (n * (counts * ranks**2).sum(axis=-1) - (counts * ranks).sum(axis=-1) ** 2)
    return _alpha(seen, np.where(apart > 1e-13 * n**4, apart, 0.0), n)


def _alpha(observed: Floats, expected: Floats, n: Floats) -> Floats:
    """1 - (n - 1) observed / expected: what differs within items, over what would between any two of the n ratings."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)


def left_out(amounts: Floats, codes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Sums over all items, and those without each cluster (G, ...), of per-item columns (n, ...)."""
    groups: Floats = np.stack([np.bincount(codes, weights=column) for column in amounts.T], axis=1).astype(
        np.float64
    )
    total = groups.sum(axis=0)
    return total, total - groups


def jackknife_error(without: Floats) -> float | None:
    """Standard error from the estimates without each of G clusters (G,); None where one of them is undefined.

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, 11.
    """
    g = len(without)
    if g < 2 or not np.all(np.isfinite(without)):
        return None
    return float(np.sqrt((g - 1) / g * ((without - without.mean()) ** 2).sum()))
