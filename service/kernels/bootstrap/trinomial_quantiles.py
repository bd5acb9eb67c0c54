"""Bootstrap quantiles of many paired binary tables at once, exactly: the curve over all n in one sweep.

S is the difference of two multinomial counts of n items, b of them +1 and c of them -1. On N frequencies
t_j = (j + 1/2) pi / N its distribution function is

    P(S <= k) = 1/2 - 1/(2N) sum over j of Im(phi(t_j)^n exp(-i t_j (k + 1/2))) / sin(t_j / 2),

exactly but for mass further than N from k. Frequencies at which the transform has vanished are left out, so
about 50 are left however large n is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.exact.lattice import QUANTILE_SLACK, TINY_MASS

Floats = NDArray[np.float64]

CELLS = 2**17
"""Tables times frequencies held at a time: 1 MB an array, so that they stay in the cache."""

VANISHED = 45.0
"""Nats below which a transform adds nothing: e^-45 is 3e-20."""

MOST_STEPS = 200
"""Of a search at most. Every eighth halves the bracket, so that 2^25 counts are searched wherever it begins."""


def quantiles(b: Floats, c: Floats, n: Floats, levels: tuple[float, ...]) -> list[Floats]:
    """For each level q the smallest k with P(S <= k) >= q - 1e-12, of tables b, c, n (m,) each.

    Error of a probability below 1e-15 sqrt(n) + 1e-14. Time O(50 m) for large n. Memory O(m + `CELLS`).
    """
    located = [np.empty(len(n)) for _ in levels]
    order = np.argsort(n, kind="stable")
    start = 0
    while start < len(order):
        rows = order[start : start + max(1, CELLS // 64)]
        while True:
            count, used = _frequencies(b[rows], c[rows], n[rows])
            if len(rows) * used <= CELLS or len(rows) == 1:
                break
            rows = rows[: max(1, min(CELLS // used, len(rows) // 2))]
        tables = _Tables(b[rows], c[rows], n[rows], count, used)
        for ends, q in zip(located, levels, strict=True):
            ends[rows] = tables.quantile(q)
        start += len(rows)
    return located


def _frequencies(b: Floats, c: Floats, n: Floats) -> tuple[int, int]:
    """N that keeps all but 1e-16 of every table, and how many of the frequencies have not vanished."""
    # Bernstein with steps up to 2; k stays within the reach of the mean, so twice the reach
    nats = math.log(2 / TINY_MASS)
    variance = float((b + c - (b - c) ** 2 / n).max())
    reach = 2 * nats / 3 + math.sqrt((2 * nats / 3) ** 2 + 2 * variance * nats)
    count = math.ceil(min(2 * reach, 2 * float(n.max()))) + 2
    # |phi|^2 = E cos(t (X - X')) of two draws, at most 1 - P(just one of them is 0) (1 - cos t) with a chance of
    # 2 (b + c)(n - b - c) / n^2; so |phi|^n <= exp(-mixed (1 - cos t)), and beyond 1 - cos t = `far` it has vanished
    mixed = float(((b + c) * (n - b - c) / n).min())
    far = VANISHED / mixed if mixed > 0 else 2.0
    used = count if far >= 2 else min(math.ceil(count * math.acos(1 - far) / math.pi) + 1, count)
    return count, used


class _Tables:
    """Distribution functions of some tables, from their transforms (m, used)."""

    def __init__(self, b: Floats, c: Floats, n: Floats, count: int, used: int) -> None:
        self.n, self.mean = n, b - c
        self.sd = np.sqrt(np.maximum(b + c - self.mean**2 / n, 0.0))
        self.t = (np.arange(used) + 0.5) * (math.pi / count)
        # phi = 1 + (b + c) / n (cos t - 1) + i (b - c) / n sin t; cos t - 1 as -2 sin^2(t / 2), so that |phi|^2 - 1
        # keeps its digits where phi is nearly 1, and the n-th power as n times the logarithm.
        half = np.sin(0.5 * self.t)
        below_one = np.outer((b + c) / n, -2 * half * half)
        odd = np.outer(self.mean / n, np.sin(self.t))
        with np.errstate(divide="ignore"):
            log_size = np.log1p(np.maximum(2 * below_one + below_one**2 + odd * odd, -1.0))
        self.phase = n[:, None] * np.arctan2(odd, 1 + below_one)
        self.weight = np.exp(0.5 * n[:, None] * log_size) / (2 * count * half)

    def at_most(self, rows: NDArray[np.int64], k: Floats) -> Floats:
        """Return P(S <= k) of some rows."""
        turned = self.phase[rows] - np.outer(k + 0.5, self.t)
        return np.asarray(0.5 - np.einsum("ij,ij->i", self.weight[rows], np.sin(turned)))

    def quantile(self, q: float) -> Floats:
        """Return the smallest k that reaches q: brackets of integers, entered at a normal quantile."""
        z, enough = float(special.ndtri(q)), q - QUANTILE_SLACK
        low, high = -self.n - 1, self.n.copy()
        rows = np.flatnonzero(self.sd > 0)
        high[self.sd == 0] = self.mean[self.sd == 0]
        k = np.clip(np.ceil(self.mean + z * self.sd - 0.5), low + 1, high)[rows]
        slope = math.sqrt(2 * math.pi) * math.exp(z * z / 2) * self.sd
        for step in range(MOST_STEPS):
            if len(rows) == 0:
                break
            value = self.at_most(rows, k)
            reached = value >= enough
            high[rows] = np.where(reached, k, high[rows])
            low[rows] = np.where(reached, low[rows], k)
            guess = k + np.rint((q - value) * slope[rows])
            # the neighbour decides when the guess stays, and a bracket that is missed is halved
            guess = np.where(guess == k, k + np.where(reached, -1, 1), guess)
            missed = (guess <= low[rows]) | (guess >= high[rows]) | (step % 8 == 7)
            edge = np.where(reached, high[rows] - 1, low[rows] + 1)
            halved = np.floor((low[rows] + high[rows]) / 2)
            guess = np.where(missed, np.where(step < 4, edge, halved), guess)
            going = high[rows] - low[rows] > 1
            rows, k = rows[going], guess[going]
        return high
