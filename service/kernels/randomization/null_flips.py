"""How often a test rejects when the arms of the caller's own items or clusters are swapped at random."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.exact import lattice
from service.kernels.numeric import ranks
from service.kernels.numeric.streams import BLOCK, generator, octets
from service.kernels.randomization.sign_flip import every_signed_sum, sign_flip

Floats = NDArray[np.float64]

FLIPS_LISTED = 20
"""Weights off any lattice whose 2^20 signed sums are listed, 8 MB."""

CHUNK = 512
"""Weights flipped at a time, eight per byte: their tables fit the cache. Part of the version."""

CRITICAL_BLOCKS = range(2**31, 2**31 + 80)
"""Draws of a critical value, apart from those of the rate."""

RATE_ROUNDING = 1e-12
"""What a convolved rate may be wrong by, relative to it."""


@dataclass(frozen=True, slots=True)
class Rejections:
    """Share of splits or flips that reject; how many were looked at (None: convolved) and how many of
    them leave the test undefined."""

    rate: float
    n_looked_at: int | None
    n_undefined: int
    enumerated: bool


def exact_flips(weights: Floats, critical: float) -> Rejections | None:
    """Return the rejections without drawing; None where that is not possible."""
    law = _flip_law(weights)
    return None if law is None else Rejections(law.rate(critical), law.n_listed, 0, True)


def rate_drawn_flips(weights: Floats, critical: float, sums: Floats) -> Rejections:
    """Return the rejections among drawn sums of +-weights."""
    return Rejections(_share(weights, sums, critical), sums.size, 0, False)


def flip_sums(weights: Floats, seed: int, blocks: range) -> Floats:
    """Return the sum of +-weights in every replicate of these blocks, each sign a fair coin.

    The 256 sums of eight weights stand in a table that a random byte points into.
    """
    weights = weights[weights != 0]
    generators = [generator(seed, block) for block in blocks]
    sums = np.zeros((len(blocks), BLOCK))
    signs = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
    for start in range(0, weights.size, CHUNK):
        some = weights[start : start + CHUNK]
        eights = np.append(some, np.zeros(-some.size % 8)).reshape(-1, 8)
        tables = (eights @ signs.T).ravel()
        offset = 256 * np.arange(len(eights), dtype=np.intp)
        for rng, row in zip(generators, sums, strict=True):
            row += tables.take(octets(rng, BLOCK * len(eights)).reshape(BLOCK, -1) + offset).sum(axis=1)
    return sums.ravel()


@dataclass(frozen=True, slots=True)
class _FlipLaw:
    """P(|sum| >= critical) as a function; `n_listed` patterns, None when convolved."""

    rate: Callable[[float], float]
    n_listed: int | None


def _flip_law(weights: Floats) -> _FlipLaw | None:
    """Without drawing: on a lattice, or of few weights."""
    weights = weights[weights != 0]
    if not weights.size:
        return _FlipLaw(lambda critical: float(critical <= 0), None)
    grid = lattice.integer_grid(weights)
    if grid is not None:
        multiples, unit = grid
        groups = lattice.sign_groups(multiples)
        with contextlib.suppress(lattice.WindowTooLong):
            near = lattice.distribution(groups)

            def convolve(critical: float) -> float:
                least = math.ceil(critical / unit - 1e-7)
                return 1.0 if least <= 0 else min(1.0, 2 * lattice.at_least(groups, near, least))

            return _FlipLaw(convolve, None)
    if weights.size > FLIPS_LISTED:
        return None
    sums = every_signed_sum(weights)
    return _FlipLaw(lambda critical: _share(weights, sums, critical), sums.size)


def _share(weights: Floats, sums: Floats, critical: float) -> float:
    """Share of sums at least as far from 0 as the critical value, but for rounding."""
    return float(np.mean(np.abs(sums) >= critical - 1e-10 * float(np.abs(weights).sum())))


def paired_t_critical(difference: Floats, alpha: float) -> float | None:
    """Return the least |sum of differences| at which the paired t-test rejects; flips leave the squares alone."""
    n, squares = difference.size, float(difference @ difference)
    if n < 2 or squares == 0:
        return None
    # t^2 = (n - 1) S^2 / (n Q - S^2) with the sum S and the squares Q, solved for S
    t2 = float(special.stdtrit(n - 1, 1 - alpha / 2)) ** 2
    return math.sqrt(t2 * n * squares / (n - 1 + t2))


def sign_flip_critical(sums: Floats, alpha: float) -> float | None:
    """Return the least |sum| at which the sign-flip test on these clusters rejects; None when none does.

    Found by bisection over the two-sided tails of the flips, which are drawn where nothing exact is at hand.
    """
    sizes = np.abs(sums[sums != 0])
    # A convolved rate that is the level itself may fall short of it by its rounding; the test, which counts, does
    # not reject there.
    below = alpha * (1 - RATE_ROUNDING)
    if not sizes.size or sign_flip(sizes).two_sided >= below:
        return None
    law = _flip_law(sizes)
    if law is None:
        drawn = flip_sums(sizes, 0, CRITICAL_BLOCKS)
        law = _FlipLaw(lambda critical: _share(sizes, drawn, critical), None)
    low, high = 0.0, float(sizes.sum())  # low is not rejected, high is
    while high - low > 1e-9 * sizes.sum():
        middle = (low + high) / 2
        low, high = (low, middle) if law.rate(middle) < below else (middle, high)
    return high


def wilcoxon_critical(signed: Floats, alpha: float) -> float | None:
    """Return the least |w_plus - w_minus| at which the item-level signed-rank test rejects.

    `signed` (n,): midranks of the non-zero differences with their signs; exact up to 50, else normal.
    """
    rank = np.abs(signed)
    if not rank.size:
        return None
    if rank.size > 50:
        return float(special.ndtri(1 - alpha / 2)) * math.sqrt(float(rank @ rank))
    doubled = np.rint(2 * rank).astype(np.int64)
    upper = np.cumsum(ranks.sign_sums(doubled)[::-1])[::-1]  # P(doubled w_plus >= s)
    rejecting = np.flatnonzero(2 * upper < alpha)
    # doubled w_plus - doubled w_minus = 2 s - total, halved back to ranks
    return (2 * float(rejecting[0]) - float(doubled.sum())) / 2 if rejecting.size else None
