"""Outcomes of items in clusters, drawn under a known truth, many data sets at once.

Arrays are (T, G): data sets by clusters, of `sizes` (G,) items; independent items are clusters of one. Any two items of
a cluster have the intraclass correlation `icc`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def draw_binary(
    generator: np.random.Generator, n_sets: int, sizes: Ints, shares: tuple[float, float], icc: float
) -> tuple[Ints, Ints]:
    """Draw how many items the candidate and the baseline win, each (T, G): Dirichlet-multinomial in a cluster."""
    counts = draw_categories(generator, n_sets, sizes, (*shares, 1 - sum(shares)), icc, np.eye(3))
    return counts[..., 0], counts[..., 1]


def draw_categories(
    generator: np.random.Generator,
    n_sets: int,
    sizes: Ints,
    shares: tuple[float, float, float],
    icc: float,
    falls: Floats,
) -> Ints:
    """Items per category, (T, G, K): states correlate within clusters; `falls` (3, K) is where each state falls."""
    p = np.asarray(shares)
    size = (n_sets, len(sizes))
    if icc > 0:
        # Gammas over their sum are Dirichlet; with parameters p (1 - icc) / icc items of a cluster correlate by icc.
        weights = generator.standard_gamma(np.maximum(p * (1 - icc) / icc, 1e-12), size=(*size, 3))
        total = weights.sum(axis=-1, keepdims=True)
        # Near icc 1 all three gammas may underflow to 0: such a cluster is all of one category, drawn by its share.
        certain = np.eye(3)[generator.choice(3, size=size, p=p)]
        p = np.where(total > 0, weights / np.where(total > 0, total, 1.0), certain)
    return generator.multinomial(np.broadcast_to(sizes, size), p @ falls)


def draw_continuous(
    generator: np.random.Generator, n_sets: int, sizes: Ints, truth: float, spread: float, icc: float
) -> Floats:
    """Difference sums (T, G) of normal item differences with that mean, SD and intraclass correlation."""
    size = (n_sets, len(sizes))
    between = generator.standard_normal(size) * spread * math.sqrt(icc)
    # The mean of so many independent deviations, drawn as one number.
    within = generator.standard_normal(size) * spread * np.sqrt((1 - icc) / sizes)
    return np.asarray(sizes * (truth + between + within))
