"""Power, detectable differences and needed sizes: pairs by enumeration, means and clusters by the noncentral t."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from service.domain.resolution.records import PowerAgainst, Reach
from service.kernels.numeric.clusters import ClusterSums, robust_errors
from service.kernels.numeric.roots import rising_root
from service.kernels.planning.power import detectable_nc, mcnemar_power, smallest_n, t_power

MOST = 10_000_000
EXACT_UP_TO = 20_000
"""Items up to which the fourfold table is enumerated; above, the normal law is as good."""
Floats = NDArray[np.float64]


def of_pairs(n: int, discordance: float, effects: Sequence[float], alpha: float, least_p: float) -> Reach:
    """Return what items that are right or wrong show: McNemar over all tables with that share of discordant items.

    Above `EXACT_UP_TO` items by the normal law. `method` tells which it is at n; what is needed may lie above.
    """

    def power(size: int, effect: float) -> float:
        effect = min(effect, 1.0)
        share = max(discordance, effect)  # a difference takes that many discordant items
        if size > EXACT_UP_TO:
            return t_power(
                effect * math.sqrt(size / max(share - effect**2, 1e-12)), size - 1, alpha, "two-sided"
            )
        return mcnemar_power(size, (share - effect) / 2, (share + effect) / 2, alpha, "exact", "two-sided")

    return Reach(
        unit="items",
        units=n,
        method="exact McNemar, by enumeration" if n <= EXACT_UP_TO else "McNemar, normal approximation",
        detectable_80=_detectable(lambda effect: power(n, effect), 0.8),
        detectable_90=_detectable(lambda effect: power(n, effect), 0.9),
        least_p=least_p,
        power=tuple(
            PowerAgainst(effect=effect, power=power(n, effect), needed=_find_needed(effect, power, _ripple))
            for effect in effects
        ),
    )


def of_items(n: int, sd: float, effects: Sequence[float], alpha: float) -> Reach:
    """Return what items with scores can show, by the paired t."""
    return _compute_reach_of_t(
        "items",
        n,
        n - 1.0,
        sd / math.sqrt(n),
        lambda size: size - 1.0,
        effects,
        alpha,
        "paired t, noncentral",
    )


def of_clusters(sizes: Floats, sd: float, icc: float, effects: Sequence[float], alpha: float) -> Reach:
    """Return the reach of clusters of these sizes: CR2's degrees of freedom, and the error that the ICC gives.

    Var(delta) = sd^2 sum n_g (1 + (n_g - 1) icc) / N^2; more clusters are of the same sizes.
    """
    n, g = float(sizes.sum()), len(sizes)
    se = sd * math.sqrt(float((sizes * (1 + (sizes - 1) * icc)).sum())) / n
    df = degrees_of_freedom(sizes)
    share = df / (g - 1)
    return _compute_reach_of_t(
        "clusters", g, df, se, lambda size: share * (size - 1), effects, alpha, "CR2, noncentral t"
    )


def degrees_of_freedom(sizes: Floats) -> float:
    """Return Satterthwaite's degrees of freedom of CR2, which follow from the sizes (G,) alone."""
    return robust_errors(ClusterSums(np.linspace(-1.0, 1.0, len(sizes)) * sizes, sizes))["cr2"].df


def _compute_reach_of_t(
    unit: str, units: int, df: float, se: float, df_of: Callable[[int], float], effects: Sequence[float],
    alpha: float, method: str,
) -> Reach:  # fmt: skip
    """Compute what a paired t test of `units` units detects, with standard error `se` and `df_of` more units."""
    spread = se * math.sqrt(units)

    def power(size: int, effect: float) -> float:
        return (
            t_power(effect * math.sqrt(size) / spread, max(df_of(size), 1e-6), alpha, "two-sided")
            if spread
            else 1.0
        )

    return Reach.model_validate(
        {
            "unit": unit,
            "units": units,
            "method": method,
            "detectable_80": se * detectable_nc(df, alpha, "two-sided", 0.8),
            "detectable_90": se * detectable_nc(df, alpha, "two-sided", 0.9),
            "least_p": 2.0 ** (1 - min(units, 1000)),
            "power": tuple(
                PowerAgainst(effect=effect, power=1.0 if not se else t_power(effect / se, df, alpha, "two-sided"),
                             needed=_find_needed(effect, power, lambda _size: 0))
                for effect in effects
            ),
        }
    )  # fmt: skip


def _ripple(size: int) -> int:
    """Return how far above the crossing exact power may fall below the target again."""
    return min(int(3 * math.sqrt(size)) + 20, 500)


def _find_needed(
    effect: float, power: Callable[[int, float], float], ripple: Callable[[int], int]
) -> int | None:
    total, _ = smallest_n(lambda size: power(size, effect), 0.8, 2, MOST, ripple)
    return total


def _detectable(power: Callable[[float], float], target: float) -> float | None:
    """Return the smallest difference with that power; None where the largest possible has less."""
    if power(1.0) < target:
        return None
    return rising_root(lambda effect: power(effect) - target, 0.0, 1.0, 1e-6)
