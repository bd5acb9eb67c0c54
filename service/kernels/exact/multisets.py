"""Every way to draw n times from a few kinds of things, with its probability and what the draws add up to.

n draws from K kinds make C(n + K - 1, n) multisets. Equal items are one kind: 14 clusters of four kinds have
680 multisets where 14 different ones have twenty million.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

MOST = math.comb(23, 12)
"""Multisets that are listed: those of 12 different items. 100 MB, a third of a second."""

MOST_DRAWS = 1642
"""With more, three kinds have too many multisets; two kinds are evenly spaced, for which there are transforms."""


def kinds(rows: Floats) -> tuple[Floats, NDArray[np.int64]] | None:
    """Return the different rows (K, width) of rows (n, width) and how many there are of each; None above `MOST`."""
    n = len(rows)
    # there are as many kinds as different entries of a column, at least
    if n > MOST_DRAWS or number(len(np.unique(rows[:, -1])), n) > MOST:
        return None
    different, copies = np.unique(rows, axis=0, return_counts=True)
    return (different, copies) if number(len(copies), n) <= MOST else None


def number(n_kinds: int, draws: int) -> int:
    """Return multisets of so many draws."""
    return math.comb(draws + n_kinds - 1, draws)


def error_of(draws: int) -> float:
    """Return the absolute error of a probability: logarithms of factorials, rounded."""
    return 1e-13 + 1e-15 * float(special.gammaln(draws + 1))


def totals(rows: Floats, copies: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Column sums (M, width) over every multiset of n draws, n the sum of `copies` (K,), and probabilities (M,)."""
    n = int(copies.sum())
    log_shares, log_factorials = np.log(copies / n), special.gammaln(np.arange(n + 1) + 1.0)
    left, sums, log_p = np.array([n]), np.zeros((1, rows.shape[1])), np.full(1, log_factorials[n])
    for kind, (row, log_share) in enumerate(zip(rows, log_shares, strict=True)):
        if kind == len(rows) - 1:  # the last takes what is left
            count = left
        else:
            times = left + 1
            count = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            left = np.repeat(left, times) - count
            sums, log_p = np.repeat(sums, times, axis=0), np.repeat(log_p, times)
        sums += count[:, None] * row
        log_p += count * log_share - log_factorials[count]
    probabilities = np.exp(log_p)
    return sums, probabilities / probabilities.sum()
