"""What power asks of the equivalence test: its fields on cells of binary pairs, and on simulated data sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.pairs import tango
from service.kernels.pairs.paired_exact import SPARSE, exact_p_below
from service.kernels.planning import simulated_pairs as kernel
from service.kernels.planning.rule_enumeration import Floats, Ints
from service.stats.equivalence.margins import find_least_known
from service.stats.shared.declaring.cell_lines import (
    ABOVE,
    BELOW,
    UNDEFINED,
    EndLines,
    Levels,
    Line,
    Pattern,
    Sides,
    value_line,
)
from service.stats.shared.declaring.cells import Cells
from service.stats.shared.declaring.shows import TIE, Parameter, Path
from service.stats.shared.declaring.simulated import Effort, FieldRequest, Simulated, Units, Value
from service.stats.shared.methods.bounded_in_plans import ERROR, BoundedLines, BoundedSets, bound_sets
from service.stats.shared.methods.cell_bootstrap import BootstrapLines

METHODS = ("tango", "bootstrap_ci", "bounded")
CLOSE, SHORT = 1e-8, 0.8
"""A p-value nearer to a threshold is asked of the test; how far a coarse exact p can fall short of itself."""

P_PATTERNS: dict[str, Pattern] = {"p_upper": "rising", "p_lower": "falling", "p_value": "valley"}
TRUTH_PATTERNS: dict[str, Pattern] = {
    "equivalent": "peak",
    "noninferior": "rising",
    "superior": "rising",
    "minimum_effect": "rising",
}


@dataclass(frozen=True)
class EquivalenceLines:
    """The equivalence test by score tests or by the bootstrap."""

    test: Cells

    def line_of(self, path: Path) -> Line | EndLines | None:
        """Return a field; None for a form that is not worked out here."""
        test = self.test
        if test.parameter("design") != "paired" or test.parameter("method") not in METHODS:
            return None
        if path[0] == "ci":
            ends = self.interval()
            if path == ("ci",):
                return ends
            return ends.low if path[-1] == "low" else ends.high
        if len(path) == 1 and path[0] in P_PATTERNS:
            return self.p(path[0])
        if len(path) == 1 and path[0] in TRUTH_PATTERNS:
            return Line(TRUTH_PATTERNS[path[0]], self._truths(path[0]), costly=True)
        return None

    def interval(self) -> EndLines:
        """Return the interval at 1 - 2 alpha."""
        level = 1 - 2 * float(self.test.parameter("alpha"))
        if self.test.parameter("method") == "tango":
            return self.test.tango(("ci",), level)
        if self.test.parameter("method") == "bounded":
            return BoundedLines(self.test).ends(("ci",), float(self.test.parameter("alpha")))
        return self._bootstrap.percentiles(("ci",), level)

    def p(self, name: str) -> Line:
        """Return `p_lower` of H0 delta <= -margin, `p_upper` of H0 delta >= margin, or the larger: `p_value`."""
        if self.test.parameter("method") == "bootstrap_ci":
            least = find_least_known(self.test.n)
            return self._bootstrap.margins(name, self.margin, touch=self._touch, least=least)
        if self.test.parameter("method") == "bounded":
            return value_line(
                self._bound_p(name), P_PATTERNS[name], self.test.asker((name,)), relative=ERROR, costly=True
            )
        return Line(P_PATTERNS[name], self._score_p(name), costly=True)

    def _bound_p(self, name: str) -> Callable[[Ints, Ints], Floats]:
        lines, margin = BoundedLines(self.test), self.margin

        def p(b: Ints, m: Ints) -> Floats:
            lower, upper = lines.above(b, m, -margin), lines.below(b, m, margin)
            return {"p_lower": lower, "p_upper": upper}.get(name, np.maximum(lower, upper))

        return p

    @property
    def margin(self) -> float:
        """The margin of the test, a proportion; a test without one has no lines."""
        margin = self.test.margin
        assert margin is not None  # noqa: S101 - a test without a margin has no lines
        return margin

    @property
    def _touch(self) -> bool:
        return bool(
            self.test.parameter("method") == "bootstrap_ci" and self.test.parameter("bounds") == "seed"
        )

    @property
    def _bootstrap(self) -> BootstrapLines:
        return BootstrapLines(self.test.n, self.test.asker, strict=False, same=False)

    def _score_p(self, name: str) -> Callable[[Ints, Ints, Fraction, Levels], Sides]:
        """Return on which side of a threshold a p of Tango's tests lies, cell by cell."""
        n, margin = self.test.n, self.margin

        def sides(b: Ints, m: Ints, threshold: Fraction, levels: Levels) -> Sides:
            limit = float(threshold)
            upper: Floats = special.ndtr(tango.scores(b, m - b, n, margin))
            lower: Floats = special.ndtr(tango.scores(m - b, b, n, margin))
            p = {"p_upper": upper, "p_lower": lower}.get(name, np.maximum(upper, lower))
            # The exact p only ever raises Tango's: where that is above the threshold already, nothing can change.
            for cell in np.flatnonzero((m < SPARSE) & (p <= limit + CLOSE * limit)).tolist():
                p[cell] = max(float(p[cell]), self._exact(name, int(b[cell]), int(m[cell]), limit))
            line = value_line(
                lambda _b, _m: p, "any", self.test.asker((name,)), relative=CLOSE, absolute=1e-300
            )
            return line.sides(b, m, threshold, levels)

        return sides

    def _exact(self, name: str, b: int, m: int, limit: float) -> float:
        """Return the exact p of a sparse cell; only as exactly as the threshold asks."""
        # A loss of b is a gain with the arms swapped, so one kernel gives either side.
        both = {"p_upper": [(b, m - b)], "p_lower": [(m - b, b)]}
        tables = both.get(name, [(b, m - b), (m - b, b)])
        shift = 0.0
        # The coarse supremum is never above the exact one and falls short by a fifth at most: outside of that it
        # decides.
        for coarse in (True, False):
            shift = max(exact_p_below(*table, self.test.n, self.margin, coarse=coarse) for table in tables)
            if not SHORT * limit <= shift <= limit * (1 + CLOSE):
                break
        return shift

    def _truths(self, name: str) -> Callable[[Ints, Ints, Fraction, Levels], Sides]:
        """`decide` of the test: the interval, and for the score test its p-values too."""
        ends, limit = self.interval(), self.test.margin_limit or Fraction(0)
        alpha = Fraction(repr(float(self.test.parameter("alpha"))))
        inside: Levels = (0,) if self._touch else (1,)
        # The lattice of ends and the margin are exact fractions: whether an end at the bound is inside is a choice
        # of level.
        outside: Levels = (1,) if self._touch else (0,)

        def rejects(side: str, b: Ints, m: Ints) -> NDArray[np.bool_]:
            if self.test.parameter("method") != "tango":
                return np.ones(len(b), dtype=np.bool_)
            return np.asarray(self.p(side).sides(b, m, alpha, (0,)) == BELOW)

        def above(b: Ints, m: Ints) -> NDArray[np.bool_]:
            holds = np.asarray(ends.low.sides(b, m, -limit, inside) == ABOVE)
            # Only cells whose interval holds are asked for their p, which is the dear part.
            holds[holds] = rejects("p_lower", b[holds], m[holds])
            return holds

        def below(b: Ints, m: Ints) -> NDArray[np.bool_]:
            holds = np.asarray(ends.high.sides(b, m, limit, outside) == BELOW)
            holds[holds] = rejects("p_upper", b[holds], m[holds])
            return holds

        def sides(b: Ints, m: Ints, _threshold: Fraction, _levels: Levels) -> Sides:
            if name == "equivalent":
                holds = above(b, m)
                holds[holds] = below(b[holds], m[holds])
            elif name == "noninferior":
                holds = above(b, m)
            else:
                bound = Fraction(0) if name == "superior" else limit
                holds = np.asarray(ends.low.sides(b, m, bound, (1,)) == ABOVE)
            side = np.where(holds, ABOVE, BELOW)
            if self.test.parameter("method") == "bootstrap_ci":
                # so few items show nothing, wherever their interval lies
                side = np.full(len(b), BELOW) if find_least_known(self.test.n) >= alpha else side
                side = np.where(self._bootstrap.flat(b, m), UNDEFINED, side)
            return side.astype(np.int8)

        return sides


def equivalence_cells(cells: Cells, path: Path) -> Line | EndLines | None:
    """Return the fields on independent binary pairs, given a margin."""
    return EquivalenceLines(cells).line_of(path) if cells.margin is not None else None


def _simulate(units: Units, request: FieldRequest, path: Path) -> Value | None:
    """A field of the test in every simulated data set, NaN where it is undecided; None where it is not simulated."""
    margin = request.margin
    if margin is None or request.parameter("design") != "paired":
        return None
    if request.parameter("method") == "bounded" and bound_sets(units, request.limit) is None:
        return None
    if path == ("ci",):
        return _simulate_interval(units, request)
    lower, upper, undecided = _simulate_tails(units, request, margin)
    values = {"p_lower": lower, "p_upper": upper, "p_value": np.maximum(lower, upper)}.get(path[0])
    if values is None:
        alpha, method, slack = float(request.parameter("alpha")), request.parameter("method"), _slack(request)
        low, high = _simulate_interval(units, request)
        above, below = low > -margin + slack, high < margin - slack
        if method == "tango":
            above, below = above & (lower < alpha), below & (upper < alpha)
        # so few units that no p of a bootstrap is known to be below alpha: nothing is shown
        known = method != "bootstrap_ci" or find_least_known(units.sums.shape[-1]) < alpha
        truths = {
            "equivalent": above & below,
            "noninferior": above,
            "superior": low > abs(slack),
            "minimum_effect": low > margin + abs(slack),
        }.get(path[0])
        values = None if truths is None else (truths & known).astype(np.float64)
    return None if values is None else np.where(undecided, np.nan, values)


def _simulate_interval(units: Units, request: FieldRequest) -> tuple[Floats, Floats]:
    """Return the ends of the interval at level 1 - 2 alpha, (D,) each, outcome units."""
    alpha, sets = float(request.parameter("alpha")), _bound(units, request)
    if sets is not None:
        return sets.ends(alpha)
    if request.parameter("method") == "bootstrap_ci":
        shared, deltas = units.resample("item_weighted")
        low, high = shared.quantiles(deltas, (alpha, 1 - alpha))
        return units.decide(low), units.decide(high)
    delta, se, df = _robust(units, request)
    return kernel.t_interval(delta, se, df, 1 - 2 * alpha)


def _simulate_tails(
    units: Units, request: FieldRequest, margin: float
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the p-values against either margin, and which data sets decide nothing."""
    sets = _bound(units, request)
    if sets is not None:
        return sets.above(-margin), sets.below(margin), np.zeros(len(units.sums), dtype=np.bool_)
    if request.parameter("method") == "bootstrap_ci":
        shared, deltas = units.resample("item_weighted")
        slack, floor = _slack(request), find_least_known(units.sums.shape[-1])
        lower, upper = shared.share(deltas <= -margin + slack), shared.share(deltas >= margin - slack)
        return np.maximum(lower, floor), np.maximum(upper, floor), units.flat()
    delta, se, df = _robust(units, request)
    undecided = se <= 0
    safe = np.where(undecided, 1.0, se)
    lower = kernel.t_tail((delta + margin) / safe, df, "greater")
    return lower, kernel.t_tail((delta - margin) / safe, df, "less"), undecided


def _bound(units: Units, request: FieldRequest) -> BoundedSets | None:
    return bound_sets(units, request.limit) if request.parameter("method") == "bounded" else None


def _robust(units: Units, request: FieldRequest) -> tuple[Floats, Floats, float]:
    error = str(request.parameter("cluster_variance")) if units.clustered else "cr1"
    return kernel.robust(error, units.sums, units.sizes)


def _slack(request: FieldRequest) -> float:
    """What lies at the margin is outside, but for intervals that may touch it."""
    touch = request.parameter("method") == "bootstrap_ci" and request.parameter("bounds") == "seed"
    tie = TIE * min(request.margin or 1.0, 1.0)
    # Added to the lower bound and taken from the upper: positive, an end at the bound is outside.
    return -tie if touch else tie


def _effort(parameter: Parameter) -> Effort:
    efforts: dict[str, Effort] = {"bootstrap_ci": "resampled", "bounded": "bounded"}
    return efforts.get(parameter("method"), "summed")


SIMULATED = Simulated(_simulate, _effort, lambda parameter: parameter("method") == "bounded")
