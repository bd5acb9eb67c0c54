"""Equivalence, non-inferiority, superiority and minimum effect, read off one interval and two tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from scipy import special

from service.errors import InvalidData
from service.kernels.bootstrap_draws import Draws, draw_means
from service.kernels.clusters import robust_errors
from service.kernels.moments import difference_noise, moments
from service.kernels.paired_exact import exact_p_below
from service.kernels.paired_intervals import tango_interval, tango_score
from service.kernels.ratio_bootstrap import ratio_bootstrap
from service.kernels.t_distribution import t_quantile, t_tail
from service.stats.clustering import LEAST_DF, LOW_DF, ClusteredPairs, clustered
from service.stats.common import (
    Analysis,
    Interval,
    Labels,
    Margin,
    Resampling,
    StatWarning,
    is_binary,
    p_text,
    percent,
)
from service.stats.pairs import PairedCounts, PairsRequest, floored
from service.stats.registry import PlanUse, stat_test
from service.stats.resampling import (
    DEFAULT_DRAWS,
    DEFAULT_SEED,
    BootstrapDistribution,
    paired_distribution,
    resampling_of,
    resolution_of,
    weighed,
)
from service.stats.warnings import define

TIE = 1e-9
"""An interval end this close to a bound counts as equal to it."""

SPARSE = 10
Conclusion = Literal["positive", "negative", "equivalent", "inconclusive"]

SPARSE_DISCORDANT = define(
    "SPARSE_DISCORDANT",
    "caution",
    "Only {n_discordant} discordant items: the score test is asymptotic, so each one-sided p is the larger "
    "of Tango's and the exact unconditional one.",
    "Chan & Zhang (1999), Biometrics 55:1202",
)
DEGENERATE = define(
    "DEGENERATE",
    "serious",
    "The differences do not vary, so their spread measures nothing: equivalence is not decided by this "
    "method; for binary pairs use tango.",
)
SEED_BOUNDS = define(
    "SEED_BOUNDS",
    "serious",
    "The interval may touch the bounds: on the lattice of a binary difference the margin is attainable, and "
    "the exact size reaches .12 at n = 500 and .20 at n = 150 where .05 is meant.",
)
CLUSTERED_INTERVAL_USED = define(
    "CLUSTERED_INTERVAL_USED",
    "info",
    "The items come in clusters, so a cluster-robust t interval takes the place of Tango's, which assumes "
    "independent items.",
)


class EquivalenceRequest(PairsRequest):
    """Two arms and a margin: two columns, or the four counts of binary pairs."""

    margin: Margin = Field(description="Smallest effect of interest, with its unit; the bounds are -+ margin.")
    method: Literal["tango", "bootstrap_ci", "t"] = Field(
        "tango", description="`tango`: score tests for binary pairs; `t`: any outcome; `bootstrap_ci`."
    )
    clusters: Labels | None = Field(
        None, description="Cluster of each item, a label per item; the interval is then clustered."
    )
    design: Literal["paired", "independent"] = Field(
        "paired", description="`independent`: the arms saw different items; method `t` only."
    )
    variance: Literal["welch", "student"] = Field(
        "welch", description="Of the independent design: separate or pooled variances."
    )
    cluster_variance: Literal["cr2", "cv3"] = Field(
        "cr2", description="Cluster-robust variance where clusters are given."
    )
    bounds: Literal["strict", "seed"] = Field(
        "strict", description="Of bootstrap_ci: the interval must lie inside; `seed` lets it touch."
    )
    alpha: Annotated[float, Field(gt=0, lt=0.5, allow_inf_nan=False)] = Field(
        0.05, description="Level of each one-sided test, a proportion; the interval's level is 1 - 2 alpha."
    )
    n_resamples: int | None = Field(
        None, ge=100, le=1_000_000, description="Draws, a count; used only where nothing exact is at hand."
    )
    seed: int | None = Field(
        None, ge=0, le=2**53, description="Seed of the draws; used only where something is drawn."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.design == "independent":
            for name, refused in (
                ("method", self.method != "t"),
                ("clusters", self.clusters is not None),
                ("baseline", self.baseline is None),
            ):
                if refused:
                    raise InvalidData.field(
                        name, "does not go with design 'independent'", "send two columns and method 't'"
                    )
        if self.clusters is not None and self.baseline is None:
            raise InvalidData.field("clusters", "need items, and counts have none", "send columns")
        if self.method == "tango":
            _ = self.table
        return self

    def _check_columns(self) -> None:
        if self.design == "paired":
            super()._check_columns()
        for name in ("baseline", "candidate"):
            if not getattr(self, name):
                raise InvalidData.field(name, "is empty", "send at least one item")

    @property
    def binary(self) -> bool:
        """True for outcomes 0 and 1."""
        return is_binary(*self.arrays)


class EquivalenceAnalysis(Analysis):
    """What the data say about the margin. H0: the effect is at least as large as the margin."""

    delta: float = Field(description="Candidate minus baseline, outcome units.")
    margin: float = Field(description="The margin, a proportion or score units.")
    ci: Interval = Field(description="Interval of delta at level 1 - 2 alpha, outcome units.")
    p_value: float | None = Field(description="The larger of p_lower and p_upper.")
    p_lower: float | None = Field(description="P-value of H0: delta <= -margin.")
    p_upper: float | None = Field(description="P-value of H0: delta >= margin.")
    equivalent: bool | None = Field(description="Effects beyond the margin are rejected on both sides.")
    noninferior: bool | None = Field(description="delta <= -margin is rejected.")
    superior: bool | None = Field(description="The interval lies above 0.")
    minimum_effect: bool | None = Field(description="The interval lies above the margin.")
    conclusion: Conclusion | None = Field(
        description="`equivalent` first; else `positive` or `negative` when the interval excludes 0."
    )
    method: Literal["tango", "bootstrap_ci", "t"] = Field(description="As asked for; `ci.method` is what was used.")
    design: Literal["paired", "independent"] = Field(description="Whether the arms share items.")
    bounds_rule: Literal["strict", "seed"] = Field(description="Whether the interval may touch the margin.")
    t_lower: float | None = Field(description="t statistic against -margin.")
    t_upper: float | None = Field(description="t statistic against margin.")
    z_lower: float | None = Field(description="Score statistic against -margin.")
    z_upper: float | None = Field(description="Score statistic against margin.")
    df: float | None = Field(description="Degrees of freedom of the t statistics.")
    se: float | None = Field(description="Standard error of delta, outcome units.")
    n: int = Field(description="Items, a count; of both arms together when independent.")
    n_clusters: int | None = Field(description="Clusters, a count.")
    n_discordant: int | None = Field(description="Items whose outcomes differ between the arms, a count.")


@dataclass
class Evidence:
    """What a method found; statistics are named as in the analysis."""

    low: float | None = None
    high: float | None = None
    ci_method: str = ""
    p_lower: float | None = None
    p_upper: float | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    floor: float = 1e-300
    touch: bool = False
    warnings: list[StatWarning] = field(default_factory=list)
    resampling: Resampling = Resampling(exact=True)


def _cost(request: EquivalenceRequest) -> float:
    n = max(len(request.baseline or ()), len(request.candidate or ()))
    if request.method == "tango" and request.clusters is None:
        return 1.2 if request.table.n_discordant < SPARSE and request.table.n > 2000 else 0.0015 + 5e-8 * n
    if request.method == "bootstrap_ci" and (request.clusters is not None or not request.binary):
        return 0.9 + 1e-5 * n
    return 0.0015 + 1e-7 * n


@stat_test(
    name="equivalence",
    version=1,
    title="Equivalence (two one-sided tests)",
    example={
        "both_correct": 80,
        "only_baseline": 0,
        "only_candidate": 0,
        "both_wrong": 69,
        "margin": {"value": 2, "unit": "pp"},
        "method": "tango",
    },
    cost=_cost,
    plan=PlanUse(endpoints=frozenset({"binary", "continuous"}), clusters="when_planned"),
)
def equivalence(request: EquivalenceRequest) -> EquivalenceAnalysis:
    """Test whether the difference between two arms is smaller than a margin.

    H0 is a difference of at least the margin in either direction; equivalence is H1, shown when both
    one-sided tests reject at alpha, which is when the 1 - 2 alpha interval lies inside the margin.
    A large p-value of another test never shows it.

    Returns:
        equivalent: both one-sided tests reject; null when the data cannot decide.
        p_value: the larger of p_lower and p_upper.
        ci: of delta at 1 - 2 alpha; its method names what was used.
        noninferior, superior, minimum_effect: the interval's low end above -margin, 0, margin.
        conclusion: equivalent, positive, negative or inconclusive; equivalent and superior can both hold.

    Raises:
        InvalidData: a margin whose unit does not fit, columns of different length in a paired design,
            tango on scores, one cluster, or clusters, counts or another method in an independent design.

    Edge cases:
        Differences that do not vary: t and bootstrap_ci decide nothing, fields null, warning DEGENERATE.
        Fewer than 10 discordant pairs: tango takes the larger of its p and an exact one.
        An interval end within 1e-9 of the margin touches it and is not inside.
        Clusters: a cluster-robust t interval, also for tango; bootstrap_ci resamples clusters.

    Sources:
        Schuirmann (1987), J Pharmacokinet Biopharm 15:657 (two one-sided tests).
        Tango (1998), Stat Med 17:891 (score test). Chan & Zhang (1999), Biometrics 55:1202 (exact p).
        Lakens (2017), Soc Psychol Personal Sci 8:355.

    Example:
        149 items and no discordant pair, margin 2 pp: the exact p is .98^149 = .0493, so effects
        beyond 2 pp are rejected; with 148 items it is .0503.
    """
    margin = float(request.margin.for_endpoint(binary=request.binary))
    counts = request.table if request.design == "paired" and request.binary else None
    baseline, candidate = request.arrays
    delta = counts.delta if counts else float(candidate.mean() - baseline.mean())
    groups: ClusteredPairs | None = None
    if request.clusters is not None:
        groups = clustered(baseline, candidate, request.clusters)
        delta = groups.groups.item_weighted
    if request.method == "bootstrap_ci":
        found = _bootstrap(request, margin, counts, groups)
    elif groups is not None:
        found = _clustered_t(request, margin, groups)
    elif request.method == "t":
        found = _t(request, margin, counts, delta)
    else:
        found = _tango(request, margin, request.table)
    return _analysis(request, margin, delta, counts, groups, found)
