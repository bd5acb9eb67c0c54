"""Characteristic functions of sums of many small steps, from the steps' moments instead of sines.

At the frequencies of an inversion a step times the frequency is small, so exp(i t x) is its Taylor
series and the mean over all steps follows from a few dozen power sums: O(30 n) multiplications, where
sines and cosines would cost O(60 n) calls. Steps too large for the series are added by sines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

EXPONENT = 6.0
"""Largest |t x| that the series of exp takes: its terms stay below 65, so 1e-14 of a step is lost."""

COSINE = 1.0
"""Largest |t x| that the series of log cos takes, two thirds of its radius of convergence."""

SMALL = 1e-14
"""The first term left out, summed over all steps."""

PART = 2**13
"""Steps whose powers are held at a time: 64 KB each."""

CELLS = 2**20
"""Angles held at a time: 8 MB."""

MOST_TERMS = 96
"""Of a series; with arguments up to `EXPONENT` and `COSINE` fewer are enough."""


def frequencies(length: int, last: float) -> Floats:
    """Return the midpoints of `length` equal cells from 0 to `last`."""
    return np.asarray((np.arange(length) + 0.5) * (last / length), dtype=np.float64)


def power_of_mean(steps: Floats, last: float, length: int) -> Complexes:
    """Return the n-th power of the mean of exp(i t x) over `steps` (n,), at `frequencies(length, last)`.

    The steps' squares must add up to 1. Error below 1e-12. Memory O(n + `PART` + `CELLS`).
    """
    n = len(steps)
    near, far, widest = _apart(steps, EXPONENT / last)
    # the squares of all t x add up to last^2, so term k adds at most last^2 widest^(k - 2) / k!
    terms = _terms(lambda k: (k - 2) * math.log(widest * last) - math.lgamma(k + 1), last)
    sums = power_sums(near * last, terms) * _exponential(terms)
    even, uneven = _powers(length)
    below_one = sums[2::2] @ even[1 : terms // 2 + 1]
    odd = sums[1::2] @ uneven[: terms // 2]
    if len(far):
        more, other = _by_sines(far, frequencies(length, last))
        below_one, odd = below_one + more, odd + other
    below_one, odd = below_one / n, odd / n
    log_size = 0.5 * n * np.log1p(np.maximum(2 * below_one + below_one**2 + odd**2, -1 + 1e-300))
    return np.asarray(np.exp(log_size + 1j * (n * np.arctan2(odd, 1 + below_one))))


def product_of_cosines(steps: Floats, last: float, length: int) -> Floats:
    """Return the product of cos(t x) over `steps` (n,), at `frequencies(length, last)`; as `power_of_mean`."""
    near, far, widest = _apart(steps, COSINE / last)
    terms = _terms(lambda k: (k - 2) * math.log(widest * last) + k * math.log(2 / math.pi), last) // 2
    squares = (near * last) ** 2
    sums = power_sums(squares, terms)[1:] * _log_cosine(terms)
    product = np.exp(-(sums @ _powers(length)[0][1 : terms + 1]))
    t = frequencies(length, last)
    for part in parts(far, length):
        product *= np.cos(np.outer(t, part)).prod(axis=1)
    return np.asarray(product)


def power_sums(values: Floats, terms: int) -> Floats:
    """Return the sums of the powers 0 .. `terms` of `values` (n,): a few powers times powers of the next."""
    width = math.isqrt(terms) + 1
    sums = np.zeros((width, width))
    for start in range(0, len(values), PART):
        part = values[start : start + PART]
        low = np.ones((width, len(part)))
        for j in range(1, width):
            np.multiply(low[j - 1], part, out=low[j])
        step, high = low[-1] * part, low[0]
        for row in sums:
            row += low @ high
            high = high * step
    return sums.ravel()[: terms + 1]


def parts(steps: Floats, width: int) -> list[Floats]:
    """Return the steps in pieces that keep an outer product with `width` frequencies within `CELLS`."""
    size = max(1, CELLS // width)
    return [steps[start : start + size] for start in range(0, len(steps), size)]


def _apart(steps: Floats, largest: float) -> tuple[Floats, Floats, float]:
    """Steps the series takes, the rest, and the size of the largest it takes."""
    widest = max(float(steps.max()), -float(steps.min()), 1e-300)
    if widest <= largest:
        return steps, steps[:0], widest
    near = np.abs(steps) <= largest
    return steps[near], steps[~near], largest


def _terms(log_bound: Callable[[int], float], last: float) -> int:
    """Return the even number of terms after which the rest of the series is below `SMALL`."""
    enough = math.log(SMALL) - 2 * math.log(last)
    return next((k for k in range(4, MOST_TERMS, 2) if log_bound(k + 1) < enough), MOST_TERMS)


def _by_sines(steps: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Sums of cos(t x) - 1 and of sin(t x) over the steps."""
    below_one, odd = np.zeros(len(t)), np.zeros(len(t))
    for part in parts(steps, len(t)):
        angles = np.outer(t, part)
        half = np.sin(0.5 * angles)
        below_one -= 2 * (half * half).sum(axis=1)
        odd += np.sin(angles).sum(axis=1)
    return below_one, odd


@lru_cache(maxsize=8)  # a length comes from the data
def _powers(length: int) -> tuple[Floats, Floats]:
    """Row k: the powers 2k, and 2k + 1, of the frequencies over the last one."""
    powers = frequencies(length, 1.0) ** np.arange(MOST_TERMS + 1)[:, None]
    return np.ascontiguousarray(powers[::2]), np.ascontiguousarray(powers[1::2])


@cache
def _log_cosine(terms: int) -> Floats:
    """Return the coefficients of u^2, u^4, .. in -log cos u: (4^k - 1) zeta(2k) / (k pi^2k)."""
    k = np.arange(1, terms + 1)
    return np.asarray((1 - 0.25**k) * special.zeta(2.0 * k) / k * (2 / math.pi) ** (2 * k))


@cache
def _exponential(terms: int) -> Floats:
    """Return the coefficients of 1, iu, u^2, iu^3, .. in exp(iu): +-1 / k!."""
    k = np.arange(terms + 1)
    return np.asarray(np.where(k % 4 < 2, 1.0, -1.0) / special.factorial(k))
