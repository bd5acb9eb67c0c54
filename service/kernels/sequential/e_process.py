"""E-processes: evidence that may be read after every item without losing its level."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]


def log_e(only_candidate: Floats, only_baseline: Floats) -> Floats:
    """Log of the Krichevsky-Trofimov mixture against a fair coin; counts of equal shape, elementwise.

    The alternative's share is mixed over Beta(1/2, 1/2): e = B(b + 1/2, c + 1/2) / B(1/2, 1/2) * 2^m.
    Source: Krichevsky & Trofimov (1981), IEEE Trans Inf Theory 27:199.
    """
    b, c = np.asarray(only_candidate, dtype=np.float64), np.asarray(only_baseline, dtype=np.float64)
    value = special.betaln(b + 0.5, c + 0.5) - math.log(math.pi) + (b + c) * math.log(2)
    return np.where(b + c == 0, 0.0, value)


def running_counts(difference: Floats) -> tuple[Floats, Floats]:
    """Candidate wins and baseline wins among the first 1, 2, .. n differences, each (n,)."""
    return np.cumsum(difference > 0).astype(np.float64), np.cumsum(difference < 0).astype(np.float64)


def betting_log_e(sums: Floats, bets: Floats, alternative: str) -> Floats:
    """Log e-process (G,) against a mean of zero, by betting `bets` (G,) on `sums` (G,) in [-1, 1].

    `two-sided` splits the stake between both directions. `bets` must not look ahead.
    """
    stakes = np.minimum(bets, 1.0) / 2
    up, down = np.cumsum(np.log1p(stakes * sums)), np.cumsum(np.log1p(-stakes * sums))
    if alternative == "greater":
        return up
    return down if alternative == "less" else np.logaddexp(up, down) - math.log(2)
