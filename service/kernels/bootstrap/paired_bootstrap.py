"""The bootstrap distribution of a paired binary difference, exactly."""

from __future__ import annotations

import math

from service.kernels.exact import lattice

ATOM, ROUNDING = 1e-9, 1e-14
"""k differs from r n by less than `ATOM + ROUNDING n`: r means k/n."""


class BinaryPairs:
    """n delta* = difference of two multinomial counts, from the discordant counts of n items.

    Time O(sqrt n log n). Tails keep their relative accuracy however small; 0 means impossible.
    """

    route = "fft"

    def __init__(self, only_candidate: int, only_baseline: int, n: int) -> None:
        """Counts of the items that one arm alone answers correctly, of n."""
        self.n = n
        self.groups = lattice.trinomial(only_candidate, only_baseline, n)
        self.near = lattice.distribution(self.groups)
        self._slack = ATOM + ROUNDING * n
        # A resampled difference is +1, -1 or 0: its square is 1 on discordant items, and the mean of n of them has a
        # variance n times smaller.
        delta = (only_candidate - only_baseline) / n
        variance = (only_candidate + only_baseline) / n - delta * delta
        self._moments = delta, math.sqrt(max(variance, 0.0) / n)

    @property
    def error(self) -> float:
        """Absolute error of a probability."""
        return self.near.error

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Return P(delta* <= r), or P(delta* < r)."""
        k = math.ceil(r * self.n - self._slack) - 1 if strict else math.floor(r * self.n + self._slack)
        return lattice.at_most(self.groups, self.near, k)

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Return P(delta* >= r), or P(delta* > r)."""
        k = math.floor(r * self.n + self._slack) + 1 if strict else math.ceil(r * self.n - self._slack)
        return lattice.at_least(self.groups, self.near, k)

    def quantile(self, q: float) -> float:
        """Return the smallest k/n with P(delta* <= k/n) >= q - 1e-12."""
        return self.near.quantile(q) / self.n

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation of delta*."""
        return self._moments
