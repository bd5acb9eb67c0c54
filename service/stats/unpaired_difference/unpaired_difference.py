"""Two arms on different items: the difference of their means, in clusters and adjusted by covariates."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy import special

from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of
from service.kernels.pairs.mean_bounds import StudentBounds, p_against_zero
from service.records import Record
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF, NO_CLUSTERS, cluster_warnings
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.samples import TwoSamples
from service.stats.shared.data.score_range import RANGE_TAKEN, UNIT, RangeField, ScoreRange, lies_in_unit
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths, require_size
from service.stats.shared.declaring.common import (
    Alternative,
    Analysis,
    Column,
    Interval,
    Labels,
    Request,
    StatWarning,
)
from service.stats.shared.declaring.fields import Alpha, DirectionTested, Level
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    describe_sides,
    difference_of,
    disagreement,
)
from service.stats.shared.declaring.warnings import FLOOR_ABOVE_ALPHA, define
from service.stats.shared.methods.scored import make_interval
from service.stats.unpaired_difference.means import UnpairedMeans
from service.words import Value, list_values, message, speak

MOST_COVARIATES = 20
FEW_PER_SLOPE = 20
"""Items of an arm for every covariate below which its adjustment costs more than it brings, and errs."""

UNKNOWN_RANGE = define("UNKNOWN_RANGE", "caution", "Gaffke (2005), Math Methods Statist 14:451")
COVARIATE_KNOWN_BEFORE = define("COVARIATE_KNOWN_BEFORE", "info", "Lin (2013), Ann Appl Stat 7:295")
FEW_FOR_COVARIATES = define("FEW_FOR_COVARIATES", "caution", "Freedman (2008), Ann Appl Stat 2:176")


class LabelsOfArms(Request):
    """A label per item of each arm."""

    baseline: Labels = Field(description="Cluster of each of the baseline's items, same order.")
    candidate: Labels = Field(
        description="Cluster of each of the candidate's items; a cluster may be in both arms."
    )


class CovariateOfArms(Request):
    """A number per item of each arm, known before the item's arm was."""

    baseline: Column = Field(description="Of each of the baseline's items, same order, in any unit.")
    candidate: Column = Field(description="Of each of the candidate's items.")


class UnpairedDifferenceRequest(TwoSamples):
    """Two arms, each on items of its own."""

    elsewhere: ClassVar = {"margin": "proportions", "both_correct": "mcnemar"}

    clusters: LabelsOfArms | None = Field(None, description="Items that share a cluster are not independent.")
    covariates: dict[Annotated[str, Field(max_length=512)], CovariateOfArms] | None = Field(
        None,
        min_length=1,
        max_length=MOST_COVARIATES,
        description="Names to numbers that were known before the arms were, such as an item's score before: the "
        "difference is adjusted by them (CUPED).",
    )
    range: RangeField = None
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: Level = 0.95

    @model_validator(mode="after")
    def _require_fit(self) -> Self:
        """Refuse values outside the range, a single cluster in an arm, and covariates that explain nothing."""
        arms = {"baseline": self.baseline, "candidate": self.candidate}
        if self.range is not None:
            self.range.require({name: np.asarray(values, dtype=np.float64) for name, values in arms.items()})
        for name, values in arms.items():
            if self.clusters is not None:
                labels = getattr(self.clusters, name)
                require_equal_lengths({name: values, f"clusters.{name}": labels})
                if len(set(labels)) < 2:
                    raise InvalidData.field(
                        f"clusters.{name}",
                        "hold a single cluster",
                        "send two in each arm, or leave clusters out",
                    )
            for covariate, columns in (self.covariates or {}).items():
                path, column = f"covariates.{covariate}.{name}", getattr(columns, name)
                require_equal_lengths({name: values, path: column})
                require_size(np.asarray(column, dtype=np.float64), path)
                if max(column) == min(column):
                    raise InvalidData.field(
                        path, "does not vary, so it explains nothing", "leave the covariate out"
                    )
        if self.means.fitted is None:
            raise InvalidData.field(
                "covariates", "follow from each other in an arm", "leave out those that the others tell"
            )
        return self

    @cached_property
    def scale(self) -> ScoreRange | None:
        """The range that outcomes lie in: as declared, 0 to 1 where all do, else None."""
        return self.range or (UNIT if lies_in_unit(*self.arrays()) else None)

    @cached_property
    def means(self) -> UnpairedMeans:
        """The arms, and what they show."""
        baseline, candidate = self.arrays()
        codes = covariates = None
        if self.clusters is not None:
            codes = codes_of([*map(str, self.clusters.baseline), *map(str, self.clusters.candidate)])
        if self.covariates is not None:
            columns = [[*covariate.baseline, *covariate.candidate] for covariate in self.covariates.values()]
            covariates = np.array(columns, dtype=np.float64).T
        return UnpairedMeans(baseline, candidate, codes, covariates, self.scale)


class ArmFacts(Record):
    """The outcomes of one arm in numbers."""

    mean: float = Field(description="Of its outcomes as sent, a proportion or score units.")
    n: int = Field(description="Items, a count.")
    n_clusters: int | None = Field(description="Clusters, a count.")
    design_effect: float | None = Field(
        description="Items that count for one: the design effect, at least 1, with an allowance for few clusters."
    )


class Adjustment(Record):
    """What the covariates did to the estimate."""

    covariates: list[str] = Field(description="Their names.")
    unadjusted: float = Field(description="Difference of the plain means, score units.")
    unadjusted_ci: Interval | None = Field(description="Its t interval.")
    explained: float | None = Field(
        description="Share of the variance within arms that they explain, a proportion."
    )
    items_saved: float | None = Field(
        description="Share of the items that the adjustment stands for, 1 - (se / plain se)^2; below 0 it costs some."
    )


class UnpairedDifferenceAnalysis(Analysis):
    """What two arms on different items show of the difference of their means."""

    delta: float = Field(
        description="Candidate minus baseline, adjusted where covariates were sent, score units."
    )
    ci: Interval | None = Field(
        description="The interval that decides; `furthest`: each end the further of the t interval and the melded one."
    )
    se: float | None = Field(description="Standard error of delta: CR2 with clusters, else HC2, score units.")
    df: float | None = Field(
        description="Its degrees of freedom: Welch's, with clusters or covariates Bell and McCaffrey's."
    )
    p_value: float | None = Field(
        description="Of H0: the means are equal, by the interval that decides turned around."
    )
    alternative: DirectionTested
    intervals: dict[str, Interval] = Field(description="Every interval of delta by its method, score units.")
    baseline_arm: ArmFacts = Field(description="The baseline.")
    candidate_arm: ArmFacts = Field(description="The candidate.")
    n_shared_clusters: int | None = Field(description="Clusters with items in both arms, a count.")
    adjustment: Adjustment | None = Field(description="By covariates.")
    range_low: float | None = Field(description="The low end of the range that scores are taken to have.")
    range_high: float | None = Field(description="Its high end.")
    min_attainable_p: float = Field(
        description="Least two-sided p that giving the items, or clusters, to the arms at random could have."
    )


def _estimate_cost(request: UnpairedDifferenceRequest) -> float:
    n = len(request.baseline) + len(request.candidate)
    return 0.3 + 4e-6 * n * (2 + 2 * len(request.covariates or ()))


@stat_test(
    name="unpaired-difference",
    version=1,
    title="Unpaired difference of means (clusters, CUPED)",
    asked="unpaired",
    example={
        "baseline": [0.5, 0.25, 0.75, 0.5, 0.25, 0.5],
        "candidate": [0.75, 1.0, 0.5, 0.75, 1.0, 0.75, 1.0],
        "range": {"low": 0, "high": 1},
    },
    cost=_estimate_cost,
    serves=frozenset({"unpaired_means"}),
)
def unpaired_difference(request: UnpairedDifferenceRequest) -> UnpairedDifferenceAnalysis:
    """Estimate how much two arms differ that were asked different items.

    Items of either arm are samples of such items, independent or in clusters, which may have items in both arms. H0 is
    that the means are equal. With a known range each arm's own bounds (Clopper and Pearson's of right and wrong,
    Gaffke's of scores) are melded into those of the difference: they assume no shape, and outcomes too rare to have
    been seen are in them. With covariates the difference is that of two lines at the covariates' mean, an intercept and
    slopes for each arm (CUPED).

    Returns:
        ci: independent items: melded. Clusters or covariates: each end the further of that, at the effective number of
            items, and of CR2 (HC2) t. Without a known range that of t and of the range that was seen.
        p_value: the same turned around; two-sided twice the smaller.
        adjustment: the plain difference beside the adjusted one, and what the covariates saved.

    Raises:
        InvalidData: an arm without items, columns of different length, an arm with a single cluster, scores outside the
            range, or a covariate that does not vary in an arm.

    Edge cases:
        One item in an arm: se and df are null; the melded interval stands, of scores in a known range.
        All outcomes alike: the melded interval still has a width; without a range the interval is null.
        One cluster that alone decides a slope: the interval is null.
        No range and scores between 0 and 1: 0 and 1 are taken, warning RANGE_TAKEN; elsewhere UNKNOWN_RANGE.
        Few clusters: FEW_CLUSTERS or CAUTION, LOW_DF below 4 degrees of freedom, and FLOOR_ABOVE_ALPHA where the
            clusters are too few for any answer.
        Covariates: COVARIATE_KNOWN_BEFORE, and FEW_FOR_COVARIATES below 20 items an arm for each.

    Sources:
        Fay, Proschan & Brittain (2015), Biometrics 71:146 (melding). Gaffke (2005), Math Methods Statist 14:451.
        Bell & McCaffrey (2002), Surv Methodol 28:169. Pustejovsky & Tipton (2018), JBES 36:672.
        Lin (2013), Ann Appl Stat 7:295. Deng, Xu, Kohavi & Walker (2013), WSDM (CUPED).

    Example:
        Six items with a mean of .458 and seven others with .821: delta .363, Welch's interval is .131 to .595; the
        melded one reaches further, since 7 items do not rule out outcomes near 0.
    """
    means = request.means
    fitted = means.fitted
    assert fitted is not None  # noqa: S101 - the request is refused without
    tail = (1 - request.level) / 2
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    ci = p_value = None
    if means.deciding is None:
        why = (
            "one item or cluster alone decides a mean or a slope" if means.error is None else "nothing varies"
        )
        reasons |= dict.fromkeys(("ci", "p_value"), f"{why}, which is no certainty")
    else:
        ci = make_interval(means.deciding, request.level)
        p_value = apply_floor(
            p_against_zero(means.deciding[1], request.alternative), "p_value", bounds, 1e-12
        )
    if means.error is None:
        reasons |= dict.fromkeys(("se", "df"), "one item or cluster alone decides a mean or a slope")
    if means.scale is None:
        reasons |= dict.fromkeys(
            ("range_low", "range_high"), "no range was declared, nor do scores lie in 0 to 1"
        )
    arms = [_facts(means, at, name, reasons) for at, name in enumerate(("baseline_arm", "candidate_arm"))]
    shared = _count_shared(means)
    if shared is None:
        reasons["n_shared_clusters"] = NO_CLUSTERS
    least = apply_floor(_least_p(means, shared), "min_attainable_p", bounds)
    return UnpairedDifferenceAnalysis(
        delta=fitted.delta,
        ci=ci,
        se=None if means.error is None else means.error[0],
        df=None if means.error is None else means.error[1],
        p_value=p_value,
        alternative=request.alternative,
        intervals={name: make_interval((name, kind), request.level) for name, kind in means.beside.items()},
        baseline_arm=arms[0],
        candidate_arm=arms[1],
        n_shared_clusters=shared,
        adjustment=_adjustment(request, tail, reasons),
        range_low=None if means.scale is None else means.scale.low,
        range_high=None if means.scale is None else means.scale.high,
        min_attainable_p=least,
        reasons=reasons,
        bounds=bounds,
        warnings=_list_warnings(request, least),
        sentence=_describe(request, ci, p_value, bounds),
    )


def _facts(means: UnpairedMeans, at: int, name: str, reasons: dict[str, str]) -> ArmFacts:
    """One arm in numbers; what clusters alone have is null, with its reason in `reasons`."""
    raw, (_, codes) = (means.baseline, means.candidate)[at], means.arm(at)
    if codes is None:
        reasons |= dict.fromkeys((f"{name}.n_clusters", f"{name}.design_effect"), NO_CLUSTERS)
    return ArmFacts(
        mean=float(raw.mean()),
        n=len(raw),
        n_clusters=None if codes is None else int(codes.max()) + 1,
        design_effect=None if codes is None else means.effects[at],
    )


def _sides(means: UnpairedMeans) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the clusters of either arm, every item one of its own without any."""
    n0, n = len(means.baseline), len(means.baseline) + len(means.candidate)
    codes = np.arange(n) if means.codes is None else means.codes
    return np.unique(codes[:n0]), np.unique(codes[n0:])


def _count_shared(means: UnpairedMeans) -> int | None:
    return None if means.codes is None else len(np.intersect1d(*_sides(means)))


def _least_p(means: UnpairedMeans, shared: int | None) -> float:
    """The least p: of the ways to give units to the arms one is the furthest, with its mirror image.

    A unit that both arms share can be given in two ways.
    """
    both = shared or 0
    alone0, alone1 = (len(side) - both for side in _sides(means))
    log = float(
        special.gammaln(alone0 + 1) + special.gammaln(alone1 + 1) - special.gammaln(alone0 + alone1 + 1)
    )
    return min(1.0, 2 * math.exp(max(log - both * math.log(2), -740)))


def _adjustment(
    request: UnpairedDifferenceRequest, tail: float, reasons: dict[str, str]
) -> Adjustment | None:
    """Return the difference without covariates, and what they explain of it; None where none were sent."""
    means = request.means
    plain, fitted = means.plain, means.fitted
    if request.covariates is None or plain is None or fitted is None:
        reasons["adjustment"] = "no covariates were sent"
        return None
    ci = saved = None
    if means.plain_error is not None and means.plain_error[0] > 0:
        se, df = means.plain_error
        low, high = StudentBounds(plain.delta, se, df).ends(tail)
        ci = Interval(low=low, high=high, level=request.level, method=means.method)
        saved = None if means.error is None else 1 - (means.error[0] / se) ** 2
    if ci is None:
        reasons["adjustment.unadjusted_ci"] = "the plain difference has no standard error"
    if saved is None:
        reasons["adjustment.items_saved"] = "a difference has no standard error"
    if fitted.explained is None:
        reasons["adjustment.explained"] = "outcomes do not vary"
    return Adjustment(
        covariates=list(request.covariates),
        unadjusted=plain.delta,
        unadjusted_ci=ci,
        explained=fitted.explained,
        items_saved=saved,
    )


def _list_warnings(request: UnpairedDifferenceRequest, least: float) -> tuple[StatWarning, ...]:
    """List what a reader should know of these data: their range, clusters, covariates and few units."""
    means, arrays = request.means, request.arrays()
    warnings: list[StatWarning] = []
    if means.scale is None:
        warnings.append(UNKNOWN_RANGE())
        if means.codes is None and means.error is not None:
            moved = [means.arm(at)[0] for at in (0, 1)]
            sides = [(-1) ** (1 - at) * (arm - arm.mean()) / len(arm) for at, arm in enumerate(moved)]
            warnings += warn_if_skewed(np.concatenate(sides), "items")
    elif request.range is None and not is_binary(*arrays):
        warnings.append(RANGE_TAKEN())
    units, fewest = "items", min(map(len, arrays))
    if means.codes is not None:
        numbers = [codes for _, codes in (means.arm(0), means.arm(1)) if codes is not None]
        sizes = [np.bincount(codes).astype(np.float64) for codes in numbers]
        units, fewest = "clusters", min(map(len, sizes))
        of_clusters = [warning for side in sizes for warning in cluster_warnings(side)]
        warnings += list({warning.code: warning for warning in of_clusters}.values())
        if means.error is not None and means.error[1] < LEAST_DF:
            warnings.append(LOW_DF(df=means.error[1]))
    if least >= request.alpha:
        warnings.append(
            FLOOR_ABOVE_ALPHA(what=f"so few {units}", least=least, alpha=request.alpha, more=units)
        )
    if request.covariates is not None:
        warnings.append(COVARIATE_KNOWN_BEFORE())
        k = len(request.covariates)
        if fewest < FEW_PER_SLOPE * k:
            covariates = f"{k} covariate{'' if k == 1 else 's'}"
            warnings.append(FEW_FOR_COVARIATES(n=fewest, units=units, covariates=covariates))
    return tuple(warnings)


def _describe(
    request: UnpairedDifferenceRequest, ci: Interval | None, p: float | None, bounds: dict[str, str]
) -> str:
    """Describe the difference of means of two samples, its interval and its test in one sentence."""
    means, arrays = request.means, request.arrays()
    binary = is_binary(*arrays)
    fitted = means.fitted
    delta = 0.0 if fitted is None else fitted.delta
    n0, n1 = map(len, arrays)
    values: dict[str, Value] = {
        "delta": difference_of(delta, binary=binary),
        "n0": n0,
        "n1": n1,
        "adjusted": ""
        if request.covariates is None
        else message("analyses.adjusted", names=list_values(request.covariates, "lists.comma")),
    }
    if ci is None or p is None or ci.low is None or ci.high is None:
        return speak("analyses.unpaired_open", **values)
    return speak(
        "analyses.unpaired",
        **values,
        interval=ci_of(ci, binary=binary, phrase="ci_of", method=ci.method),
        alternative=describe_sides(request.alternative),
        decision=decision(p, request.alpha, "runs.equal_means", bound=bounds.get("p_value")),
        apart=disagreement(ci, p, request.alpha, request.alternative),
    )
