"""McNemar's question for items that come in clusters: eight answers, of which a plan names one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy import special

from service.errors import InvalidData
from service.kernels.numeric.clusters import ClusterSums, RobustError, robust_errors
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.pairs.clustered_mcnemar import chi_squares, eliasziw_donner
from service.kernels.planning import simulated_pairs as simulated
from service.kernels.randomization.sign_flip import FlipTails, sign_flip
from service.records import Record
from service.stats.shared.data.clustering import (
    LEAST_DF,
    LOW_DF,
    ClusteredColumns,
    ClusterFacts,
    Estimand,
    warn_if_lopsided,
)
from service.stats.shared.data.pairs import NO_DISCORDANT, PairedCounts, apply_floor, tabulate
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, Resampling, StatWarning
from service.stats.shared.declaring.fields import Alpha, DiscordantCount, ItemCount, Level
from service.stats.shared.declaring.plan_use import Extent, Least, PlanUse, Resort, Spoken, least_of_signs
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.seconds import flips_seconds
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    describe_sides,
    difference_of,
    disagreement,
    in_clusters,
)
from service.stats.shared.declaring.simulated import Effort, FieldRequest, Simulated, Units, Value
from service.stats.shared.declaring.warnings import DEGENERATE, FLOOR_ABOVE_ALPHA, define, warn_if_unresolved
from service.words import Value as Said
from service.words import message, speak

SIMULATED_CHI_SQUARES = ("obuchowski", "durkalski", "yang")
Method = Literal["sign_flip", "obuchowski", "durkalski", "yang", "eliasziw_donner", "cr1_t", "cr2_t", "cv3_t"]

CHI_SQUARES = ("obuchowski", "durkalski", "yang", "eliasziw_donner")
LARGE_SHARE = 0.3
"""Share of the items in one cluster from which on it decides nearly alone."""
EXCESS = 1.2
"""Spread of the clusters over the estimated one: beyond it a nominal level of .05 is above .07."""

UNEQUAL_CLUSTERS = define(
    "UNEQUAL_CLUSTERS", "caution", "Canay, Romano & Shaikh (2017), Econometrica 85:1013"
)

INFLATION_TOO_SMALL = define(
    "INFLATION_TOO_SMALL", "caution", "Durkalski, Palesch, Lipsitz & Rust (2003), Stat Med 22:2417"
)


class ClusteredMcNemarRequest(ClusteredColumns):
    """Two arms on the same items, right (1) or wrong (0), and each item's cluster.

    `sign_flip` and the `*_t` methods take scores too.
    """

    elsewhere: ClassVar = {"margin": "equivalence", "metric": "randomization"}

    method: Method = Field("sign_flip", description="Which clustered test; a plan names one.")
    estimand: Estimand | None = Field(
        None,
        description="`item_weighted`: every item counts alike; `cluster_weighted`: every cluster does. "
        "Follows from the method: `durkalski` is cluster_weighted, the others item_weighted.",
    )
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: Level = 0.95

    @model_validator(mode="after")
    def _require_fitting_estimand(self) -> Self:
        if self.estimand not in (None, self.weighting):
            raise InvalidData.field(
                "estimand", f"method '{self.method}' estimates the {self.weighting} difference",
                f"send '{self.weighting}' or leave it out",
            )  # fmt: skip
        return self

    @property
    def weighting(self) -> Estimand:
        """The estimand that goes with the method."""
        return "cluster_weighted" if self.method == "durkalski" else "item_weighted"


class Estimates(Record):
    """Both estimands: where they part, large and small clusters disagree."""

    item_weighted: float = Field(description="Sum of differences over items, outcome units.")
    cluster_weighted: float = Field(description="Mean of the clusters' mean differences, outcome units.")


class StandardErrors(Record):
    """Cluster-robust standard errors of delta."""

    cr1: float = Field(description="G/(G-1) correction, outcome units.")
    cr2: float = Field(description="Bell-McCaffrey, outcome units.")
    cv3: float = Field(description="Delete-one-cluster jackknife centred at delta, outcome units.")


class ClusteredMcNemarAnalysis(Analysis):
    """What the clustered test found."""

    delta: float = Field(description="Candidate minus baseline for the estimand, outcome units.")
    ci: Interval = Field(description="Cluster-robust t interval of delta: the method's own, else CR2.")
    p_value: float | None = Field(description="Of the chosen method and alternative.")
    method: Method = Field(description="The clustered test.")
    alternative: Alternative
    estimand: Estimand = Field(description="What delta weights alike: items or clusters.")
    estimates: Estimates = Field(description="Delta under both estimands.")
    statistic: float | None = Field(
        description="Chi-square, t, or for sign_flip the sum of differences, in outcome units."
    )
    df: float | None = Field(description="Degrees of freedom of the statistic.")
    se: float = Field(description="Standard error behind the interval, outcome units.")
    ci_df: float = Field(description="Degrees of freedom behind the interval.")
    standard_errors: StandardErrors = Field(description="CR1, CR2 and CV3 beside each other.")
    n: ItemCount
    n_clusters: int = Field(description="Clusters, a count.")
    n_discordant: DiscordantCount
    counts: PairedCounts | None = Field(description="The fourfold table over all items; null for scores.")
    clusters: ClusterFacts = Field(description="Sizes and dependence of the clusters.")
    min_attainable_p: float | None = Field(description="Least p sign_flip can give with these clusters.")


def _estimate_cost(request: ClusteredMcNemarRequest) -> float:
    flips = flips_seconds(request.pairs.groups.sums) if request.method == "sign_flip" else 0.0
    return 0.003 + 2e-6 * len(request.baseline) + flips


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "estimates.*": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    **shows.no_meaning(
        "statistic", "df", "se", "ci_df", "standard_errors.*", "clusters.*", "min_attainable_p"
    ),
}


def _least_p(extent: Extent, parameter: shows.Parameter) -> Least | None:
    """The least p of the sign-flip method: every cluster's sum on one side."""
    if parameter("method") != "sign_flip" or extent.n_clusters is None:
        return None
    return least_of_signs(parameter, extent.n_clusters, "clusters", "sign_flip")


def _simulate(units: Units, request: FieldRequest, path: tuple[str, ...]) -> Value | None:
    """Difference, interval or p of every simulated data set; None where a field is not simulated."""
    method, alternative = str(request.parameter("method")), request.parameter("alternative")
    sums, sizes = units.weigh("cluster_weighted" if method == "durkalski" else "item_weighted")
    error = method[:3] if method in ("cr1_t", "cv3_t") else "cr2"
    delta, se, df = simulated.robust(error, sums, sizes)
    if path == ("delta",):
        return delta
    if path == ("ci",):
        return simulated.t_interval(delta, se, df, request.level)
    if path != ("p_value",):
        return None
    if method == "sign_flip":
        p = units.swapped_p(alternative)
    elif method in SIMULATED_CHI_SQUARES:
        # Chi-square(1) is a squared normal: its root with the sign of delta gives both one-sided p, and two-sided
        # the same p.
        root = np.sqrt(chi_squares(method, units.sums, units.sizes))  # type: ignore[arg-type]
        p = simulated.normal_tail(np.copysign(root, delta), alternative)
    elif method in ("cr1_t", "cr2_t", "cv3_t"):
        t = np.where(se > 0, delta / np.where(se > 0, se, 1.0), np.nan)
        p = simulated.t_tail(t, df, alternative)
    else:
        return None
    won = units.won
    # No discordant item is p = 1 by definition, as below, although the statistic is 0/0 there.
    nothing = (won[0] + won[1]).sum(axis=1) == 0 if won else (units.sums == 0).all(axis=1)
    return np.where(nothing, 1.0, p)


def _effort(parameter: shows.Parameter) -> Effort:
    return "swapped" if parameter("method") == "sign_flip" else "summed"


PLAN = PlanUse(
    endpoints=frozenset({"binary", "continuous"}),
    clusters="required",
    shows=SHOWS,
    least_p=_least_p,
    simulated=Simulated(_simulate, _effort),
    spoken=Spoken("mcnemar", r"mcnemar", "clustered", frozenset({True}), rank=1),
    resort=Resort("sign_flip", frozenset({"binary", "continuous"}), frozenset({True})),
    flips_signs=lambda parameter: parameter("method") == "sign_flip",
    differences_alone=True,
)


@stat_test(
    name="clustered-mcnemar",
    version=1,
    title="McNemar's test for clustered pairs",
    asked="clusters",
    example={
        "baseline": [1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0],
        "candidate": [1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1],
        "clusters": ["a", "a", "a", "b", "b", "b", "c", "c", "d", "d", "d", "e", "e", "e", "f", "f"],
        "method": "sign_flip",
    },
    cost=_estimate_cost,
    plan=PLAN,
    serves=frozenset({"clustered"}),
)
def clustered_mcnemar(request: ClusteredMcNemarRequest) -> ClusteredMcNemarAnalysis:
    """Test whether two arms do equally well on items that come in clusters.

    Cluster g has n_g items and difference sum d_g; delta is sum(d_g) / sum(n_g), or the mean of
    d_g / n_g for `durkalski`. H0 is a mean difference of zero. `sign_flip` gives every d_g a random
    sign, which is exact when the arms are exchangeable within clusters; the chi-square forms and the
    t forms estimate the variance from the spread of the clusters.

    Returns:
        delta: of the estimand that goes with the method; the other one is in `estimates`.
        p_value: of the chosen method and alternative; one-sided chi-square forms use the signed root.
        ci: t interval with CR1 or CV3 where that is the method, else CR2 with Satterthwaite df.
        min_attainable_p: 2 / 2^(clusters with a non-zero sum) for two-sided sign_flip.

    Raises:
        InvalidData: one cluster, columns of different length, an estimand that does not go with the
            method, or values other than 0 and 1 for a chi-square form.

    Edge cases:
        No item differs: p 1 by definition, statistic null, warning NO_DISCORDANT.
        Every cluster sums to zero: sign_flip p 1; the chi-square and t forms are undefined, null.
        Clusters that do not vary: standard error 0, so the t forms and the interval are null, warning DEGENERATE.
        sign_flip on clusters too few for alpha: warning FLOOR_ABOVE_ALPHA. Skewed sums: SKEWED for the t forms.
        eliasziw_donner: null where its estimated inflation is not positive; below the one that the clusters'
            differences show: warning INFLATION_TOO_SMALL.

    Sources:
        Obuchowski (1998), Stat Med 17:1495. Durkalski et al. (2003), Stat Med 22:2417.
        Yang, Sun & Hardin (2010), Biom J 52:638. Eliasziw & Donner (1991), Stat Med 10:1981.
        Bell & McCaffrey (2002), Surv Methodol 28:169 (CR2).
        Canay, Romano & Shaikh (2017), Econometrica 85:1013 (sign changes).

    Example:
        Six clusters, difference sums 2, 1, 1, 1, 1 and 1: only the observed pattern and its mirror
        are as far from zero, so p = 2/64 = 0.03125.
    """
    pairs = request.pairs
    groups = pairs.groups
    baseline, candidate = request.arrays()
    binary = is_binary(baseline, candidate)
    if not binary and request.method in CHI_SQUARES:
        raise InvalidData.field(
            "method", f"'{request.method}' is for outcomes 0 and 1", "use sign_flip, cr1_t, cr2_t or cv3_t"
        )
    weighted = groups.by_cluster() if request.weighting == "cluster_weighted" else groups
    delta = weighted.item_weighted
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    errors = robust_errors(weighted)
    error = errors[request.method[:3] if request.method in ("cr1_t", "cv3_t") else "cr2"]
    ci = _interval(delta, error, request, reasons)
    n_discordant = int(np.count_nonzero(pairs.difference))
    facts = pairs.facts(reasons)
    test, test_warnings = _test(request, error, errors["cr1"].se, delta, facts)
    p, flips = 1.0 if n_discordant == 0 else test.p, test.flips
    reasons |= _explain(request, test, n_discordant)
    least = None if flips is None else _least_of_signs(request, facts.n_nonzero, bounds)
    if least is None:
        reasons["min_attainable_p"] = "the method is asymptotic: the clusters set no least p"
    if not binary:
        reasons["counts"] = "the outcomes are scores, not right or wrong"
    p_value = apply_floor(p, "p_value", bounds)
    warnings = [*pairs.warnings(), *test_warnings]
    warnings += _list_warnings(request, test, error, facts.n_nonzero, least)
    warnings += warn_if_unresolved(p, flips.error if flips else None, request.alpha)
    if error.se > 0 and request.method in ("cr1_t", "cr2_t", "cv3_t"):
        warnings += warn_if_lopsided(weighted.residuals, groups.sizes)
    return ClusteredMcNemarAnalysis(
        delta=delta,
        ci=ci,
        p_value=p_value,
        method=request.method,
        alternative=request.alternative,
        estimand=request.weighting,
        estimates=Estimates(item_weighted=groups.item_weighted, cluster_weighted=groups.cluster_weighted),
        statistic=test.statistic,
        df=test.df,
        se=error.se,
        ci_df=error.df,
        standard_errors=StandardErrors(cr1=errors["cr1"].se, cr2=errors["cr2"].se, cv3=errors["cv3"].se),
        n=len(baseline),
        n_clusters=groups.n_clusters,
        n_discordant=n_discordant,
        counts=tabulate(baseline, candidate) if binary else None,
        clusters=facts,
        min_attainable_p=least,
        reasons=reasons,
        bounds=bounds,
        warnings=tuple(warnings),
        resampling=Resampling(exact=True, error_bound=flips.error if flips else None),
        sentence=_describe(
            request, delta, ci, p_value, len(baseline), groups.n_clusters, binary, bounds.get("p_value")
        ),
    )


@dataclass(frozen=True, slots=True)
class _Tested:
    """What the method of a request says of H0."""

    statistic: float | None
    p: float | None
    df: float | None = None
    flips: FlipTails | None = None
    """The tails under random signs; None of a method that estimates a variance."""


def _explain(request: ClusteredMcNemarRequest, test: _Tested, n_discordant: int) -> dict[str, str]:
    """Say why the test has no statistic, no degrees of freedom or no p, by field; without a discordant item p is 1."""
    reasons = {} if test.flips is None else {"df": "an exact test has no degrees of freedom"}
    if test.statistic is None:
        reasons["statistic"] = (
            "the estimated variance inflation is not positive or undefined"
            if request.method == "eliasziw_donner" and n_discordant
            else "the clusters' differences do not vary, so their spread measures nothing"
        )
        if n_discordant:
            reasons["p_value"] = reasons["statistic"]
    return reasons


def _list_warnings(
    request: ClusteredMcNemarRequest, test: _Tested, error: RobustError, n_nonzero: int, least: float | None
) -> Iterator[StatWarning]:
    """Warn that nothing differs or varies, that few clusters carry the error, that the least p does not reach alpha."""
    if not request.pairs.difference.any():
        yield NO_DISCORDANT()
    elif test.statistic is None and request.method != "eliasziw_donner":
        yield DEGENERATE(instead="sign_flip weighs such clusters by their number")
    if error.se > 0 and error.df < LEAST_DF:
        yield LOW_DF(df=error.df)
    if least is not None and n_nonzero and least >= request.alpha:
        noun = "items" if request.pairs.groups.n_clusters == len(request.baseline) else "clusters"
        yield FLOOR_ABOVE_ALPHA(
            what=f"flipping {n_nonzero} {noun}", least=least, alpha=request.alpha, more=noun
        )


def _test(
    request: ClusteredMcNemarRequest, error: RobustError, cr1_se: float, delta: float, facts: ClusterFacts
) -> tuple[_Tested, list[StatWarning]]:
    """Test H0 by the method of the request; the warnings are those that the method itself asks for.

    `error`: the robust standard error and df of `delta` that the t forms divide by; `cr1_se`: CR1's, which shows how
    much inflation Eliasziw and Donner's form should have estimated.
    """
    pairs = request.pairs
    groups, (baseline, candidate) = pairs.groups, request.arrays()
    if request.method == "sign_flip":
        flips = sign_flip(groups.sums)
        p = {"two-sided": flips.two_sided, "greater": flips.at_least, "less": flips.at_most}[
            request.alternative
        ]
        unequal = facts.largest_share > LARGE_SHARE
        warnings = [UNEQUAL_CLUSTERS(share=facts.largest_share)] if unequal else []
        return _Tested(float(groups.sums.sum()), p, flips=flips), warnings
    if request.method in CHI_SQUARES:
        statistic = _chi_square(request.method, groups, baseline, candidate, pairs.codes)
        n_discordant = int(np.count_nonzero(pairs.difference))
        doubts: tuple[StatWarning, ...] = ()
        if request.method == "eliasziw_donner":
            doubts = _inflation(statistic, delta, cr1_se, n_discordant, len(baseline))
        # Chi-square(1) is a squared normal: one-sided p is the tail of its root, with the sign of delta.
        tail = (
            None if statistic is None else _normal_tail(math.copysign(math.sqrt(statistic), delta), request)
        )
        return _Tested(statistic, tail, 1.0), [*doubts]
    statistic = delta / error.se if error.se > 0 else None
    tail = None if statistic is None else t_tail(statistic, error.df, request.alternative)
    return _Tested(statistic, tail, error.df), []


def _least_of_signs(request: ClusteredMcNemarRequest, n_nonzero: int, bounds: dict[str, str]) -> float:
    """Return the least p of random signs; clusters with sum 0 have no sign to flip."""
    # Two of the 2^k patterns are extreme two-sided, one is one-sided.
    least = min(1.0, 2.0 ** -(n_nonzero - (request.alternative == "two-sided")))
    return apply_floor(least, "min_attainable_p", bounds)


def _chi_square(
    method: Method,
    groups: ClusterSums,
    baseline: NDArray[np.float64],
    candidate: NDArray[np.float64],
    codes: NDArray[np.int64],
) -> float | None:
    """Return the chi-square statistic on 1 df of the method; None where it is 0/0."""
    if method in ("obuchowski", "durkalski", "yang"):
        statistic = float(chi_squares(method, groups.sums, groups.sizes))
        return None if math.isnan(statistic) else statistic
    # cell 0 both correct, 1 only the baseline, 2 only the candidate, 3 both wrong
    cell = (3 - 2 * baseline - candidate).astype(np.int64)
    cells = np.bincount(4 * codes + cell, minlength=4 * groups.n_clusters).reshape(-1, 4)
    return eliasziw_donner(cells.astype(np.float64))


def _inflation(
    statistic: float | None, delta: float, se: float, n_discordant: int, n: int
) -> tuple[StatWarning, ...]:
    """INFLATION_TOO_SMALL where clusters spread more than the method's inflation of McNemar's variance says."""
    if not statistic or not delta:
        return ()
    # (b - c)^2 / (b + c), and beside it CR1's variance of b - c over the b + c that McNemar takes for it: what the
    # clusters show of the factor that Eliasziw & Donner (1991) estimate from all four cells.
    mcnemar = (delta * n) ** 2 / n_discordant
    inflation, observed = mcnemar / statistic, (se * n) ** 2 / n_discordant
    if observed <= EXCESS * inflation:
        return ()
    return (INFLATION_TOO_SMALL(inflation=inflation, shown=observed),)


def _normal_tail(z: float, request: ClusteredMcNemarRequest) -> float:
    if request.alternative == "two-sided":
        # The same tail as 2 ndtr(-|z|), from the upper tail itself: no 1 - p that would cancel.
        return float(special.chdtrc(1, z * z))
    return float(special.ndtr(-z if request.alternative == "greater" else z))


_OF_MEANS = " of cluster means"


def _interval(
    delta: float, error: RobustError, request: ClusteredMcNemarRequest, reasons: dict[str, str]
) -> Interval:
    """The t interval of the difference on the robust error; without one its reasons are in `reasons`."""
    method: str = request.method if request.method in ("cr1_t", "cv3_t") else "cr2_t"
    if request.weighting == "cluster_weighted":
        method += _OF_MEANS
    if error.se == 0:
        reasons["ci.low"] = reasons["ci.high"] = "the clusters' differences do not vary"
        return Interval(low=None, high=None, level=request.level, method=method)
    half = t_quantile(0.5 + request.level / 2, error.df) * error.se
    return Interval(low=delta - half, high=delta + half, level=request.level, method=method)


def _describe(
    request: ClusteredMcNemarRequest,
    delta: float,
    ci: Interval,
    p: float | None,
    n: int,
    n_clusters: int,
    binary: bool,
    bound: str | None,
) -> str:
    """Describe the difference, its interval and its test in one sentence, and why the two disagree if they do."""
    method: Said = ci.method
    if ci.method.endswith(_OF_MEANS):
        method = message("analyses.of_cluster_means", method=ci.method.removesuffix(_OF_MEANS))
    interval = message("analyses.no_interval_clusters")
    if ci.low is not None and ci.high is not None:
        interval = ci_of(ci, binary=binary, phrase="ci_by", method=method)
    shared: dict[str, Said] = {
        "delta": difference_of(delta, binary=binary),
        "weighting": request.weighting,
        "interval": interval,
        "where": in_clusters(n, n_clusters),
        "method": request.method,
        "alternative": describe_sides(request.alternative),
    }
    if p is None:
        return speak("analyses.clustered_mcnemar_undefined", **shared)
    differ = (
        None
        if ci.method.startswith(request.method)
        else message("analyses.apart_clustered", ci=method, p=request.method)
    )
    return speak(
        "analyses.clustered_mcnemar",
        **shared,
        decision=decision(p, request.alpha, "analyses.zero_mean_difference", bound=bound),
        apart="" if ci.low is None else disagreement(ci, p, request.alpha, request.alternative, differ),
    )
