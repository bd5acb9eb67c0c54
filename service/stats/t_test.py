"""Welch's, Student's and the paired t-test."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.numeric.moments import Moments
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.kernels.planning import simulated_pairs as simulated
from service.records import Record
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.samples import (
    CONSTANT_DATA,
    Arms,
    EffectSizes,
    LabelScheme,
    TwoSamples,
    arms_of,
    effect_sizes,
)
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, StatWarning
from service.stats.shared.declaring.fields import Alpha, DirectionTested, LevelOfAll
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    describe_sides,
    difference_of,
    disagreement,
    state_reason,
)
from service.stats.shared.declaring.simulated import FieldRequest, Simulated, Units, Value
from service.stats.shared.declaring.warnings import define
from service.words import speak

Method = Literal["welch", "student", "paired"]

FEW_RUNS_T = define("FEW_RUNS_T", "caution", "Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295")


class TTestRequest(TwoSamples):
    """Two arms of runs; `paired` needs one value per item in both, in the same order."""

    elsewhere: ClassVar = {
        "clusters": "cluster-bootstrap",
        "margin": "equivalence",
        "design": "effect-size",
        "n_resamples": "bootstrap-difference",
    }

    method: Method = Field("welch", description="welch: unequal variances; student: pooled; paired.")
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: LevelOfAll = 0.95
    label_scheme: LabelScheme = Field("cohen_1988", description="Cut points of the effect's label.")


class ArmSummary(Record):
    """The runs of one arm in numbers."""

    n: int = Field(description="Runs.")
    mean: float = Field(description="Score units.")
    sd: float | None = Field(description="Sample SD (ddof 1), score units.")
    se: float | None = Field(description="Standard error of the mean, score units.")


class TTestAnalysis(Analysis, EffectSizes):
    """What the t-test shows of the difference of two means."""

    delta: float = Field(description="Mean of the candidate minus mean of the baseline, score units.")
    ci: Interval | None = Field(description="Two-sided t interval of delta, whatever the alternative.")
    p_value: float | None = Field(description="Of the chosen method and alternative.")
    t: float | None = Field(description="delta / se.")
    df: float | None = Field(description="Degrees of freedom; Welch-Satterthwaite for welch.")
    se: float | None = Field(description="Standard error of delta, score units.")
    method: Method = Field(description="As asked.")
    alternative: DirectionTested
    n: int = Field(description="Runs of both arms together; pairs when paired.")
    baseline: ArmSummary = Field(description="Runs of the baseline.")
    candidate: ArmSummary = Field(description="Runs of the candidate.")
    improvement_pct: float | None = Field(description="100 delta / mean of the baseline, percent.")


def _estimate_cost(request: TTestRequest) -> float:
    return 0.005 + 4e-7 * (len(request.baseline) + len(request.candidate))


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    **dict.fromkeys(("t", "cohens_d", "hedges_g", "glass_delta", "cohens_dz"), shows.Signed()),
    **dict.fromkeys(("cohens_d_ci", "hedges_g_ci", "cohens_dz_ci"), shows.Covers(shows.by_level, origin=0)),
    **shows.no_meaning("df", "se", "baseline.*", "candidate.*", "improvement_pct"),
}


def _simulate(units: Units, request: FieldRequest, path: tuple[str, ...]) -> Value | None:
    """Interval or p of every simulated data set; None where a field is not simulated."""
    df: NDArray[np.float64] | float
    if request.parameter("method") == "paired":
        delta, se, df = simulated.robust("cr1", units.sums, units.sizes)
    elif units.arms is not None:
        delta, se, df = simulated.compute_unpaired(
            *units.arms, pooled=request.parameter("method") == "student"
        )
    else:
        return None
    if path == ("ci",):
        return simulated.t_interval(delta, se, df, request.level)
    if path == ("p_value",):
        t = np.where(se > 0, delta / np.where(se > 0, se, 1.0), np.nan)
        return simulated.t_tail(t, df, request.parameter("alternative"))
    return None


@stat_test(
    name="t-test",
    version=1,
    title="t-test of two means (Welch, Student, paired)",
    asked="unpaired",
    example={"baseline": [73.0, 75.0, 77.0, 74.0, 76.0], "candidate": [85.0, 87.0, 86.0, 88.0, 84.0]},
    cost=_estimate_cost,
    closed_form=True,
    plan=PlanUse(
        endpoints=frozenset({"continuous", "binary"}),
        shows=SHOWS,
        simulated=Simulated(_simulate),
        pairs=lambda parameter: parameter("method") == "paired",
    ),
)
def t_test(request: TTestRequest) -> TTestAnalysis:
    """Test whether two arms have the same mean.

    Runs are independent draws of roughly normal scores; H0 says both means are equal.
    ``welch`` lets the arms differ in variance, ``student`` pools it, ``paired`` tests the
    mean of the differences item by item. t = delta / se is compared with Student's t.

    Returns:
        delta: candidate mean minus baseline mean, score units.
        p_value: of the chosen method and alternative.
        ci: two-sided t interval of delta.
        cohens_d, hedges_g, glass_delta, cohens_dz: standardized effects, d and d_z with
            noncentral-t intervals; d pools the sample SDs (ddof 1) under every method.

    Raises:
        InvalidData: an empty arm, values beyond 1e150, or paired columns of different length.

    Edge cases:
        No spread in either arm (paired: constant differences): t, p and ci are null, warning CONSTANT_DATA.
        One run in an arm: Welch is undefined and null; Student works while the other arm has two.
        Differences equal up to rounding (0.3 - 0.1, 0.4 - 0.2) are constant.
        Baseline mean of 0 or below: improvement_pct is null.
        Skewed differences: warning SKEWED below 25 times the squared skewness; of two independent arms
            what counts is the skewness left in the difference of their means.
        p below 1e-300: printed as that bound.

    Sources:
        Welch (1947), Biometrika 34:28.
        Goulet-Pelletier & Cousineau (2018), TQMP 14:242 (d, g and their intervals).

    Example:
        Five runs of 73..77 against five of 84..88: t = 11 on 8 df, p = 4.1e-6, d = 6.96, g = 6.28.
    """
    paired = request.method == "paired"
    arms = arms_of(*request.arrays(), paired=paired)
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    delta = arms.delta
    se, df, reason = standard_error(arms, request.method)
    t = p_value = ci = None
    if se and df and not math.isfinite(delta / se):
        reason = "the spread is nothing beside the difference"
        reasons |= dict.fromkeys(("t", "p_value", "ci"), reason)
    elif se and df:
        t = delta / se
        p_value = apply_floor(t_tail(t, df, request.alternative), "p_value", bounds)
        half = t_quantile(0.5 + request.level / 2, df) * se
        ci = Interval(low=delta - half, high=delta + half, level=request.level, method=f"{request.method} t")
    else:
        reasons |= dict.fromkeys(("t", "p_value", "ci"), reason)
        if df is None:
            reasons["df"] = reason
        if se is None:
            reasons["se"] = reason
    improvement = 100 * delta / arms.baseline.mean if arms.baseline.mean > 0 else None
    if improvement is None or not math.isfinite(improvement):
        improvement = None
        reasons["improvement_pct"] = "a percentage needs a baseline mean above 0"
    effects = effect_sizes(arms, request.level, request.label_scheme, reasons)
    smaller = min(arms.baseline.n, arms.candidate.n)
    warnings = [FEW_RUNS_T(n=smaller)] if smaller < 20 else []
    if t is not None:
        warnings += _warn_if_skewed(*request.arrays(), paired=paired)
    if se == 0:
        warnings.append(CONSTANT_DATA())
    return TTestAnalysis(
        **effects.model_dump(),
        delta=delta,
        ci=ci,
        p_value=p_value,
        t=t,
        df=df,
        se=se,
        method=request.method,
        alternative=request.alternative,
        n=arms.baseline.n if paired else arms.baseline.n + arms.candidate.n,
        baseline=_summary(arms.baseline, "baseline", reasons),
        candidate=_summary(arms.candidate, "candidate", reasons),
        improvement_pct=improvement,
        reasons=reasons,
        bounds=bounds,
        warnings=tuple(warnings),
        sentence=_describe(request, delta, ci, t, df, p_value, reason, bounds.get("p_value")),
    )


def standard_error(arms: Arms, method: Method) -> tuple[float | None, float | None, str]:
    """Return the standard error of delta, its degrees of freedom, and why t is undefined where it is."""
    if arms.differences is not None:
        sd, n = arms.differences.sd, arms.differences.n
        if sd is None:
            return None, None, "a single pair has no SD"
        return sd / math.sqrt(n), n - 1.0, "the differences are constant"
    first, second = arms.baseline, arms.candidate
    scale = max(first.sd or 0.0, second.sd or 0.0)
    # In units of the larger SD: squares of very large or small scores neither overflow nor vanish.
    sd1, sd2 = (0.0 if not m.sd else m.sd / scale for m in (first, second))
    if method == "student":
        total = first.n + second.n - 2
        if total < 1:
            return None, None, "one run per arm has no SD"
        pooled = ((first.n - 1) * sd1**2 + (second.n - 1) * sd2**2) / total
        se = scale * math.sqrt(pooled * (1 / first.n + 1 / second.n))
        return se, float(total), "no spread within the arms"
    if first.sd is None or second.sd is None:
        return None, None, "Welch's test needs two runs in each arm"
    v1, v2 = sd1**2 / first.n, sd2**2 / second.n
    if v1 + v2 == 0:
        return 0.0, None, "no spread within the arms"
    share = v1 / (v1 + v2)
    # Welch (1947) and Satterthwaite: (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1)), with v1 as a share of the
    # sum.
    df = 1 / (share**2 / (first.n - 1) + (1 - share) ** 2 / (second.n - 1))
    return scale * math.sqrt(v1 + v2), df, ""


def _warn_if_skewed(
    baseline: NDArray[np.float64], candidate: NDArray[np.float64], *, paired: bool
) -> tuple[StatWarning, ...]:
    """SKEWED, of the differences, or of what the runs of both arms add to the difference of their means."""
    if paired:
        difference = candidate - baseline
        return warn_if_skewed(difference - difference.mean(), "differences")
    # What one run adds to the difference of the means; the baseline's with its sign, so that like skewness cancels.
    apart = (baseline.mean() - baseline) / len(baseline), (candidate - candidate.mean()) / len(candidate)
    return warn_if_skewed(np.concatenate(apart), "runs")


def _summary(m: Moments, name: str, reasons: dict[str, str]) -> ArmSummary:
    if m.sd is None:
        reasons[f"{name}.sd"] = reasons[f"{name}.se"] = "a single run has no SD"
    return ArmSummary(n=m.n, mean=m.mean, sd=m.sd, se=m.se)


def _describe(
    request: TTestRequest,
    delta: float,
    ci: Interval | None,
    t: float | None,
    df: float | None,
    p: float | None,
    reason: str,
    bound: str | None,
) -> str:
    """Describe the difference, its interval and its test in one sentence, or why there is none."""
    difference = difference_of(delta, binary=False)
    if ci is None or ci.low is None or ci.high is None or p is None or t is None or df is None:
        why = state_reason(reason)
        return speak("analyses.t_test_undefined", delta=difference, method=request.method, reason=why)
    return speak(
        "analyses.t_test",
        delta=difference,
        interval=ci_of(ci, binary=False),
        method=request.method,
        t=t,
        df=df,
        alternative=describe_sides(request.alternative),
        decision=decision(p, request.alpha, "runs.equal_means", bound=bound),
        apart=disagreement(ci, p, request.alpha, request.alternative),
    )
