"""What every bootstrap distribution answers, however it was obtained."""

from __future__ import annotations

from typing import Protocol


class BootstrapDistribution(Protocol):
    """The distribution of an estimate over resamples: weighed exactly, or drawn."""

    @property
    def route(self) -> str:
        """How the distribution was obtained: listed, from a lattice, by inversion, or drawn."""

    @property
    def error(self) -> float | None:
        """Absolute error of a probability; None when drawn."""

    def at_most(self, r: float, *, strict: bool = False) -> float:
        """Return P(estimate* <= r), or < r."""

    def at_least(self, r: float, *, strict: bool = False) -> float:
        """Return P(estimate* >= r), or > r."""

    def quantile(self, q: float) -> float:
        """Return the q-quantile of the estimate over resamples."""

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation of the estimate over resamples."""
