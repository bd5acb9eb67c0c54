"""The difference of medians or other quantiles of two arms on the same items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.kernels.bootstrap.quantile_bootstrap import order_ranks, resampled_quantiles, signs_p
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.moments import difference_noise
from service.stats.shared.data.clustering import NO_CLUSTERS, PairedItems, cluster_warnings
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.certainty import (
    FLAT,
    SIGNS,
    chance_of_signs,
    of_quantile,
    of_share,
    open_up,
)
from service.stats.shared.declaring.columns import require_size
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, Resampling, StatWarning
from service.stats.shared.declaring.fields import (
    Alpha,
    ClusterCount,
    DirectionTested,
    ItemCount,
    Level,
    ResampleSeed,
)
from service.stats.shared.declaring.plan_use import Extent, Least, PlanUse
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import (
    decision,
    describe_sides,
    difference_of,
    in_clusters,
    level_text,
)
from service.stats.shared.declaring.simulated import Effort, FieldRequest, Simulated, Units, Value
from service.stats.shared.declaring.warnings import BEYOND_ZERO, define
from service.stats.shared.methods.resampling import DEFAULT_DRAWS, first_seed
from service.words import message, speak

Of = Literal["arms", "differences"]
FEW = 5
"""Items beyond the quantile below which it is hardly known."""

FEW_FOR_QUANTILE = define(
    "FEW_FOR_QUANTILE", "caution", "Conover (1999), Practical Nonparametric Statistics, 3.2"
)
QUANTILE_FLAT = define(
    "QUANTILE_FLAT", "serious", "Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.3"
)


class QuantileDifferenceRequest(PairedItems):
    """Two arms on the same items, any values: latencies, lengths, scores."""

    elsewhere: ClassVar = {
        "margin": "equivalence",
        "metric": "paired-bootstrap",
        "method": "paired-bootstrap",
    }

    q: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = Field(
        0.5,
        description="Which quantile, a proportion: 0.5 is the median, 0.95 what one item in twenty exceeds.",
    )
    of: Of = Field(
        "arms",
        description="`arms`: the candidate's quantile minus the baseline's; `differences`: the quantile of the items' "
        "differences. The two answer different questions.",
    )
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: Level = 0.95
    n_resamples: int | None = Field(
        None,
        ge=1000,
        le=1_000_000,
        description="Resamples, a count; where something is drawn. Default 10,000.",
    )
    seed: ResampleSeed = None

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        for name, column in zip(("baseline", "candidate"), self.arrays(), strict=True):
            require_size(column, name)
        return self

    @property
    def exact(self) -> bool:
        """Order statistics decide: nothing is drawn."""
        return self.of == "differences" and self.clusters is None


class QuantileDifferenceAnalysis(Analysis):
    """What the quantiles of two arms, or of their differences, show."""

    delta: float = Field(
        description="Difference of the quantiles, or quantile of the differences, score units."
    )
    ci: Interval = Field(description="Interval of delta, score units.")
    p_value: float = Field(description="Of a difference of 0.")
    q: float = Field(description="Which quantile, a proportion.")
    of: Of = Field(description="Of the arms, or of the items' differences.")
    baseline_quantile: float = Field(description="The baseline's quantile, score units.")
    candidate_quantile: float = Field(description="The candidate's quantile, score units.")
    method: Literal["order_statistics", "bootstrap"] = Field(description="How interval and p were obtained.")
    alternative: DirectionTested
    n: ItemCount
    n_clusters: ClusterCount


def _estimate_cost(request: QuantileDifferenceRequest) -> float:
    n = len(request.baseline)
    if request.exact:
        return 0.002 + 2e-6 * n
    return (
        0.005
        + 2e-6 * n
        + (request.n_resamples or DEFAULT_DRAWS) * (2e-5 + (2.5e-8 if request.clusters is None else 8e-8) * n)
    )


SHOWS: shows.Shows = {
    # quantiles can part from the difference of means
    "ci": shows.Covers(shows.by_level, around=False),
    "p_value": shows.PValue(shows.against_zero, fixes=lambda _: False, lean=("delta",)),
    **shows.no_meaning("delta", "q", "baseline_quantile", "candidate_quantile"),
}


def _effect(parameter: shows.Parameter) -> shows.Effect:
    kind: shows.EffectKind = "quantiles" if parameter("of") == "arms" else "quantile_of_differences"
    return shows.Effect(kind, float(parameter("q")))


def _least_p(extent: Extent, parameter: shows.Parameter) -> Least | None:
    """Every difference on one side of 0."""
    if parameter("of") != "differences" or extent.clustered:
        return None
    q, n = float(parameter("q")), extent.n
    # All above 0: nobody below the quantile, (1 - q)^n. All below: q^n. They differ but for the median.
    up, down = Fraction(1 - q) ** n, Fraction(q) ** n
    least = {"greater": up, "less": down}.get(parameter("alternative"), min(2 * min(up, down), Fraction(1)))
    return Least(least, n, "items", "the quantile's sign test")


def _simulate(units: Units, request: FieldRequest, path: tuple[str, ...]) -> Value | None:
    """Return a field on simulated differences of items, which their signs and ranks decide."""
    if request.parameter("of") != "differences" or units.clustered or units.sizes.max() > 1:
        return None
    q, n = float(request.parameter("q")), len(units.sizes)
    if path == ("delta",):
        return np.asarray(np.quantile(units.sums, q, axis=1))
    if path == ("ci",):
        ranked, ends = np.sort(units.sums, axis=1), order_ranks(n, q, (1 - request.level) / 2)
        far = (-np.inf, np.inf)
        low, high = (
            # Ranks count from 1; without one far enough out the end is unbounded.
            np.full(len(ranked), away) if rank is None else ranked[:, rank - 1]
            for rank, away in zip(ends, far, strict=True)
        )
        return low, high
    if path == ("p_value",):
        counts = zip((units.sums < 0).sum(axis=1), (units.sums <= 0).sum(axis=1), strict=True)
        alternative = str(request.parameter("alternative"))
        return np.array([_p(signs_p(int(lt), int(le), n, q), alternative) for lt, le in counts])
    return None


def _effort(parameter: shows.Parameter) -> Effort:
    return "summed" if parameter("of") == "differences" else "resampled"


def _p(tails: tuple[float, float], alternative: str) -> float:
    greater, less = tails
    return {"greater": greater, "less": less}.get(alternative, min(2 * min(greater, less), 1.0))


@stat_test(
    name="quantile-difference",
    version=1,
    title="Difference of paired medians and quantiles",
    asked="pairs",
    example={
        "baseline": [1.9, 2.4, 3.1, 2.2, 9.8, 2.7, 3.4, 2.1, 2.9, 14.2],
        "candidate": [1.6, 2.2, 2.7, 2.3, 6.1, 2.5, 2.9, 1.7, 2.6, 9.0],
        "of": "differences",
    },
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        effect=_effect,
        least_p=_least_p,
        simulated=Simulated(_simulate, _effort),
        drawn=lambda parameter: parameter("of") == "arms",
    ),
)
def quantile_difference(request: QuantileDifferenceRequest) -> QuantileDifferenceAnalysis:
    """Compare the medians, or other quantiles, of two arms on the same items.

    `arms`: the difference of the arms' own quantiles, with the resamples of items or whole clusters that keep pairs
    together. `differences`: the quantile of the items' differences; of independent items the number of differences
    below it is binomial, which gives an exact interval and test. H0: that difference is 0.

    Returns:
        delta: by type-7 quantiles, as numpy and R take them.
        ci: two order statistics that miss with at most half of 1 - level each; else the percentiles of resamples.
        p_value: of binomial signs, exact; else from (1 + resamples beyond 0) / (resamples + 1).

    Raises:
        InvalidData: columns of different length, no item, a single cluster.

    Edge cases:
        Too few items for an order statistic that far out: that end is unbounded (`infinite`).
        Differences of 0 count on both sides, so that ties make the exact test keep its level and no more.
        No resample on the other side of 0: rules take p for no smaller than the chance of such signs of items or
            clusters alone, in `within`: warning BEYOND_ZERO.
        Resamples that do not vary: warning QUANTILE_FLAT, and no rule may rest on interval or p (`undecided`).
        Fewer than 5 items beyond the quantile: FEW_FOR_QUANTILE. Few clusters: FEW_CLUSTERS, CAUTION.
        Drawn numbers: `within` gives four Monte-Carlo standard errors to either side.

    Sources:
        Conover (1999), Practical Nonparametric Statistics, 3.2 (quantile test and interval).
        Hyndman & Fan (1996), Am Stat 50:361 (type 7).
        Davison & Hinkley (1997), Bootstrap Methods and their Application, 2.3 and 5.3.

    Example:
        Ten latencies, nine of them shorter: the median difference is -.35, the interval from the 2nd to the 9th of the
        sorted differences, -3.7 to -.2; two-sided p = 22/1024.
    """
    before, after = request.arrays()
    n = len(before)
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    codes = np.arange(n) if request.clusters is None else codes_of(request.clusters)
    units = int(codes.max()) + 1
    if request.clusters is None:
        reasons["n_clusters"] = NO_CLUSTERS
    own = [float(np.quantile(column, request.q)) for column in (before, after)]
    difference = after - before
    delta = float(np.quantile(difference, request.q)) if request.of == "differences" else own[1] - own[0]
    noise = difference_noise(before, after)
    result = (
        _read_order_statistics(request, difference, noise)
        if request.exact
        else _read_draws(request, before, after, codes, noise)
    )
    p = apply_floor(result.p, "p_value", bounds)
    ends = {"low": result.low, "high": result.high}
    reasons |= {f"ci.{name}": "infinite" for name, end in ends.items() if end is None}
    method: Literal["order_statistics", "bootstrap"] = "order_statistics" if request.exact else "bootstrap"
    ci = Interval(low=result.low, high=result.high, level=request.level, method=method)
    return QuantileDifferenceAnalysis(
        delta=delta,
        ci=ci,
        p_value=p,
        q=request.q,
        of=request.of,
        baseline_quantile=own[0],
        candidate_quantile=own[1],
        method=method,
        alternative=request.alternative,
        n=n,
        n_clusters=None if request.clusters is None else units,
        reasons=reasons,
        bounds=bounds,
        within=dict(result.within),
        undecided=dict.fromkeys(("ci", "p_value"), FLAT) if result.flat else {},
        warnings=(
            *_list_warnings(request, codes, flat=result.flat),
            *([BEYOND_ZERO()] if result.beyond else []),
        ),
        resampling=Resampling(exact=True)
        if request.exact
        else Resampling.drawn(request.n_resamples or DEFAULT_DRAWS, first_seed(request.seed)),
        sentence=_describe(request, delta, ci, p, bounds, units, result),
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """The interval and p, and how closely drawn numbers are known."""

    low: float | None
    high: float | None
    p: float
    flat: bool = False
    beyond: bool = False
    """No resample is on the other side of 0, and signs so uneven are not rare."""
    within: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def _read_order_statistics(
    request: QuantileDifferenceRequest, difference: NDArray[np.float64], noise: float
) -> _Reading:
    """Interval and p of a quantile of the differences of independent items, by the sign test."""
    ranked, n = np.sort(difference), len(difference)
    low, high = (
        None if rank is None else float(ranked[rank - 1])
        for rank in order_ranks(n, request.q, (1 - request.level) / 2)
    )
    # What lies within rounding of 0 is 0, and a 0 counts against either direction (Conover 1999, 3.2: T1 and T2).
    tails = signs_p(int((difference < -noise).sum()), int((difference <= noise).sum()), n, request.q)
    return _Reading(low, high, _p(tails, request.alternative))


def _read_draws(
    request: QuantileDifferenceRequest,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    codes: NDArray[np.int64],
    noise: float,
) -> _Reading:
    """Interval and p from resampled quantiles, and the range that other seeds would have given."""
    draws, seed = request.n_resamples or DEFAULT_DRAWS, first_seed(request.seed)
    columns = [after - before] if request.of == "differences" else [before, after]
    quantiles = resampled_quantiles(columns, codes, request.q, draws, seed)
    drawn = np.sort(quantiles[:, 0] if request.of == "differences" else quantiles[:, 1] - quantiles[:, 0])
    flat = bool(drawn[-1] - drawn[0] <= noise)
    tail = (1 - request.level) / 2

    def end(at: float) -> float:
        return float(np.quantile(drawn, at))

    # Resamples at 0 or beyond it on either side; those within rounding of 0 count on both.
    down, up = int(np.searchsorted(drawn, noise, "right")), int(np.searchsorted(drawn, -noise, "left"))
    # (1 + count) / (B + 1): the data are one of the resamples (Davison & Hinkley 1997, 4.2).
    shares = ((1 + down) / (draws + 1), (1 + draws - up) / (draws + 1))
    within = {}
    for name, at in (("low", tail), ("high", 1 - tail)):
        near = of_quantile(end, draws, at)
        if near is not None:
            within[f"ci.{name}"] = near
    ranges = [of_share(min(share, 1.0), draws) for share in shares]
    within["p_value"] = (
        _p((ranges[0][0], ranges[1][0]), request.alternative),
        _p((ranges[0][1], ranges[1][1]), request.alternative),
    )
    p = min(_p(shares, request.alternative), 1.0)
    chance = _signs(
        down,
        draws - up,
        np.bincount(codes, weights=after - before).astype(np.float64),
        noise,
        request.alternative,
    )
    beyond = chance is not None and chance >= SIGNS and not flat
    if chance is not None and beyond:
        within["p_value"] = open_up(p, chance, within["p_value"])
    return _Reading(end(tail), end(1 - tail), p, flat, beyond, {} if flat else within)


def _signs(down: int, up: int, sums: NDArray[np.float64], noise: float, alternative: str) -> float | None:
    """The chance of the units' signs alone where no resample (`down` of them, or `up`) is on the other side of 0."""
    if bool(down) == bool(up):
        return None
    side = "less" if down else "greater"
    if alternative not in (side, "two-sided"):
        return None
    gained, lost = int((sums > noise).sum()), int((sums < -noise).sum())
    most = gained if side == "greater" else lost
    return float(chance_of_signs(most, gained + lost)) * (2 if alternative == "two-sided" else 1)


def _list_warnings(
    request: QuantileDifferenceRequest, codes: NDArray[np.int64], *, flat: bool
) -> list[StatWarning]:
    """Warn of few or unlike clusters, of few items beyond the quantile, and of `flat` resamples, which do not vary."""
    n = len(codes)
    beyond = round(n * min(request.q, 1 - request.q), 9)
    warnings = (
        [] if request.clusters is None else list(cluster_warnings(np.bincount(codes).astype(np.float64)))
    )
    if beyond < FEW:
        warnings.append(FEW_FOR_QUANTILE(q=request.q, n=n, beyond=beyond))
    if flat:
        warnings.append(QUANTILE_FLAT())
    return warnings


def _describe(
    request: QuantileDifferenceRequest,
    delta: float,
    ci: Interval,
    p: float,
    bounds: dict[str, str],
    units: int,
    result: _Reading,
) -> str:
    """Describe the difference of quantiles, its interval and its test in one sentence."""
    most = 1.0 if result.flat else result.within["p_value"][1] if result.beyond else None
    quantile_name = message("analyses.median")
    if request.q != 0.5:
        quantile_name = message("analyses.quantile", q=f"{request.q:g}")
    low, high = (
        message(f"analyses.{beyond}") if end is None else difference_of(end, binary=False)
        for end, beyond in ((ci.low, "minus_infinity"), (ci.high, "infinity"))
    )
    interval = message("analyses.no_interval_moves")
    if not result.flat:
        how = "ci_order_statistic" if request.exact else "ci_plain_bootstrap"
        interval = message(f"analyses.{how}", level=level_text(request.level), low=low, high=high)
    return speak(
        "analyses.quantile_of_differences" if request.of == "differences" else "analyses.quantiles_differ",
        quantile=quantile_name,
        delta=difference_of(delta, binary=False),
        interval=interval,
        where=in_clusters(len(request.baseline), None if request.clusters is None else units),
        alternative=describe_sides(request.alternative),
        decision=decision(p, request.alpha, "analyses.difference_0", bound=bounds.get("p_value"), most=most),
    )
