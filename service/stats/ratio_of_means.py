"""The ratio of two means on the same items: how many times as much one arm costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.bootstrap.paired_ratio import PairedRatio, pivots, studentize
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.records import Record
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF, NO_CLUSTERS, PairedItems, cluster_warnings
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.certainty import of_quantile, of_share
from service.stats.shared.declaring.columns import require_size
from service.stats.shared.declaring.common import Analysis, Interval, Resampling, StatWarning
from service.stats.shared.declaring.fields import Alpha, ClusterCount, ItemCount, Level, ResampleSeed
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import decision, describe_sides, in_clusters, level_text
from service.stats.shared.declaring.simulated import Effort, FieldRequest, Simulated, Units, Value
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.resampling import DEFAULT_DRAWS, first_seed
from service.words import Value as Said
from service.words import message, speak

Method = Literal["fieller", "bootstrap_t"]
Floats = NDArray[np.float64]

FEW_FOR_PIVOTS = 5
"""Units below which resamples have too few pivots."""
MOST_UNDEFINED = 0.01
"""Share of the resamples that may have none."""

RATIO_UNBOUNDED = define("RATIO_UNBOUNDED", "serious", "Fieller (1954), J R Stat Soc B 16:175")
RATIO_FLAT = define(
    "RATIO_FLAT", "serious", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.3"
)
FLAT = "every item, or every cluster, shows the same ratio"
SINGLE = "a single item, or a single cluster, shows no spread"


class RatioOfMeansRequest(PairedItems):
    """Two arms on the same items, values of 0 or more: costs, seconds, tokens."""

    elsewhere: ClassVar = {"margin": "equivalence", "metric": "paired-bootstrap"}

    method: Method = Field(
        "fieller",
        description="`fieller`: t of candidate - ratio x baseline, turned around, with clusters by CR2; `bootstrap_t`: "
        "of the log ratio, by resamples of items or whole clusters.",
    )
    null: float = Field(
        1.0,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="The ratio that the p-value is of; 1: equal means.",
    )
    alternative: Literal["two-sided", "greater", "less"] = Field(
        "two-sided", description="`less`: the ratio is below `null`; `greater`: above; `two-sided`: either."
    )
    alpha: Alpha = 0.05
    level: Level = 0.95
    n_resamples: int | None = Field(
        None, ge=1000, le=1_000_000, description="Resamples of `bootstrap_t`, a count. Default 10,000."
    )
    seed: ResampleSeed = None

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse amounts below 0, and a baseline of nothing but 0."""
        for name, column in zip(("baseline", "candidate"), self.arrays(), strict=True):
            require_size(column, name)
            if np.any(column < 0):
                raise InvalidData.field(
                    name,
                    "holds values below 0, of which a mean is no amount",
                    "send costs, seconds or counts",
                )
        if not any(self.baseline):
            raise InvalidData.field(
                "baseline", "is 0 throughout, and nothing is a multiple of 0", "send its values"
            )
        return self

    @cached_property
    def pairs(self) -> PairedRatio:
        """Sums of both arms by item or cluster, each arm in a unit of its own, which `unit` holds."""
        before, after = self.arrays()
        if self.clusters is None:
            return PairedRatio.of(before, after, np.ones(len(before)))
        codes = codes_of(self.clusters)
        # sums of large values must not leave the floats
        units = max(float(before.max()), 1e-300), max(float(after.max()), 1e-300)
        sums = [
            np.bincount(codes, weights=x / unit).astype(np.float64)
            for x, unit in zip((before, after), units, strict=True)
        ]
        ratio = PairedRatio.of(sums[0], sums[1], np.bincount(codes).astype(np.float64))
        return PairedRatio(
            ratio.baseline, ratio.candidate, ratio.sizes, (ratio.unit[0] * units[0], ratio.unit[1] * units[1])
        )


class Ratio(Record):
    """How many times as much."""

    value: float = Field(description="Mean of the candidate over mean of the baseline, a ratio.")
    ci: Interval = Field(description="Interval of the ratio, of 0 or more.")


class RatioOfMeansAnalysis(Analysis):
    """The ratio of two means, and a test of it."""

    ratio: Ratio = Field(description="The ratio with its interval; 1 is no difference.")
    p_value: float | None = Field(description="Of a ratio of `null`, by the chosen method and alternative.")
    null: float = Field(description="The ratio under H0.")
    delta: float = Field(description="Candidate minus baseline, mean over items, outcome units.")
    baseline_mean: float = Field(description="Mean of the baseline, outcome units.")
    candidate_mean: float = Field(description="Mean of the candidate, outcome units.")
    log_se: float | None = Field(description="Standard error of the log ratio, linearized.")
    statistic: float | None = Field(description="t of a ratio of `null`: by CR2, or of the log ratio.")
    df: float | None = Field(description="Degrees of freedom of `fieller`.")
    method: Method = Field(description="How the interval and p were obtained.")
    alternative: Literal["two-sided", "greater", "less"] = Field(description="Direction tested.")
    n: ItemCount
    n_clusters: ClusterCount


def _estimate_cost(request: RatioOfMeansRequest) -> float:
    n = len(request.baseline)
    if request.method == "fieller":
        return 0.001 + 1e-6 * n
    g = n if request.clusters is None else len(set(request.clusters))
    return 0.002 + 1e-6 * n + (request.n_resamples or DEFAULT_DRAWS) * (1.5e-5 + 2.5e-8 * g)


def _ways(parameter: shows.Parameter) -> tuple[shows.Bounds, ...]:
    """A ratio below 1 is a difference below 0; below a null above 1 it is no direction."""
    null, nothing = float(parameter("null")), ()
    below, above = shows.BELOW_ZERO if null <= 1 else nothing, shows.ABOVE_ZERO if null >= 1 else nothing
    return {"less": (below,), "greater": (above,)}.get(parameter("alternative"), (below, above))


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ratio.value": shows.Signed(origin=1),
    "ratio.ci": shows.Covers(shows.by_level, origin=1),
    "p_value": shows.PValue(_ways),
    **shows.no_meaning("null", "baseline_mean", "candidate_mean", "log_se", "statistic", "df"),
}


def _simulate(units: Units, request: FieldRequest, path: tuple[str, ...]) -> Value | None:
    """Ratio, interval or p of every simulated data set; None where a field is not simulated."""
    if units.arms is None:
        return None
    ratios = _SimulatedRatios(*units.arms, units.sizes.astype(np.float64), units.generator(3))
    if path == ("ratio", "value"):
        return ratios.ratio
    method = request.parameter("method")
    null, alternative = float(request.parameter("null")), str(request.parameter("alternative"))
    if path == ("ratio", "ci"):
        tail = (1 - request.level) / 2
        return ratios.fieller(tail) if method == "fieller" else ratios.bootstrap_t(tail)
    if path == ("p_value",):
        return ratios.t_p(null, alternative) if method == "fieller" else ratios.pivot_p(null, alternative)
    return None


def _effort(parameter: shows.Parameter) -> Effort:
    return "summed" if parameter("method") == "fieller" else "resampled"


@dataclass(frozen=True)
class _SimulatedRatios:
    """Ratios of T data sets from the sums of both arms by unit, (T, G) each, as `PairedRatio` has them of one."""

    before: Floats
    after: Floats
    sizes: Floats
    rng: np.random.Generator

    RESAMPLES: ClassVar = 999

    @cached_property
    def ratio(self) -> Floats:
        return np.asarray(self.after.sum(axis=1) / self.before.sum(axis=1))

    @cached_property
    def _spread(self) -> tuple[Floats, Floats, Floats, float]:
        one = PairedRatio.of(self.before[0], self.after[0], self.sizes).spread.df
        n = self.sizes.sum()
        b, c = (x - self.sizes * (x.sum(axis=1) / n)[:, None] for x in (self.before, self.after))
        # CR2 of a mean (Bell & McCaffrey 2002): V = sum(e_g^2 / (1 - n_g / N)) / N^2; of a linear combination of
        # two columns it is a quadratic form of these three sums.
        weight = 1 / (n * n * (1 - self.sizes / n))
        return (b * b) @ weight, (b * c) @ weight, (c * c) @ weight, one

    def fieller(self, tail: float) -> tuple[Floats, Floats]:
        """Return both ends (T,) of the set of ratios; the upper one is infinite where the baseline may be 0."""
        n = self.sizes.sum()
        before, after = self.before.sum(axis=1) / n, self.after.sum(axis=1) / n
        bb, bc, cc, df = self._spread
        # Fieller (1954): |after - r before| <= t se(r), squared, is a r^2 - 2 b r + c <= 0.
        square = t_quantile(1 - tail, df) ** 2
        a, b, c = before**2 - square * bb, before * after - square * bc, after**2 - square * cc
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            # a <= 0: the baseline is not told apart from 0, and no ratio is too large.
            high = np.where(a > 0, (b + root) / a, np.inf)
            # c / (b + root) is the other root, (b - root) / a, without its cancellation. c <= 0: 0 is in the set.
            low = np.where((c > 0) & (b + root > 0) & ((a > 0) | (b * b > a * c)), c / (b + root), 0.0)
        return low, high

    def t_p(self, null: float, alternative: str) -> Floats:
        """Return the p (sets,) of a ratio of `null`, which agrees with the set of ratios that is printed."""
        n = self.sizes.sum()
        bb, bc, cc, df = self._spread
        gap = (self.after.sum(axis=1) - null * self.before.sum(axis=1)) / n
        error = np.sqrt(cc - 2 * null * bc + null * null * bb)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = gap / error
            # as `PairedRatio.least_against`
            ends = self.after.sum(axis=1) / n / np.sqrt(cc), -self.before.sum(axis=1) / n / np.sqrt(bb)
        t = np.where(t > 0, np.fmin(t, ends[0]), np.fmax(t, ends[1]))
        return np.array([t_tail(float(statistic), df, alternative) for statistic in t])  # type: ignore[arg-type]

    @cached_property
    def _pivots(self) -> tuple[Floats, Floats, Floats]:
        """Log ratios and their errors (T,), and the sorted pivots of shared resamples (T, B)."""
        g = self.before.shape[1]
        weights = self.rng.multinomial(g, np.full(g, 1 / g), size=self.RESAMPLES).astype(np.float64)
        residual = self.after - self.ratio[:, None] * self.before
        parts = (self.before, residual, residual**2, residual * self.before, self.before**2)
        sums = np.stack([part @ weights.T for part in parts], axis=-1)
        drawn = np.sort(studentize(sums, g, self.ratio[:, None]), axis=1)
        # Delta method: log(A / B) changes by (a_g - r b_g) / A for unit g; g / (g - 1) as in CR1.
        error = np.sqrt(g / (g - 1) * (residual**2).sum(axis=1)) / self.after.sum(axis=1)
        return np.log(self.ratio), error, drawn

    def bootstrap_t(self, tail: float) -> tuple[Floats, Floats]:
        log, error, drawn = self._pivots
        low, high = np.nanquantile(drawn, [tail, 1 - tail], axis=1)
        return np.exp(log - high * error), np.exp(log - low * error)

    def pivot_p(self, null: float, alternative: str) -> Floats:
        log, error, drawn = self._pivots
        t = ((log - math.log(null)) / error)[:, None]
        above, below = ((1 + (far).sum(axis=1)) / (self.RESAMPLES + 1) for far in (drawn >= t, drawn <= t))
        both = np.minimum(2 * np.minimum(above, below), 1.0)
        return np.asarray({"greater": above, "less": below}.get(alternative, both))


@stat_test(
    name="ratio-of-means",
    version=1,
    title="Ratio of paired means",
    asked="pairs",
    example={
        "baseline": [4.1, 3.2, 7.9, 2.2, 5.0, 6.1, 3.8, 4.4, 9.7, 2.9],
        "candidate": [2.9, 2.6, 5.1, 1.9, 3.3, 4.6, 2.2, 3.5, 6.0, 2.4],
    },
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        simulated=Simulated(_simulate, _effort),
        drawn=lambda parameter: parameter("method") == "bootstrap_t",
        positive=True,
    ),
)
def ratio_of_means(request: RatioOfMeansRequest) -> RatioOfMeansAnalysis:
    """Say how many times as much the candidate costs as the baseline on the same items, with an interval.

    The ratio r is that of the means, so that it is what a bill shows; items weigh alike. For every r the mean of
    candidate - r baseline is compared with its standard error, by items or by CR2 over clusters; the set holds the r
    with |t| no larger than t's quantile. H0: the ratio is `null`. `bootstrap_t` resamples items or whole clusters and
    studentizes the log ratio by its linearized error.

    Returns:
        ratio.value, ratio.ci: the ratio and its interval; ratios below 0 are left out of it.
        p_value: t tail (exact for normal values), the largest of the ratios that lie as far as `null` or further, so
            that it goes with the interval; or (1 + resamples as far) / (resamples + 1).
        delta: the difference of the means, in the outcome's unit.

    Raises:
        InvalidData: values below 0, a baseline of 0 throughout, columns of different length, a single cluster, or
            `bootstrap_t` where more than 1 % of the resamples have no ratio or no spread.

    Edge cases:
        A baseline not told apart from 0: no upper end, warning RATIO_UNBOUNDED. The set may then be two rays; the
            interval is the least that holds them, and p is that of the interval.
        Every item, or cluster, with the same ratio: no interval, p null, warning RATIO_FLAT; a single item likewise.
        A candidate of 0 throughout: the ratio is 0, and its logarithm has no error.
        Skewed residuals: SKEWED for `fieller`. Few or unequal clusters: FEW_CLUSTERS, CAUTION, LOW_DF.
        Drawn numbers: `within` gives four Monte-Carlo standard errors to either side.

    Sources:
        Fieller (1954), J R Stat Soc B 16:175.
        Davison & Hinkley (1997), Bootstrap Methods and their Application, 5.2 (bootstrap-t).
        Bell & McCaffrey (2002), Surv Methodol 28:169 (CR2).
        Berger (1982), Technometrics 24:295 (rules of several endpoints).

    Example:
        Ten items, sums 49.3 and 34.5: the candidate costs .6998 times as much, 95 % interval .6475 to .7879.
    """
    pairs, n = request.pairs, len(request.baseline)
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    units = n if request.clusters is None else len(pairs.sizes)
    before, after = (mean * unit for mean, unit in zip(pairs.means, pairs.unit, strict=True))
    if request.clusters is None:
        reasons["n_clusters"] = NO_CLUSTERS
    spread = units > 1 and bool(np.any(pairs.residuals))
    log_se = None
    if not spread:
        why = SINGLE if units == 1 else FLAT
        reasons |= dict.fromkeys(
            ("log_se", "statistic", "df", "p_value", "ratio.ci.low", "ratio.ci.high"), why
        )
    elif pairs.value > 0:
        log_se = pairs.log_error
    else:
        reasons["log_se"] = "the candidate is 0 throughout, which has no logarithm"
    result = (
        _NOTHING
        if not spread
        else _fieller(request)
        if request.method == "fieller"
        else _bootstrap_t(request, log_se)
    )
    reasons |= result.reasons
    p = None if result.p is None else apply_floor(result.p, "p_value", bounds)
    ci = Interval(low=result.low, high=result.high, level=request.level, method=request.method)
    return RatioOfMeansAnalysis(
        ratio=Ratio(value=pairs.value, ci=ci),
        p_value=p,
        null=request.null,
        delta=after - before,
        baseline_mean=before,
        candidate_mean=after,
        log_se=log_se,
        statistic=result.statistic,
        df=result.df,
        method=request.method,
        alternative=request.alternative,
        n=n,
        n_clusters=None if request.clusters is None else units,
        reasons=reasons,
        bounds=bounds,
        within=result.within,
        warnings=tuple(_list_warnings(request, result, spread=spread)),
        resampling=Resampling(exact=True)
        if result.draws is None
        else Resampling.drawn(result.draws, first_seed(request.seed)),
        sentence=_describe(request, ci, p, bounds),
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a method says: the interval, p, its statistic, and how closely drawn numbers are known."""

    low: float | None = None
    high: float | None = None
    p: float | None = None
    statistic: float | None = None
    df: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    within: dict[str, tuple[float, float]] = field(default_factory=dict)
    draws: int | None = None


_NOTHING = _Reading()


def _fieller(request: RatioOfMeansRequest) -> _Reading:
    """Interval and p of the ratio by Fieller's set, with the CR2 error of the numerator's and denominator's means."""
    pairs = request.pairs
    df, statistic = pairs.spread.df, pairs.statistic(request.null)
    low, high = pairs.fieller(t_quantile(0.5 + request.level / 2, df))
    reasons = {} if high is not None else {"ratio.ci.high": "infinite"}
    if statistic is None:
        reasons |= dict.fromkeys(("statistic", "p_value"), FLAT)
    # the p of the interval that is printed: of a set of two rays it holds what lies between them as well
    least = pairs.least_against(request.null)
    p = None if least is None else t_tail(least, df, request.alternative)
    return _Reading(low, high, p, statistic, df, reasons, {})


def _bootstrap_t(request: RatioOfMeansRequest, log_se: float | None) -> _Reading:
    """Interval and p of the log ratio by its studentized bootstrap."""
    pairs, draws = request.pairs, request.n_resamples or DEFAULT_DRAWS
    if log_se is None:
        raise InvalidData.field("method", "'bootstrap_t' needs a candidate above 0 somewhere", "use fieller")
    seed = first_seed(request.seed)
    drawn = pivots(pairs, draws, seed)
    drawn = np.sort(drawn[~np.isnan(drawn)])
    if len(pairs.sizes) < FEW_FOR_PIVOTS or len(drawn) < (1 - MOST_UNDEFINED) * draws:
        raise InvalidData.field(
            "method",
            f"'bootstrap_t' divides by an error that is 0, or has no ratio, in {1 - len(drawn) / draws:.1%} of the "
            f"resamples of {len(pairs.sizes)} units",
            "use fieller, or send more items or clusters",
        )
    tail, value, n_drawn = (1 - request.level) / 2, pairs.value, len(drawn)

    # Bootstrap-t (Davison & Hinkley 1997, 5.2): the upper quantile of the pivot gives the lower end, and the log is
    # undone.
    def end(q: float) -> float:
        return value * math.exp(-log_se * float(np.quantile(drawn, q)))

    statistic = math.log(value / request.null) / log_se
    above, below = (
        int(n_drawn - np.searchsorted(drawn, statistic, "left")),
        int(np.searchsorted(drawn, statistic, "right")),
    )
    shares = {"greater": above, "less": below, "two-sided": min(above, below)}
    sides = 2 if request.alternative == "two-sided" else 1
    share = (1 + shares[request.alternative]) / (n_drawn + 1)
    within = {}
    for name, q in (("low", 1 - tail), ("high", tail)):
        near = of_quantile(end, n_drawn, q)
        if near is not None:
            within[f"ratio.ci.{name}"] = (min(near), max(near))
    low, high = of_share(share, n_drawn)
    within["p_value"] = (min(sides * low, 1.0), min(sides * high, 1.0))
    return _Reading(
        end(1 - tail), end(tail), min(sides * share, 1.0), statistic, None,
        {"df": "resamples have no degrees of freedom"}, within, draws,
    )  # fmt: skip


def _list_warnings(request: RatioOfMeansRequest, result: _Reading, *, spread: bool) -> list[StatWarning]:
    """Warn of few or unlike clusters, no spread, few degrees of freedom, an interval without end, and skewness."""
    pairs = request.pairs
    clustered = request.clusters is not None
    warnings = list(cluster_warnings(pairs.sizes)) if clustered else []
    if not spread:
        return [*warnings, RATIO_FLAT(unit="cluster" if clustered else "item")]
    if result.df is not None and result.df < LEAST_DF:
        warnings.append(LOW_DF(df=result.df))
    if result.reasons.get("ratio.ci.high") == "infinite":
        warnings.append(RATIO_UNBOUNDED())
    if request.method == "fieller" and not warnings:
        warnings += warn_if_skewed(pairs.residuals, "clusters" if clustered else "items")
    return warnings


def _describe(request: RatioOfMeansRequest, ci: Interval, p: float | None, bounds: dict[str, str]) -> str:
    """Describe the ratio of means, its interval and its test in one sentence."""
    pairs, n = request.pairs, len(request.baseline)
    shared: dict[str, Said] = {
        "level": level_text(request.level),
        "method": {"fieller": "Fieller", "bootstrap_t": "bootstrap-t"}[request.method],
    }
    interval = message("analyses.no_interval_nothing")
    if ci.low is not None and ci.high is None:
        interval = message("analyses.ratio_from", **shared, low=times(ci.low))
    elif ci.low is not None and ci.high is not None:
        interval = message("analyses.ratio_to", **shared, low=times(ci.low), high=times(ci.high))
    values: dict[str, Said] = {
        "times": times(pairs.value),
        "interval": interval,
        "where": in_clusters(n, None if request.clusters is None else len(pairs.sizes)),
    }
    if p is None:
        return speak("analyses.ratio_untested", **values)
    null = f"{request.null:g}"
    return speak(
        "analyses.ratio",
        **values,
        alternative=describe_sides(request.alternative),
        decision=decision(
            p,
            request.alpha,
            message("analyses.ratio_null", null=null),
            bound=bounds.get("p_value"),
            shows=message("analyses.ratio_shown", null=null),
        ),
    )


def times(ratio: float) -> str:
    """Return a ratio as prose prints it: two decimals, and three digits where they would hide it."""
    return f"{ratio:.2f}" if 0.1 <= ratio < 1000 else f"{ratio:.3g}"
