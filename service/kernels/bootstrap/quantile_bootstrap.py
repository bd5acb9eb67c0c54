"""Quantiles of two arms on the same items: resampled by items or whole clusters, and by order statistics.

Quantiles are numpy's and R's default (type 7). `codes` (n,) numbers each item's unit from 0 to G - 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.streams import BLOCK, block_count, generator, picks

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

CHUNK = 2_000_000
"""Weights of resampled items held at a time."""


def resampled_quantiles(columns: Sequence[Floats], codes: Codes, q: float, draws: int, seed: int) -> Floats:
    """Return the q-quantile of every column (n,) in resamples of whole units, (draws, columns).

    Blocks of resamples have generators of their own. O(draws n).
    """
    g, n = int(codes.max()) + 1, len(codes)
    if g == n:  # single items: what is drawn is partitioned, which is quicker than counting
        single = [column[np.argsort(codes)] for column in columns]
        blocks = [_draw_block(single, q, seed, block) for block in range(block_count(draws))]
        return np.concatenate(blocks)[:draws]
    orders = [np.argsort(column, kind="stable") for column in columns]
    ranked = [(column[order], codes[order]) for column, order in zip(columns, orders, strict=True)]
    blocks = [_resample_clusters(ranked, g, q, seed, block) for block in range(block_count(draws))]
    return np.concatenate(blocks)[:draws]


def _draw_block(columns: Sequence[Floats], q: float, seed: int, block: int) -> Floats:
    """Draw a block of quantiles of all columns, (BLOCK, K); they are of type 7 (Hyndman & Fan 1996)."""
    n, rng = len(columns[0]), generator(seed, block)
    place = (n - 1) * q
    below, above = int(place), min(int(place) + 1, n - 1)
    quantiles = np.empty((BLOCK, len(columns)))
    for draw in range(BLOCK):
        which = picks(rng, n, n)
        for at, column in enumerate(columns):
            drawn = np.partition(column[which], (below, above))
            quantiles[draw, at] = drawn[below] + (place - below) * (drawn[above] - drawn[below])
    return quantiles


def _resample_clusters(
    ranked: Sequence[tuple[Floats, Codes]], g: int, q: float, seed: int, block: int
) -> Floats:
    """Resample whole clusters: quantiles of every column in `ranked`, (columns, BLOCK), from a block's own stream."""
    rng, step = generator(seed, block), max(min(CHUNK // len(ranked[0][0]), BLOCK), 1)
    parts = []
    for start in range(0, BLOCK, step):
        copies = np.array(
            [np.bincount(picks(rng, g, g), minlength=g) for _ in range(min(step, BLOCK - start))],
            dtype=np.int64,
        )
        parts.append(
            np.stack(
                [compute_weighted_quantile(values, copies[:, unit], q) for values, unit in ranked], axis=1
            )
        )
    return np.concatenate(parts)


def compute_weighted_quantile(values: Floats, copies: NDArray[np.int64], q: float) -> Floats:
    """Type-7 quantiles (B,) of ascending values (n,) each so many times, copies (B, n)."""
    reached = np.cumsum(copies, axis=1)
    place = (reached[:, -1] - 1) * q
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, reached[:, -1] - 1)
    low, high = (values[(reached <= rank[:, None]).sum(axis=1)] for rank in (below, above))
    return np.asarray(low + (place - below) * (high - low))


def order_ranks(n: int, q: float, tail: float) -> tuple[int | None, int | None]:
    """Ranks (from 1) of the order statistics that bound the q-quantile, each missing it with at most `tail`.

    None where no value of a sample is far enough out. Of ties they miss less often.

    Source: Conover (1999), Practical Nonparametric Statistics, 3.2.
    """
    ranks = np.arange(n + 1)
    # X values lie below the quantile, X binomial (n, q). 1e-12: a chance equal to the tail may lie above it by rounding
    at_most = special.bdtr(ranks, n, q)  # P(X <= k)
    low = int(np.count_nonzero(at_most <= tail * (1 + 1e-12)))
    # 1 - cdf has the digits that a tail above 1e-6 needs
    beyond = 1 - at_most if tail > 1e-6 else special.bdtrc(ranks, n, q)  # P(X > k)
    first = int(np.argmax(beyond <= tail * (1 + 1e-12))) + 1
    return (low or None), (first if first <= n else None)


def signs_p(below: int, at_most: int, n: int, q: float) -> tuple[float, float]:
    """P-values of a q-quantile above 0, and below 0, from the differences below 0 and at most 0. Exact."""
    greater = float(special.bdtr(at_most, n, q))
    less = float(special.bdtrc(below - 1, n, q)) if below else 1.0
    return greater, less
