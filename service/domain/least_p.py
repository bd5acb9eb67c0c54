"""The least p-value a statistical test can reach with the data a plan provides for, and what sets it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from scipy import special

from service.domain.feeding import parameter, takes_clusters
from service.domain.lint_settings import Use
from service.domain.plan import Population
from service.domain.population import ManifestFacts
from service.stats.mcnemar import min_attainable_p

LISTED_UP_TO = 40
"""Units up to which swaps are listed or convolved, never drawn."""

EXACT_WILCOXON, EXACT_MANN_WHITNEY = 50, 100
"""Up to here the rank tests' method `auto` is exact."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much data the plan has for a hypothesis."""

    n: int
    n_clusters: int | None

    def grown(self, by: int) -> Size:
        """The same with more clusters and items."""
        return Size(self.n + by, None if self.n_clusters is None else self.n_clusters + by)


def size_of(population: Population, facts: Mapping[str, ManifestFacts]) -> Size:
    """By the manifest where there is one, else as the plan says."""
    manifest, declared = facts.get(population.id), population.clusters
    return Size(
        manifest.n if manifest else population.n,
        None if declared is None else (manifest.n_clusters if manifest else None) or declared.n,
    )


def least_p(use: Use, size: Size, population: Population | None = None) -> tuple[Fraction, str]:
    """The least p-value with that much data, 0 where none is known, and why."""
    method = parameter(use.use, "method")
    alternative = parameter(use.use, "alternative") or "two-sided"
    sides = 2 if alternative == "two-sided" else 1
    match use.test.name:
        case "mcnemar":
            least = Fraction(min_attainable_p(size.n, method, alternative))  # type: ignore[arg-type]
            return least, _why(size.n, "items", f"McNemar's {method} test", least)
        case "clustered-mcnemar" if method == "sign_flip" and size.n_clusters is not None:
            least = Fraction(sides, 2**size.n_clusters)
            return least, _why(size.n_clusters, "clusters", "sign_flip", least)
        case "randomization":
            return _swaps(use, size, population, sides)
        case "paired-difference":
            return _normal(size.n, math.sqrt(size.n), sides, "items", "the score test")
        case "wilcoxon":
            if method == "exact" or (method == "auto" and size.n <= EXACT_WILCOXON):
                least = min(Fraction(sides, 2**size.n), Fraction(1))
                return least, _why(size.n, "items", "the signed-rank test", least)
            if method != "auto":  # all differences of one size and sign are the furthest out
                return _normal(size.n, math.sqrt(size.n), sides, "items", "the signed-rank test")
        case "mann-whitney":
            return _ranks(size.n, str(method), sides)
    return Fraction(0), ""


def _swaps(use: Use, size: Size, population: Population | None, sides: int) -> tuple[Fraction, str]:
    clustered = population is not None and takes_clusters(use.test, population)
    units = size.n_clusters if clustered else size.n
    exact = parameter(use.use, "convention") == "standard" and units is not None and units <= LISTED_UP_TO
    if not exact or units is None or parameter(use.use, "metric") not in ("mean", "accuracy"):
        return Fraction(0), ""
    least = min(Fraction(sides, 2**units), Fraction(1))
    return least, _why(units, "clusters" if clustered else "items", "swapping arms", least)


def _ranks(n: int, method: str, sides: int) -> tuple[Fraction, str]:
    name = "the rank-sum test"
    if method == "exact" or (method == "auto" and 2 * n <= EXACT_MANN_WHITNEY):
        least = min(Fraction(sides, math.comb(2 * n, n)), Fraction(1))
        return least, _why(n, "items per arm", name, least)
    # furthest out, and least varied by ties: two values, one per arm
    lost = 2 * (n**3 - n) / (2 * n * (2 * n - 1))
    spread = n * n / 12 * (2 * n + 1 - lost)
    return _normal(n, n * n / 2 / math.sqrt(spread), sides, "items per arm", name)


def _normal(count: int, z: float, sides: int, unit: str, name: str) -> tuple[Fraction, str]:
    # a hair below, for the rounding of the test's own arithmetic
    least = Fraction(min(sides * float(special.ndtr(-z)), 1.0) * (1 - 1e-9))
    return least, _why(count, unit, name, least)


def _why(count: int, unit: str, name: str, least: Fraction) -> str:
    return f"with {count} {unit} the least p of {name} is {float(least):.4g}"
