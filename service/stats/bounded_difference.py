"""A difference of two bounded scores on the same items: bounds that know of losses too rare to have been seen."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.moments import paired_differences
from service.kernels.pairs.mean_bounds import p_against_zero
from service.stats.shared.data.clustering import NO_CLUSTERS, PairedItems, cluster_warnings
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.score_range import RANGE_TAKEN, UNIT, RangeField, ScoreRange, require_range
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.cell_lines import EndLines, Line
from service.stats.shared.declaring.cells import Cells, whole_interval
from service.stats.shared.declaring.columns import is_binary, require_size
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, StatWarning
from service.stats.shared.declaring.fields import Alpha, ClusterCount, DirectionTested, ItemCount, Level
from service.stats.shared.declaring.plan_use import Extent, Least, PlanUse, least_of_signs
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    describe_sides,
    difference_of,
    disagreement,
    in_clusters,
)
from service.stats.shared.declaring.shows import Path
from service.stats.shared.declaring.simulated import FieldRequest, Simulated, Units, Value
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.bounded import Bounded
from service.stats.shared.methods.bounded_in_plans import BoundedLines, bound_sets
from service.words import speak

UNSEEN_CLUSTERS = define("UNSEEN_CLUSTERS", "info", "Clopper & Pearson (1934), Biometrika 26:404")


class BoundedDifferenceRequest(PairedItems):
    """Two arms on the same items, whose scores have a least and a greatest value."""

    elsewhere: ClassVar = {"margin": "equivalence", "metric": "randomization"}

    range: RangeField = None
    unseen: Literal["items", "clusters"] = Field(
        "items",
        description="What may have been missed: single items, in clusters like those seen; or whole `clusters`.",
    )
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: Level = 0.95

    @model_validator(mode="after")
    def _require_in_range(self) -> Self:
        baseline, candidate = self.arrays()
        for name, column in (("baseline", baseline), ("candidate", candidate)):
            require_size(column, name)
        require_range(self.range, baseline, candidate)
        return self

    @property
    def scale(self) -> ScoreRange:
        """The least and the greatest score there can be: as sent, else 0 and 1."""
        return UNIT if self.range is None else self.range

    @cached_property
    def bounded(self) -> Bounded:
        """The differences, and what they show."""
        baseline, candidate = self.arrays()
        codes = None if self.clusters is None else codes_of(self.clusters)
        return Bounded(paired_differences(baseline, candidate), codes, self.scale.length, self.unseen)


class BoundedDifferenceAnalysis(Analysis):
    """What bounded scores show of the mean difference."""

    delta: float = Field(description="Mean of candidate - baseline over items, score units.")
    ci: Interval = Field(
        description="Interval of delta, score units; within the largest difference there can be."
    )
    p_value: float = Field(description="Of H0: the mean difference is 0, by the bounds turned around.")
    alternative: DirectionTested
    least_score: float = Field(description="The low end of the range that scores are taken to have.")
    greatest_score: float = Field(description="Its high end.")
    design_effect: float | None = Field(
        description="Items that count for one: the design effect, at least 1, with an allowance for few clusters."
    )
    n: ItemCount
    n_clusters: ClusterCount
    n_nonzero: int = Field(description="Items on which the arms differ, a count.")
    min_attainable_p: float = Field(
        description="Least p of so many items or clusters: all at the greatest gain."
    )


def _estimate_cost(request: BoundedDifferenceRequest) -> float:
    return 0.02 + 4e-6 * len(request.baseline) + (2e-5 * len(request.baseline) if request.clusters else 0.0)


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    **shows.no_meaning("least_score", "greatest_score", "design_effect", "min_attainable_p"),
}


def _least_p(extent: Extent, parameter: shows.Parameter) -> Least | None:
    """Every item, or every cluster, at the greatest gain."""
    if not extent.clustered:
        return least_of_signs(parameter, extent.n, "items", "Gaffke's bound")
    if extent.n_clusters is None:
        return None
    return least_of_signs(parameter, extent.n_clusters, "clusters", "sign flips")


def _cells(cells: Cells, path: Path) -> Line | EndLines | None:
    lines = BoundedLines(cells)
    if whole_interval(path) == ("ci",):
        ends = lines.ends(("ci",), (1 - float(cells.parameter("level"))) / 2)
        return ends if path == ("ci",) else ends.low if path[-1] == "low" else ends.high
    return lines.p_value(path, cells.parameter("alternative")) if path == ("p_value",) else None


def _simulate(units: Units, request: FieldRequest, path: Path) -> Value | None:
    """Return the interval or p of every simulated data set; None where a field is not simulated."""
    sets = bound_sets(units, request.limit, request.parameter("unseen"))
    if sets is None:
        return None
    if path == ("ci",):
        return sets.ends((1 - request.level) / 2)
    if path != ("p_value",):
        return None
    above, below = sets.above(0.0), sets.below(0.0)
    sides = {"greater": above, "less": below}
    # Two-sided: twice the smaller one-sided p, the level at which an interval with equal tails touches 0.
    both = np.minimum(2 * np.minimum(above, below), 1.0)
    return np.asarray(sides.get(request.parameter("alternative"), both))


@stat_test(
    name="bounded-difference",
    version=1,
    title="Paired difference of bounded scores",
    asked="pairs",
    example={
        "baseline": [0.5, 0.5, 0.75, 0.25, 1.0, 0.5, 0.0, 0.75],
        "candidate": [1.0, 0.5, 1.0, 0.5, 1.0, 0.75, 0.5, 1.0],
        "range": {"low": 0, "high": 1},
    },
    cost=_estimate_cost,
    closed_form=True,
    plan=PlanUse(
        endpoints=frozenset({"continuous", "binary"}),
        clusters="when_planned",
        shows=SHOWS,
        least_p=_least_p,
        cells=_cells,
        simulated=Simulated(_simulate, lambda _parameter: "bounded", lambda _parameter: True),
        takes_range=lambda _parameter: True,
        keeps_level=lambda parameter, clustered: not clustered or parameter("unseen") == "clusters",
    ),
    serves=frozenset({"bounded"}),
)
def bounded_difference(request: BoundedDifferenceRequest) -> BoundedDifferenceAnalysis:
    """Estimate how much two arms of bounded scores differ, with bounds that know what was not seen.

    Items are independent, or clusters are; scores lie in a range [low, high], so that no difference is beyond
    +-(high - low). H0 is a mean difference of 0. The lower bound is the alpha-quantile of the mean with
    Dirichlet(1, ..., 1) weights over the differences and one more at the greatest loss (Gaffke's bound), the upper one
    likewise: Clopper and Pearson's where differences have two values. It assumes no shape, and losses too rare to have
    been seen are in it. In clusters each end is the furthest of four: the same with items worth 1 / design effect, of
    whole clusters with a part of one more at the greatest loss, CR2 t, and sign flips of the clusters.

    Returns:
        delta: mean of candidate - baseline, score units.
        ci: both bounds, each at (1 - level) / 2.
        p_value: the bounds turned around; two-sided twice the smaller.

    Raises:
        InvalidData: scores outside the range, or outside 0 to 1 without one; columns of different length; one cluster.

    Edge cases:
        No range and scores between 0 and 1: 0 and 1 are taken, warning RANGE_TAKEN.
        All differences alike: the bounds still have a width, about 3.7 / n of the range at 95%.
        Clusters: warning UNSEEN_CLUSTERS; `unseen` clusters reckons with a whole one, not a part.
        Fewer than six clusters: sign flips reject nothing at .05, and the interval is the whole range.

    Sources:
        Gaffke (2005), Math Methods Statist 14:451. Learned-Miller & Thomas (2019), arXiv:1905.06208.
        Vlassis & Thomas (2026), arXiv:2607.08415 (that it holds its level, for independent values).
        Korn & Graubard (1998), Surv Methodol 24:193 (the effective number of items).

    Example:
        Eight items, none lost, six of them gained .25 or .5: delta .25, and the interval reaches below 0, since 8
        items cannot rule out that 1 in 3 is lost.
    """
    bounded = request.bounded
    n, delta, tail = len(request.baseline), bounded.delta, (1 - request.level) / 2
    low, high = bounded.ends(tail)
    bounds: dict[str, str] = {}
    p = apply_floor(p_against_zero(bounded, request.alternative), "p_value", bounds)
    clusters = None if bounded.codes is None else int(bounded.codes.max()) + 1
    ci = Interval(
        low=low, high=high, level=request.level, method="gaffke" if clusters is None else "furthest"
    )
    least = _least_p(Extent(n, clusters, clusters is not None), lambda name: getattr(request, name, None))
    reasons = {} if clusters is not None else dict.fromkeys(("n_clusters", "design_effect"), NO_CLUSTERS)
    binary = is_binary(*request.arrays())
    return BoundedDifferenceAnalysis(
        delta=delta,
        ci=ci,
        p_value=p,
        alternative=request.alternative,
        least_score=request.scale.low,
        greatest_score=request.scale.high,
        design_effect=None if clusters is None else bounded.design_effect,
        n=n,
        n_clusters=clusters,
        n_nonzero=int(np.count_nonzero(bounded.difference)),
        min_attainable_p=apply_floor(float(least.p if least else Fraction(1)), "min_attainable_p", bounds),
        reasons=reasons,
        bounds=bounds,
        warnings=_list_warnings(request, clusters),
        sentence=speak(
            "analyses.bounded",
            delta=difference_of(delta, binary=binary),
            interval=ci_of(ci, binary=binary),
            least=f"{request.scale.low:g}",
            most=f"{request.scale.high:g}",
            where=in_clusters(n, clusters),
            alternative=describe_sides(request.alternative),
            decision=decision(p, request.alpha, "analyses.mean_difference_0", bound=bounds.get("p_value")),
            apart=disagreement(ci, p, request.alpha, request.alternative),
        ),
    )


def _list_warnings(request: BoundedDifferenceRequest, clusters: int | None) -> tuple[StatWarning, ...]:
    """Warn of a range that was taken from the data, of few or unlike clusters, and of clusters that were not seen."""
    warnings: list[StatWarning] = []
    if request.range is None and not is_binary(*request.arrays()):
        warnings.append(RANGE_TAKEN())
    if clusters is not None:
        sizes = np.bincount(request.bounded.codes if request.bounded.codes is not None else [])
        warnings += cluster_warnings(sizes.astype(np.float64))
        if request.unseen == "items":
            tail = (1 - request.level) / 2
            # A kind of cluster with share s is in none of G with probability (1 - s)^G: that is `tail` at s = 1 -
            # tail^(1/G).
            warnings.append(UNSEEN_CLUSTERS(n_clusters=clusters, share=1 - tail ** (1 / clusters)))
    return tuple(warnings)
