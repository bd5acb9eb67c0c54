"""What a test that a plan names says of n independent binary pairs, cell by cell.

A cell is (m discordant items, b of them won by the candidate). A test whose fields the discordant counts
decide declares them as lines over the cells (`PlanUse.cells`); what such declarations share is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from service.kernels.pairs import tango
from service.kernels.planning.rule_enumeration import Floats, Ints
from service.stats.shared.declaring.cell_lines import (
    Asker,
    EndLines,
    Line,
    Pattern,
    count_line,
    end_line,
    value_line,
)
from service.stats.shared.declaring.shows import TIE, Path

MEANS = ("mean", "accuracy")
"""Metrics whose difference on binary pairs is that of the discordant counts."""


class Cells(ABC):
    """A test with its parameters on n independent binary pairs."""

    n: int

    @abstractmethod
    def parameter(self, name: str) -> Any:
        """Return a parameter as the test will see it; None when it has none of that name."""

    @property
    @abstractmethod
    def margin_limit(self) -> Fraction | None:
        """The margin of an equivalence test, a proportion; None where the plan has none."""

    @property
    def margin(self) -> float | None:
        """The margin as the test computes with it."""
        limit = self.margin_limit
        return None if limit is None else float(limit)

    @abstractmethod
    def asker(self, path: Path) -> Asker:
        """Return what the test itself answers for a cell; nothing where it gives a bound above the threshold."""

    def value_line(
        self, path: Path, value: Callable[[Ints, Ints], Floats], pattern: Pattern, **how: Any
    ) -> Line:
        """Return a float field of this test."""
        return value_line(value, pattern, self.asker(path), **how)

    def interval(self, path: Path, method: str) -> Line | EndLines | None:
        """Return an interval of the difference by name, or one end of it."""
        end = path[-1] if path[-1] in ("low", "high") else None
        whole = path[:-1] if end else path
        makers = {"tango": self.tango, "wald": self.wald}
        if method not in makers:
            return None
        ends = makers[method](whole, self.parameter("level"))
        return ends if end is None else getattr(ends, end)

    def tango(self, path: Path, level: float) -> EndLines:
        """Return the score interval: an end lies above x just when the score at x is beyond the quantile."""
        z, n = float(special.ndtri(0.5 + level / 2)), self.n

        def score(b: Ints, m: Ints, x: float) -> Floats:
            if abs(x) > 1:
                return np.full(len(b), -np.inf if x > 0 else np.inf)
            return tango.scores(b, m - b, n, x)

        return EndLines(
            end_line(score, z, self.asker((*path, "low")), slack=1e-7),
            end_line(score, -z, self.asker((*path, "high")), slack=1e-7),
        )

    def wald(self, path: Path, level: float) -> EndLines:
        """Return Wald's interval; undecided where it is a single point."""
        z, n = float(special.ndtri(0.5 + level / 2)), self.n

        def end(side: int) -> Callable[[Ints, Ints], Floats]:
            def of(b: Ints, m: Ints) -> Floats:
                delta = (2 * b - m) / n
                half = z * np.sqrt(np.maximum(m / n - delta**2, 0.0) / n)
                end = np.clip(delta + side * half, -1.0, 1.0)
                return np.where((m == 0) | (np.abs(2 * b - m) == n), np.nan, end)

            return of

        return EndLines(
            self.value_line((*path, "low"), end(-1), "any", tie=TIE, relative=0),
            self.value_line((*path, "high"), end(1), "any", tie=TIE, relative=0),
        )

    def common(self, path: Path) -> Line | None:
        """Return the fields that mean the same in every test: the difference and the counts."""
        if path == ("delta",):
            return self.value_line(path, lambda b, m: (2 * b - m) / self.n, "rising", tie=TIE, relative=0)
        if path in (("n_discordant",), ("n_swappable",)):
            return count_line(lambda _b, m: m, "row")
        if path == ("n",):
            return count_line(lambda _b, m: np.full_like(m, self.n), "row")
        if path == ("counts", "only_candidate"):
            return count_line(lambda b, _m: b, "rising")
        if path == ("counts", "only_baseline"):
            return count_line(lambda b, m: m - b, "falling")
        return None


CellFields = Callable[[Cells, Path], Line | EndLines | None]
"""A field as a line over the cells; None for one that `common` has, or that the counts do not decide."""


def whole_interval(path: Path) -> Path:
    """Return the path of the interval that a path names, or names an end of."""
    return path[:-1] if path[-1] in ("low", "high") else path


def sides_pattern(alternative: str) -> Pattern:
    """Return how a p-value moves along a row."""
    patterns: dict[str, Pattern] = {"greater": "falling", "less": "rising", "two-sided": "peak"}
    return patterns[alternative]
