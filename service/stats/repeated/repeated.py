"""Two arms with repeated runs and judgements: the difference, where its error comes from, and what to buy next."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.numeric.clusters import RobustError, cluster_sums, codes_of, robust_errors
from service.kernels.numeric.moments import difference_noise, paired_differences
from service.kernels.numeric.streams import generator, picks
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.planning import simulated_pairs
from service.kernels.planning.allocation import Costs, Spread
from service.kernels.repeats.repeated_runs import ITEM_BY_ARM, JUDGE, RUN, RepeatedRuns, anova, reml
from service.stats.repeated.repeats import (
    BestAllocation,
    Component,
    Components,
    ErrorParts,
    Flips,
    NextUnit,
    RepeatCosts,
    RunsOfItems,
    flatten,
    flips,
)
from service.stats.repeated.sentences import say_difference
from service.stats.repeated.spending import Spending
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF, NO_CLUSTERS, cluster_warnings
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.columns import require_equal_lengths, require_two_clusters
from service.stats.shared.declaring.common import Analysis, Interval, Request, Resampling, StatWarning
from service.stats.shared.declaring.fields import (
    Alpha,
    ClusterCount,
    Clusters,
    ItemCount,
    LevelOfAll,
    ResampleSeed,
)
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.simulated import FieldRequest, Simulated, Units, Value
from service.stats.shared.declaring.warnings import DEGENERATE, NEGATIVE_COMPONENT, define
from service.stats.shared.methods.pair_interval import pair_interval
from service.stats.shared.methods.resampling import first_seed

NAMES = ("item", "item_by_arm", "run", "judge")
BALANCED_DRAWS, UNBALANCED_DRAWS = 2_000, 200
FEW_ITEMS = 20
NO_BOUNDS = (
    "nothing tells how far the difference may be off: all scores are alike, or the clusters are too few"
)
ALIKE = "every item, or every cluster, shows the same difference"
INSTEAD = "randomization weighs such items by their number"

NO_REPEATED_RUN = define(
    "NO_REPEATED_RUN", "caution", "Searle, Casella & McCulloch (1992), Variance Components, 3"
)
ROUGH_COMPONENTS = define(
    "ROUGH_COMPONENTS", "caution", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.3"
)


class RepeatedRequest(Request):
    """Two arms on the same items, each item run several times, each run judged once or several times."""

    baseline: RunsOfItems = Field(
        description="Baseline arm: one list per item with its runs; a run is a value, or a list of judgements."
    )
    candidate: RunsOfItems = Field(
        description="Candidate arm: the same, same order of items; numbers of runs may differ."
    )
    clusters: Clusters = None
    level: LevelOfAll = 0.95
    alpha: Alpha = 0.05
    costs: RepeatCosts = Field(default=RepeatCosts(), description="What an item, a run and a judgement cost.")
    budget: float | None = Field(
        None,
        gt=0,
        le=1e12,
        allow_inf_nan=False,
        description="For the best allocation, in the unit of the costs; default what these data cost.",
    )
    most_items: int | None = Field(
        None, ge=2, le=10**9, description="Items there are, a count: no allocation takes more."
    )
    n_resamples: int | None = Field(
        None,
        ge=100,
        le=20_000,
        description="Resamples for the intervals of the variances, a count. Default 2,000, or 200 for unequal counts.",
    )
    seed: ResampleSeed = None

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        arms = {"baseline": self.baseline, "candidate": self.candidate}
        require_equal_lengths({**arms, "clusters": self.clusters})
        if len(self.baseline) < 2:
            raise InvalidData.field(
                "baseline", "holds a single item", "send two items or more: one shows no spread"
            )
        require_two_clusters(self.clusters)
        return self


class RepeatedAnalysis(Analysis):
    """The difference of item means, its error by source, and what to spend on."""

    delta: float = Field(
        description="Candidate minus baseline, mean over items of their run means, score units."
    )
    ci: Interval = Field(description="Interval of delta over items, or clusters (CR2), score units.")
    p_value: float | None = Field(description="Two-sided, of a difference of 0, by t on those errors.")
    ci_unseen: Interval | None = Field(
        description="Interval of delta that also knows of losses too rare to have been seen, and in clusters of one "
        "that was not, score units: what a comparison of the items' means decides by."
    )
    p_unseen: float | None = Field(
        description="Two-sided, of a difference of 0, by what that interval is made of."
    )
    se: float = Field(description="Standard error of delta, score units.")
    df: float = Field(description="Degrees of freedom of the interval.")
    components: Components = Field(description="Where the variance comes from, with intervals.")
    method: str = Field(description="`anova` for equal counts everywhere, else `reml`.")
    flips_baseline: Flips = Field(description="How often runs of an item end differently in the baseline.")
    flips_candidate: Flips = Field(description="The same in the candidate.")
    error: ErrorParts = Field(description="Variance of delta by source; clusters are not in it.")
    next_unit: NextUnit = Field(description="What one more unit of cost brings where.")
    allocation: BestAllocation | None = Field(description="The least error for the budget.")
    n: ItemCount
    n_clusters: ClusterCount
    n_runs: int = Field(description="Runs of both arms together, a count.")
    n_judgements: int = Field(description="Judgements of all runs together, a count.")


def _values(request: RepeatedRequest) -> float:
    """About how many judgements there are."""
    total = 0.0
    for arm in (request.baseline, request.candidate):
        look = arm[:200]
        total += (
            sum(len(run) if isinstance(run, list) else 1 for runs in look for run in runs)
            * len(arm)
            / len(look)
        )
    return total


def _estimate_cost(request: RepeatedRequest) -> float:
    """Estimate the seconds of a request: few for a balanced design, many where every resample is fitted anew."""
    # Runs per item and, below 0, judgements per run: one number of each is a balanced design, whose variance components
    # are sums; else each resample is fitted anew.
    values, n = _values(request), len(request.baseline)
    counts = {len(runs) for arm in (request.baseline, request.candidate) for runs in arm}
    counts |= {
        -len(run) if isinstance(run, list) else -1
        for arm in (request.baseline, request.candidate)
        for runs in arm
        for run in runs
    }
    unseen = 0.03 + 5e-5 * min(n, 2048)
    if len(counts) == 2:
        return unseen + 0.008 + 1e-6 * values + (request.n_resamples or BALANCED_DRAWS) * (3e-6 + 3e-8 * n)
    return unseen + 0.05 + 1e-6 * values + (request.n_resamples or UNBALANCED_DRAWS) * (0.01 + 2e-5 * values)


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.either_side),
    **shows.no_meaning("ci_unseen", "ci_unseen.*", "p_unseen"),
    **shows.no_meaning("se", "df", "components.*", *(f"components.{name}.*" for name in NAMES)),
    **shows.no_meaning("flips_baseline.*", "flips_candidate.*", "error.*", "next_unit.*", "allocation.*"),
}


def _simulate(units: Units, request: FieldRequest, path: tuple[str, ...]) -> Value | None:
    """The interval and p rest on the items' means alone."""
    delta, se, df = simulated_pairs.robust("cr2", units.sums, units.sizes)
    if path == ("ci",):
        return simulated_pairs.t_interval(delta, se, df, request.level)
    if path == ("p_value",):
        return simulated_pairs.t_tail(
            np.where(se > 0, delta / np.where(se > 0, se, 1.0), np.nan), df, "two-sided"
        )
    return None


def _components(data: RepeatedRuns) -> NDArray[np.float64]:
    if data.balanced:
        return anova(data.item_sums.sum(axis=0), float(data.runs[0]), float(data.repeats[0]))
    return reml(data)


def _resample(data: RepeatedRuns, codes: NDArray[np.int64], draws: int, seed: int) -> NDArray[np.float64]:
    """Return the components (draws, 4) of resamples of whole clusters, or items."""
    g = int(codes.max()) + 1
    rng = generator(seed, 0)
    if data.balanced:
        # Balanced sums of squares add up over items: a resample is a sum of rows.
        table = np.stack([np.bincount(codes, weights=x) for x in data.item_sums.T], axis=1).astype(np.float64)
        sums = np.array([table[picks(rng, g, g)].sum(axis=0) for _ in range(draws)])
        return anova(sums, float(data.runs[0]), float(data.repeats[0]))
    resampled = np.empty((draws, 4))
    for draw in range(draws):
        # A resample is how often each cluster was drawn: the likelihood takes it as weights and no row is copied.
        copies = np.bincount(picks(rng, g, g), minlength=g).astype(np.float64)[codes]
        resampled[draw] = reml(data, copies)
    return resampled


@stat_test(
    name="repeated",
    version=1,
    title="Repeated runs and judgements (noise, and what to buy next)",
    asked="runs",
    example={
        "baseline": [
            [[1, 1], [1, 0]], [[0, 0], [0, 0]], [[1, 1], [1, 1]], [[0, 1], [0, 0]], [[1, 1], [0, 0]], [[0, 0], [1, 1]],
        ],
        "candidate": [
            [[1, 1], [1, 1]], [[0, 0], [1, 1]], [[1, 1], [1, 1]], [[1, 0], [1, 1]], [[1, 1], [1, 0]], [[0, 0], [0, 0]],
        ],
    },
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        simulated=Simulated(_simulate),
        takes="runs",
    ),
)  # fmt: skip
def repeated(request: RepeatedRequest) -> RepeatedAnalysis:
    """Compare two arms that ran several times on the same items, and say where the error comes from.

    y = arm + item + item x arm + run(item, arm) + judge(run), all but the arm random and independent. H0: the arms'
    means are alike. The unit of the interval is the item (or cluster), by its mean over runs of their mean judgement;
    the variances say what more items, runs or judgements would do to it.

    Returns:
        delta, ci, p_value: t interval and test on item means; with clusters CR2 with its degrees of freedom.
        ci_unseen, p_unseen: of a comparison of the items' means (Tango's score, or Gaffke's bounds, in clusters with a
            part of one not seen beside CR2 and sign flips): the noise is the error by t, this is what it may hide.
        components: variances, by analysis of variance when all counts are equal (unbiased, perhaps below 0), else by
            restricted maximum likelihood (never below 0); percentile intervals over resampled items or clusters.
        error: 2 [item x arm / I + run / (I R) + judge / (I R J)], with the counts of each item where they differ.
        next_unit: minus the derivative of that variance by what it costs.
        allocation: whole numbers of least variance within the budget, up to 100 runs and 100 judgements.
        flips: binary outcomes only; a run is right when more than half of its judgements say so.

    Raises:
        InvalidData: fewer than two items, arms of different length, a single cluster.

    Edge cases:
        One run per item and arm: `run` is null and inside item_by_arm, warning NO_REPEATED_RUN.
        One judgement per run: `judge` is null and inside `run`.
        A variance below 0 is told (NEGATIVE_COMPONENT) and counts as 0 in error and budget; no variance of items by
            arm: `allocation` is null, since the formula would keep two items.
        All differences alike, but for rounding: p and interval null, warning DEGENERATE.
        Fewer than 20 items or clusters: ROUGH_COMPONENTS.

    Sources:
        Miller (2024), arXiv:2411.00640. Searle, Casella & McCulloch (1992), Variance Components, 4 and 6.
        Bell & McCaffrey (2002), Surv Methodol 28:169.

    Example:
        Six items, two runs, two judgements: the item means differ by 4/24 on average, t = 1.085 on 5 df. Two
        judgements differ in 4 of 24 runs: their variance is 4 x .5 / 24 = .083.
    """
    data, size, binary = flatten(request.baseline, request.candidate)
    n = data.n
    codes = np.arange(n) if request.clusters is None else codes_of(request.clusters)
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    before, after = data.cell_means.T
    groups = cluster_sums(paired_differences(before, after), codes, difference_noise(before, after))
    robust = robust_errors(groups)["cr2"]
    delta = groups.item_weighted
    ci, p = _judge_by_t(delta, robust, size, request, reasons, bounds)
    draws = request.n_resamples or (BALANCED_DRAWS if data.balanced else UNBALANCED_DRAWS)
    seed = first_seed(request.seed)
    estimate = _components(data)
    again = _resample(data, codes, draws, seed)
    components = _describe(estimate, again, size * size, request.level, reasons)
    spending = Spending(
        Spread(*(max(float(np.nan_to_num(estimate[part])), 0.0) for part in (ITEM_BY_ARM, RUN, JUDGE))),
        Costs(request.costs.item, request.costs.run, request.costs.judge),
        (float(n), len(data.means) / (2 * n), float(data.repeats.sum()) / len(data.means)),
        size,
        ran=not math.isnan(estimate[RUN]),
        judged=not math.isnan(estimate[JUDGE]),
    )
    error = spending.split_error(data, reasons)
    nearest = spending.find_next(reasons)
    best = spending.allocate(request.budget, request.most_items, reasons)
    if request.clusters is None:
        reasons["n_clusters"] = NO_CLUSTERS
    own = None if request.clusters is None else codes
    unseen, p_unseen = _judge_unseen(before * size, after * size, own, request.level, reasons, bounds)
    return RepeatedAnalysis(
        delta=delta * size,
        ci=ci,
        p_value=p,
        ci_unseen=unseen,
        p_unseen=p_unseen,
        se=robust.se * size,
        df=robust.df,
        components=components,
        method="anova" if data.balanced else "reml",
        flips_baseline=flips(data, 0, binary=binary, reasons=reasons, path="flips_baseline"),
        flips_candidate=flips(data, 1, binary=binary, reasons=reasons, path="flips_candidate"),
        error=error,
        next_unit=nearest,
        allocation=best,
        n=n,
        n_clusters=None if request.clusters is None else groups.n_clusters,
        n_runs=len(data.means),
        n_judgements=int(data.repeats.sum()),
        reasons=reasons,
        bounds=bounds,
        warnings=tuple(_list_warnings(request, components, groups.sizes, robust.df, alike=robust.se == 0)),
        resampling=Resampling.drawn(draws, seed),
        sentence=say_difference(
            delta * size, ci, p, bounds, error, nearest, binary=binary, n=n, alpha=request.alpha,
            n_clusters=None if request.clusters is None else groups.n_clusters,
        ),
    )  # fmt: skip


def _judge_by_t(
    delta: float,
    error: RobustError,
    size: float,
    request: RepeatedRequest,
    reasons: dict[str, str],
    bounds: dict[str, str],
) -> tuple[Interval, float | None]:
    """Return the interval of the difference and its p against 0, by Student's t on the spread of its units."""
    method, low, high, p = "t" if request.clusters is None else "cr2_t", None, None, None
    if error.se > 0:
        half = t_quantile(0.5 + request.level / 2, error.df) * error.se
        low, high = (delta - half) * size, (delta + half) * size
        p = apply_floor(t_tail(delta / error.se, error.df), "p_value", bounds)
    else:
        reasons |= dict.fromkeys(("p_value", "ci.low", "ci.high"), ALIKE)
    return Interval(low=low, high=high, level=request.level, method=method), p


def _judge_unseen(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    codes: NDArray[np.int64] | None,
    level: float,
    reasons: dict[str, str],
    bounds: dict[str, str],
) -> tuple[Interval | None, float | None]:
    """Return both as a comparison of the items' means has them, which knows of losses too rare to have been seen."""
    ends = pair_interval(before, after, codes, 1 - level)
    if ends is None:
        reasons |= dict.fromkeys(("ci_unseen", "p_unseen"), NO_BOUNDS)
        return None, None
    interval = Interval(low=ends.low, high=ends.high, level=level, method=ends.method)
    return interval, apply_floor(ends.p, "p_unseen", bounds)


def _describe(
    estimate: NDArray[np.float64],
    again: NDArray[np.float64],
    unit: float,
    level: float,
    reasons: dict[str, str],
) -> Components:
    """The components with percentile intervals of their resamples; what was not repeated is null, with its reason."""
    described = {}
    for place, name in enumerate(NAMES):
        low = high = None
        if math.isnan(estimate[place]):
            why = (
                "every run was judged once: it is inside `run`"
                if name == "judge"
                else "every item has one run in each arm: it is inside `item_by_arm`"
            )
            reasons[f"components.{name}"] = why
            described[name] = Component(variance=None, low=None, high=None)
            continue
        drawn = again[:, place]
        drawn = drawn[np.isfinite(drawn)]
        if len(drawn) >= len(again) / 2:
            low, high = (float(x) * unit for x in np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]))
        else:
            reasons[f"components.{name}.low"] = reasons[f"components.{name}.high"] = (
                "most resamples hold nothing that is repeated"
            )
        described[name] = Component(variance=float(estimate[place]) * unit, low=low, high=high)
    return Components(**described)


def _list_warnings(
    request: RepeatedRequest, components: Components, sizes: NDArray[np.float64], df: float, *, alike: bool
) -> list[StatWarning]:
    """List what a reader should know: clusters, few units, no repeated run, and variances below 0."""
    warnings: list[StatWarning] = [DEGENERATE(instead=INSTEAD)] if alike else []
    if request.clusters is not None:
        warnings.extend(cluster_warnings(sizes))
        if df < LEAST_DF:
            warnings.append(LOW_DF(df=df))
    if len(sizes) < FEW_ITEMS:
        warnings.append(
            ROUGH_COMPONENTS(units=len(sizes), unit="items" if request.clusters is None else "clusters")
        )
    if components.run.variance is None:
        warnings.append(NO_REPEATED_RUN())
    for name in NAMES:
        component: Component = getattr(components, name)
        if component.variance is not None and component.variance < 0:
            warnings.append(NEGATIVE_COMPONENT(name=name))
    return warnings
