"""Intervals and p-values read off a bootstrap distribution: percentile, basic and BCa."""

from __future__ import annotations

import math
from typing import Literal

from scipy import special

from service.kernels.numeric.distributions import BootstrapDistribution

Method = Literal["percentile", "basic", "bca"]


def bca_level(q: float, z0: float, a: float) -> float | None:
    """Return the percentile that BCa reads for a nominal q; None where the correction has no meaning."""
    # Phi(z0 + (z0 + z_q) / (1 - a (z0 + z_q))), Efron (1987), JASA 82:171; beyond the pole it turns around.
    w = z0 + float(special.ndtri(q))
    return float(special.ndtr(z0 + w / (1 - a * w))) if 1 - a * w > 0 else None


def bca_tail(p: float, z0: float, a: float) -> float:
    """Return the nominal q whose BCa percentile is p: the inverse of `bca_level`.

    0 or 1 where no nominal level reads that far out.
    """
    # y = w / (1 - a w) solved for w, which is z0 + z_q.
    y = float(special.ndtri(p)) - z0
    if not math.isfinite(y) or 1 + a * y <= 0:
        return 0.0 if y < 0 else 1.0
    return float(special.ndtr(y / (1 + a * y) - z0))


def interval(
    distribution: BootstrapDistribution,
    estimate: float,
    level: float,
    method: Method,
    constants: tuple[float, float] | None,
) -> tuple[float, float] | None:
    """Percentile, basic (2 estimate - q) or BCa interval; None where BCa has no meaning."""
    low_q, high_q = (1 - level) / 2, (1 + level) / 2
    if method == "bca":
        levels = [bca_level(q, *constants) for q in (low_q, high_q)] if constants else [None]
        if None in levels:
            return None
        low_q, high_q = (q for q in levels if q is not None)
    low, high = distribution.quantile(low_q), distribution.quantile(high_q)
    return (2 * estimate - high, 2 * estimate - low) if method == "basic" else (low, high)


def tails(
    distribution: BootstrapDistribution,
    estimate: float,
    method: Method,
    constants: tuple[float, float] | None,
) -> tuple[float, float] | None:
    """Return the one-sided p-values against an effect of 0 by inverting the interval: (candidate better, worse)."""
    if method == "basic":
        return distribution.at_least(2 * estimate), distribution.at_most(2 * estimate)
    up, down = distribution.at_most(0.0), distribution.at_least(0.0)
    if method == "bca":
        if constants is None:
            return None
        return bca_tail(up, *constants), 1 - bca_tail(1 - down, *constants)
    return up, down
