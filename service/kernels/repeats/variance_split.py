"""Variance of runs, items and clusters, from the mean and spread of every item. Unbiased, so it may be negative.

Item i has K_i runs and mean y_i; v = run variance / K_i is what its mean owes to its runs. Means are
weighted alike (unweighted-means analysis), which for equal K is the usual ANOVA.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Variances of one run; None where the data cannot tell."""

    within_items: float | None
    between_items: float | None
    between_clusters: float | None
    of_means: float | None
    """Variance of the item means (ddof 1), clusters ignored."""
    noise_of_means: float | None
    """Mean of v: the part of `of_means` that runs account for."""


def run_variance(values: Floats, items: NDArray[np.int64], means: Floats) -> float | None:
    """Pooled variance of runs within items; `values` and `items` (N,), `means` (n,). None when all K are 1."""
    spare = len(values) - len(means)
    if spare == 0:
        return None
    away = values - means[items]
    away[np.abs(away) <= 1e-14 * np.abs(values)] = 0.0
    return float(away @ away) / spare


def split(
    means: Floats, sizes: Floats, within: float | None, codes: NDArray[np.int64] | None
) -> VarianceSplit:
    """Return the components from item means (n,), runs per item (n,) and the runs' variance.

    With clusters, `between_items` is within clusters. Without any repeated item the runs' variance
    stays in `between_items`.

    Source: Searle, Casella & McCulloch (1992), Variance Components, 3.6 and 5.
    """
    n = len(means)
    if n < 2:
        return VarianceSplit(within, None, None, None, None)
    noise = np.full(n, 0.0 if within is None else within) / sizes
    # A mean of K runs varies by its item and by v: what runs account for is taken off.
    of_means = _clear_rounding(float(means.var(ddof=1)), means)
    flat = of_means - float(noise.mean())
    owed = None if within is None else float(noise.mean())
    if codes is None:
        return VarianceSplit(within, flat, None, of_means, owed)
    count = np.bincount(codes).astype(np.float64)
    g = len(count)
    if g < 2 or n <= g:
        return VarianceSplit(within, None, None, of_means, owed)
    cluster_means = np.bincount(codes, weights=means) / count
    away = means - cluster_means[codes]
    square_within = _clear_rounding(float(away @ away) / (n - g), means)
    centred = cluster_means - means.mean()
    square_between = _clear_rounding(float(count @ (centred * centred)) / (g - 1), means)
    # Expected mean squares: within, s_items + sum((1 - 1 / m_c) v) / (n - g); between, n0 s_clusters + s_items
    # + sum((1 / m_c - 1 / n) v) / (g - 1), with n0 = (n - sum m_c^2 / n) / (g - 1).
    items = square_within - float((1 - 1 / count[codes]) @ noise) / (n - g)
    typical = (n - float(count @ count) / n) / (g - 1)
    clusters = (square_between - items - float((1 / count[codes] - 1 / n) @ noise) / (g - 1)) / typical
    return VarianceSplit(within, items, clusters, of_means, owed)


def _clear_rounding(square: float, means: Floats) -> float:
    """0 where a variance is rounding error of means of this size."""
    return 0.0 if square <= (1e-14 * float(np.abs(means).max())) ** 2 * len(means) else square
