"""Whether a difference changes its sign between slices: the likelihood-ratio test of Gail & Simon.

H0: all true differences are at least 0, or all are at most 0. With Q+ the sum of (d / se)^2 over slices with a
difference above 0 and Q- over those below, the statistic is the smaller of both: large only where slices speak clearly
for both arms. Its null distribution is least favourable where one difference is infinite and the others are 0: a
mixture of chi-squares with binomial weights over the other slices.

Source: Gail & Simon (1985), Biometrics 41:361, eq. 3 and table 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

LEAST = 2
"""The fewest slices in which an effect can turn its sign."""


@dataclass(frozen=True, slots=True)
class Reversal:
    """The two sums of squared standardized differences, and the p-value of their minimum."""

    above: float
    below: float
    p: float


def of_sides(above: Sequence[float] | Floats, below: Sequence[float] | Floats) -> Reversal:
    """Return the test from two standardized differences or more, split by sign: max(z, 0) and max(-z, 0), (k,) each.

    The level holds where, of slices without a difference, none of them exceeds the positive part of a normal one.
    Where all differences have one sign the statistic is 0 and p is 1. The published 5 % points of 2, 3 and 4 slices
    are 2.71, 4.23 and 5.43.
    """
    up, down = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    sums = float(up @ up), float(down @ down)
    return Reversal(*sums, mixture_tail(min(sums), len(up)))


def mixture_tail(statistic: float, slices: int) -> float:
    """Return P(statistic or more): sum over h of Binomial(h; slices - 1, 1/2) P(chi-square with h df >= statistic)."""
    if statistic <= 0:
        return 1.0
    # eq. 3: h of the other slices lie on the side that counts. By logarithms: coefficients of a thousand overflow.
    h = np.arange(1.0, slices)
    log_weights = (
        special.gammaln(slices)
        - special.gammaln(h + 1)
        - special.gammaln(slices - h)
        - (slices - 1) * np.log(2)
    )
    return float(np.exp(log_weights) @ special.chdtrc(h, statistic))
