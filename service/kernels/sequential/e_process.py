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
    # B(1/2, 1/2) is pi.
    value = special.betaln(b + 0.5, c + 0.5) - math.log(math.pi) + (b + c) * math.log(2)
    return np.where(b + c == 0, 0.0, value)


def running_counts(difference: Floats) -> tuple[Floats, Floats]:
    """Return the candidate wins and baseline wins among the first 1, 2, .. n differences, each (n,)."""
    return np.cumsum(difference > 0).astype(np.float64), np.cumsum(difference < 0).astype(np.float64)


def betting_log_e(sums: Floats, bets: Floats, alternative: str) -> Floats:
    """Log e-process (G,) against a mean of zero, by betting `bets` (G,) on `sums` (G,) in [-1, 1].

    `two-sided` splits the stake between both directions. `bets` must not look ahead.
    """
    up, down = both_bets(sums, bets)
    if alternative == "greater":
        return up
    return down if alternative == "less" else np.logaddexp(up, down) - math.log(2)


def both_bets(sums: Floats, bets: Floats) -> tuple[Floats, Floats]:
    """Log winnings (G,) of betting on the candidate, and of the same bets on the baseline."""
    # At most half of the wealth is staked on sums within [-1, 1], so that no loss takes more than that half.
    stakes = np.minimum(bets, 1.0) / 2
    return np.cumsum(np.log1p(stakes * sums)), np.cumsum(np.log1p(-stakes * sums))


def winner(path: Floats, lead: Floats, threshold: float) -> int:
    """Say for whom the largest of log e-values (n,) speaks: 1 the candidate, -1 the baseline, 0 neither of them.

    `lead` (n,): above 0 where the evidence of that moment is for the candidate, below 0 where it is for the baseline.
    Neither where nothing speaks against H0, or where either has passed the threshold at some time.
    """
    ahead, behind = (float(np.max(path, where=side > 0, initial=0.0)) for side in (lead, -lead))
    if ahead == behind or min(ahead, behind) >= threshold:
        return 0
    return 1 if ahead > behind else -1
