"""The score of one arm: how sure it is, for items like these and for these very items, and whether it is enough."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF, NO_CLUSTERS, cluster_warnings
from service.stats.shared.data.replicates import Replicates, item_means
from service.stats.shared.data.score_range import UNIT, RangeField, ScoreRange, lies_in_unit
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths, require_two_clusters
from service.stats.shared.declaring.common import Analysis, Column, Finite, Interval, Request, StatWarning
from service.stats.shared.declaring.fields import Clusters, ItemCount, LeastRuns, Level, MostRuns, ValueCount
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import level_text
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods import thresholds
from service.stats.shared.methods.fixed_items import TheseItems, of_these_items
from service.stats.shared.methods.one_mean import InClusters, OneMean, ShareMethod
from service.stats.shared.methods.scored import (
    ScoredClusters,
    describe_clusters,
    make_interval,
    rare_clusters,
)
from service.stats.shared.methods.thresholds import AgainstThreshold, Target
from service.words import Value, message, speak

if TYPE_CHECKING:
    from service.stats.shared.declaring.one_arm import Floats, OneArmSets

FEW_ITEMS = 300
"""Items below which normal approximations of a share are not to be relied on (Bowyer et al. 2025)."""

UNIT_TAKEN = define("UNIT_TAKEN", "info")
NO_RANGE = define("NO_RANGE", "caution", "Gaffke (2005), Math Methods Statist 14:451")
APPROXIMATE_SHARE = define(
    "APPROXIMATE_SHARE", "caution", "Bowyer, Aitchison & Ivanova (2025), arXiv:2503.01747"
)


class OneSampleMeanRequest(Request):
    """One arm's outcomes: one per item, or a list of runs per item."""

    elsewhere: ClassVar = {
        "baseline": "paired-difference",
        "candidate": "paired-difference",
        "correct": "pass-at-k",
    }

    values: Annotated[Column | Replicates, Field(union_mode="left_to_right")] = Field(
        description="One outcome per item, 0 and 1 or scores; or one list per item with those of its runs, whose mean "
        "is the item's."
    )
    clusters: Clusters = None
    range: RangeField = None
    threshold: Finite | None = Field(
        None, description="What the mean should reach, in its unit, e.g. 0.95; strictly inside the range."
    )
    better: Literal["higher", "lower"] = Field(
        "higher",
        description="Which outcomes are the better ones: with `lower` the mean should not exceed the threshold.",
    )
    method: ShareMethod = Field(
        "clopper-pearson",
        description="Interval of a share of right items that are independent; scores and clusters have their own.",
    )
    in_clusters: InClusters = "by_size"
    estimand: Literal["items_like_these", "these_items"] = Field(
        "items_like_these",
        description="What `ci` and `against` speak of. `these_items`: the very items sent, whose right runs are "
        "counted; it takes equally many runs of every item, two or more, each right or wrong.",
    )
    level: Level = 0.95
    power: float = Field(
        0.8,
        ge=0.5,
        le=0.999,
        allow_inf_nan=False,
        description="What `threshold.more` plans for, a proportion.",
    )

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse values outside the range, a single cluster, and a threshold at or beyond an end."""
        require_equal_lengths({"values": self.values, "clusters": self.clusters})
        require_two_clusters(self.clusters)
        if self.range is not None:
            self.range.require({"values": self.flat})
        self._require_runs()
        scale = self.mean.scale
        if self.threshold is not None and scale is not None and not scale.low < self.threshold < scale.high:
            percent = (
                f"; did you mean {self.threshold / 100:g}?"
                if scale == UNIT and 1 < self.threshold < 100
                else ""
            )
            raise InvalidData.field(
                "threshold",
                f"is not strictly between the ends of the range, {scale.low:g} and {scale.high:g}: no number of items "
                "shows that a mean reaches the end",
                f"send a value between them{percent}",
            )
        return self

    def _require_runs(self) -> None:
        """Refuse what no exact bound is known of: unequal runs weigh unequally, and scores are no counts."""
        if self.estimand != "these_items":
            return
        counts = {len(run) for run in self.runs}
        if len(counts) > 1 or counts == {1}:
            raise InvalidData.field(
                "values",
                "need equally many runs of every item, two or more, to speak of these items",
                "send all runs of every item, or ask for `items_like_these`",
            )
        if not is_binary(self.flat):
            raise InvalidData.field(
                "values",
                "have to be 0 or 1 in every run to speak of these items",
                "ask for `items_like_these`, and read `these_items` beside it",
            )
        if self.method != "clopper-pearson":
            raise InvalidData.field(
                "method",
                "is shown to hold of these items for `clopper-pearson` alone",
                "leave the method out",
            )

    @cached_property
    def runs(self) -> list[list[float]]:
        """The outcomes of every item's runs, in score units: one list per item, in the order sent."""
        return [value if isinstance(value, list) else [value] for value in self.values]

    @property
    def flat(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The outcomes of all runs of all items in one column, in score units."""
        return np.array([x for run in self.runs for x in run], dtype=np.float64)

    @cached_property
    def mean(self) -> OneMean:
        """The items' means, and what they show; of these very items their runs, each a unit of its own.

        Runs of items whose chances differ are less spread in sum than a binomial of the same mean (Hoeffding 1956), so
        that its exact bounds hold. Clusters say how items were drawn, which these were not.
        """
        if self.estimand == "these_items":
            return OneMean(self.flat, None, UNIT, self.method)
        values = item_means(self.values, "values")
        scale: ScoreRange | None = self.range or (UNIT if lies_in_unit(self.flat) else None)
        if scale is not None:
            # A mean of runs, rounded, can lie a last digit outside the range that all of them lie in.
            values = np.clip(values, scale.low, scale.high)
        codes = None if self.clusters is None else codes_of(self.clusters)
        return OneMean(values, codes, scale, self.method, self.in_clusters == "furthest")


class OneSampleMeanAnalysis(Analysis):
    """One arm's mean with its interval, and whether it reaches the threshold."""

    mean: float = Field(description="Mean over items of their means over runs, a proportion or score units.")
    ci: Interval | None = Field(
        description="The interval that decides, of the mean over items like these, or of these items where that is "
        "asked; `method` names it. `furthest`: each end the furthest of CR2 t, "
        "Korn-Graubard and whole clusters."
    )
    se: float | None = Field(
        description="Standard error of the mean over items like these: CR2 with clusters, else SD / sqrt(n), in the "
        "unit of the mean."
    )
    df: float | None = Field(
        description="Its degrees of freedom: Bell and McCaffrey's with clusters, else n - 1."
    )
    intervals: dict[str, Interval] = Field(
        description="Every interval that was computed, by its method. `cr0_z` is the one of CR0 and the normal law."
    )
    these_items: TheseItems = Field(
        description="The same mean as one of these very items, of which runs alone vary."
    )
    clusters: ScoredClusters | None = Field(description="Of items in clusters.")
    against: AgainstThreshold | None = Field(description="The mean against the threshold.")
    binary: bool = Field(description="Every item's mean is 0 or 1; of these items, every run.")
    range_low: float | None = Field(description="The low end of the range that scores are taken to have.")
    range_high: float | None = Field(description="Its high end.")
    n: ItemCount
    n_values: ValueCount
    least_runs: LeastRuns
    most_runs: MostRuns


def _estimate_cost(request: OneSampleMeanRequest) -> float:
    n = len(request.values)
    return 0.01 + 5e-6 * n + (0.0 if request.threshold is None else 0.1)


def _meets(parameter: shows.Parameter) -> tuple[shows.Bounds, ...]:
    return (shows.BELOW_ZERO,) if parameter("better") == "lower" else (shows.ABOVE_ZERO,)


def _falls_short(parameter: shows.Parameter) -> tuple[shows.Bounds, ...]:
    return (shows.ABOVE_ZERO,) if parameter("better") == "lower" else (shows.BELOW_ZERO,)


SHOWS: shows.Shows = {
    "mean": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "against.p_meets": shows.PValue(_meets),
    "against.p_falls_short": shows.PValue(_falls_short),
    # beside the interval that decides stand some that hold their level less well
    **shows.no_meaning("intervals.*", "these_items.*", "clusters.*", "against.*", "se", "df", "binary"),
    **shows.no_meaning("against.attainable.*", "against.more.*"),
    **shows.no_meaning("range_low", "range_high", "n_values", "least_runs", "most_runs"),
}


def _of_reference(value: float, good: shows.Side, _binary: bool) -> dict[str, Any]:
    return {
        "threshold": value,
        "better": "higher" if good > 0 else "lower",
        "in_clusters": "furthest",  # a claim errs on one side
    }


def _of_sets(sets: OneArmSets, parameter: shows.Parameter, path: shows.Path, limit: float) -> Floats | None:
    """Return a field of the answer in every simulated data set; None where it is not simulated."""
    from service.stats.shared.methods.one_mean_in_plans import OneMeanSets  # a score answers sooner without

    method = parameter("method")
    means = sets.once(("one-sample-mean", method), lambda: OneMeanSets.of_sets(sets, method))
    tail = shows.by_level(parameter)
    match path:
        case ("mean",):
            return means.means
        case ("ci", "low"):
            return means.margins("low", limit, tail)
        case ("ci", "high"):
            return means.margins("high", limit, tail)
        case ("against", ("p_meets" | "p_falls_short") as name):
            above = (sets.good > 0) == (name == "p_meets")
            return means.p_above(sets.reference) if above else means.p_below(sets.reference)
        case _:
            return None


@stat_test(
    name="one-sample-mean",
    version=1,
    title="Score of one arm (mean of items, with a threshold)",
    asked="one_system",
    example={"values": [1] * 45 + [0] * 5, "threshold": 0.75},
    cost=_estimate_cost,
    closed_form=True,
    plan=PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        takes="either",
        takes_range=lambda _parameter: True,
        # of right and wrong Gaffke's bounds are Clopper and Pearson's; the other two hold their level on average
        keeps_level=lambda parameter, clustered: not clustered and parameter("method") == "clopper-pearson",
        arms=1,
        fills=frozenset({"threshold", "better", "in_clusters", "estimand"}),
        of_runs={"estimand": "these_items"},
        of_reference=_of_reference,
        of_sets=_of_sets,
        clause="ci.low >= 95%",
    ),
    serves=frozenset({"scored"}),
)
def one_sample_mean(request: OneSampleMeanRequest) -> OneSampleMeanAnalysis:
    """Estimate one arm's mean, and tell whether it reaches a threshold.

    Two estimands, each with an error of its own. `ci` speaks of items like these: the items (or clusters of them) are a
    sample. `these_items` speaks of the very items sent, of which only runs vary; it takes two runs of every item. With
    the estimand `these_items` so does `ci`: right runs are counted, whatever the chance of each item. H0 of
    `against`: the mean lies on the bad side of the threshold, tested one-sided at (1 - level) / 2 by the interval
    turned around, so that both never disagree.

    Returns:
        ci: independent items: Clopper-Pearson of right and wrong, Gaffke's bounds of scores in a range; where no range
            is known, at each end the further of Student's t and of Gaffke's bounds in the range that was seen.
            Clusters: CR2 t with Bell and McCaffrey's degrees of freedom; of scores, where sizes differ much (CV above
            .5), fewer than 20 effective items or 3 clusters' worth are on the rarer side, or their mean is skewed by
            more than .05, at each end the furthest of that, of Korn-Graubard (of scores Gaffke's bounds of the
            effective number of items), and of Gaffke's bounds of whole clusters with a part of one not seen.
        se, df: CR2's with clusters.
        these_items: sqrt(sum s_i^2 / r_i) / n, t with Satterthwaite's degrees of freedom.
        clusters: design effect, ICC, effective n, CR0, and what the interval would be without clusters.
        against: meets, falls short, or cannot tell, and about how many more items or clusters would tell.

    Raises:
        InvalidData: no item, a single cluster, columns of different length, scores outside the range, or a threshold
            at or beyond an end of the range.

    Edge cases:
        All right or all wrong: the exact interval still has a width; in clusters it is that of one item per cluster.
        `estimand: these_items`: Clopper-Pearson of all runs; clusters have no say; scores and unequal runs are refused.
        One run of some item: `these_items` is null. No run differs from another of its item: null as well.
        Scores without a known range that are all equal, or a single one: the interval is null.
        No range declared and scores between 0 and 1: these are its ends, warning UNIT_TAKEN.
        No range known: what was seen stands for it, and t has a say; warning NO_RANGE, and SKEWED where the mean is far
            from normal.
        Few or uneven clusters: FEW_CLUSTERS or CAUTION; fewer than 4 degrees of freedom: LOW_DF. Of scores in a range,
            less than three clusters' worth of items on the rarer side: RARE_CLUSTERS.

    Sources:
        Clopper & Pearson (1934), Biometrika 26:404. Brown, Cai & DasGupta (2001), Stat Sci 16:101.
        Gaffke (2005), Math Methods Statist 14:451. Vlassis & Thomas (2026), arXiv:2607.08415.
        Bell & McCaffrey (2002), Surv Methodol 28:169. Pustejovsky & Tipton (2018), JBES 36:672.
        Korn & Graubard (1998), Surv Methodol 24:193. Hoeffding (1956), Ann Math Statist 27:713 (these items).
        Miller (2024), arXiv:2411.00640 (CR0). Bowyer, Aitchison & Ivanova (2025), arXiv:2503.01747 (few items).

    Example:
        45 of 50 right: .9, Clopper-Pearson .781865 to .966725, so at least .75 is met. 10 of 10: .691503 to 1.
    """
    mean, tail = request.mean, (1 - request.level) / 2
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    ci = None
    if mean.deciding is None:
        reasons["ci"] = "a single item" if len(mean.values) == 1 else "nothing varies, which is no certainty"
    else:
        ci = make_interval(mean.deciding, request.level)
    if mean.error is None:
        reasons |= dict.fromkeys(("se", "df"), "a single item has no spread")
    against = None
    if request.threshold is None:
        reasons["against"] = "no threshold was given"
    else:
        sign: Literal[1, -1] = 1 if request.better == "higher" else -1
        from service.stats.shared.data.pairs import apply_floor

        target = Target(mean, request.threshold, tail, sign, request.power)
        against = thresholds.against(target, "against", reasons)
        floors = {
            name: apply_floor(getattr(against, name), f"against.{name}", bounds)
            for name in ("p_meets", "p_falls_short")
        }
        against = against.model_copy(update=floors)
    if mean.scale is None:
        reasons |= dict.fromkeys(
            ("range_low", "range_high"), "no range was declared, nor do scores lie in 0 to 1"
        )
    if mean.codes is None:
        reasons["clusters"] = NO_CLUSTERS
    counts = [len(runs) for runs in request.runs]
    return OneSampleMeanAnalysis(
        mean=mean.moments.mean,
        ci=ci,
        se=None if mean.error is None else mean.error.se,
        df=None if mean.error is None else mean.error.df,
        intervals={name: make_interval((name, kind), request.level) for name, kind in mean.beside.items()},
        these_items=of_these_items(request.runs, request.level, mean.scale, reasons),
        clusters=describe_clusters(mean, request.level, reasons),
        against=against,
        binary=mean.binary,
        range_low=None if mean.scale is None else mean.scale.low,
        range_high=None if mean.scale is None else mean.scale.high,
        n=len(request.runs),
        n_values=sum(counts),
        least_runs=min(counts),
        most_runs=max(counts),
        reasons=reasons,
        bounds=bounds,
        warnings=_list_warnings(request),
        sentence=_describe(request, ci, against),
    )


def _list_warnings(request: OneSampleMeanRequest) -> tuple[StatWarning, ...]:
    """List what a reader should know of these data: their range, skewness, clusters and few items."""
    mean = request.mean
    warnings: list[StatWarning] = []
    if mean.scale is None:
        warnings.append(NO_RANGE())
        if mean.codes is None and mean.moments.sd:
            warnings += warn_if_skewed(mean.values - mean.moments.mean, "items")
    elif request.range is None and not is_binary(request.flat):
        warnings.append(UNIT_TAKEN())
    if mean.groups is not None:
        warnings += cluster_warnings(mean.groups.sizes)
        warnings += rare_clusters(mean)
        if mean.error is not None and mean.error.df < LEAST_DF:
            warnings.append(LOW_DF(df=mean.error.df))
    elif mean.binary and request.method != "clopper-pearson" and len(mean.values) < FEW_ITEMS:
        warnings.append(APPROXIMATE_SHARE(method=request.method, n=len(mean.values)))
    return tuple(warnings)


def _describe(request: OneSampleMeanRequest, ci: Interval | None, against: AgainstThreshold | None) -> str:
    """Describe the mean, its interval, and where it stands to the threshold in one sentence."""
    mean = request.mean
    share = is_binary(request.flat)

    def show(value: float) -> str:
        return f"{100 * value:.1f}%" if share else f"{value:.4g}"

    size = message("units.n_items", n=len(request.runs))
    if request.estimand == "these_items":
        size = message("analyses.of_these_items", n=len(request.runs), runs=len(mean.values))
    if mean.groups is not None:
        size = message("analyses.items_in_clusters", items=size, clusters=mean.groups.n_clusters)
    interval = message("analyses.no_interval")
    if ci is not None and ci.low is not None and ci.high is not None:
        interval = message(
            "analyses.ci_of",
            level=level_text(request.level),
            method=ci.method,
            low=show(ci.low),
            high=show(ci.high),
        )
    values: dict[str, Value] = {"mean": show(mean.moments.mean), "interval": interval, "size": size}
    if against is None:
        return speak("analyses.mean_alone", **values)
    why = against.outcome if ci is not None else "without_interval"
    outcome = message(f"analyses.{why}_{request.better}", bar=show(against.threshold))
    return speak("analyses.mean_against", **values, outcome=outcome)
