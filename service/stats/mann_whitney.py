"""The Mann-Whitney U test with the shift it estimates."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import special

from service.errors import InvalidData
from service.kernels.numeric import ranks
from service.kernels.planning import simulated_pairs as simulated
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.samples import TwoSamples
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.common import Alternative, Analysis, Interval
from service.stats.shared.declaring.fields import Alpha, DirectionTested, Level
from service.stats.shared.declaring.plan_use import Extent, Least, PlanUse, least_of_normal, sides_of
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import decision, describe_sides, difference_of, disagreement
from service.stats.shared.declaring.simulated import FieldRequest, Simulated, Units, Value
from service.stats.shared.declaring.warnings import FLOOR_ABOVE_ALPHA, define
from service.stats.shared.methods.rank_tests import Method, MethodUsed, Ordered, name_interval, normal_p
from service.words import speak

METHODS = "analyses.apart_ranks"
EXACT_BY_DEFAULT = 100
"""Runs of both arms up to which the exact distribution is taken unasked."""
EXACT_AT_MOST = 200
"""Runs up to which it is given where it is asked for: sums of subsets of every size are counted."""

ALL_TIED = define("ALL_TIED", "serious")


class MannWhitneyRequest(TwoSamples):
    """Two independent arms of runs."""

    elsewhere: ClassVar = {
        "clusters": "randomization",
        "margin": "equivalence",
        "n_resamples": "bootstrap-difference",
    }

    method: Method = Field(
        "auto",
        description="exact: permutation of ranks, ties included (at most 200 runs); asymptotic: normal with "
        "tie correction; corrected: with continuity correction too; auto: exact up to 100 runs.",
    )
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: Level = 0.95


class MannWhitneyAnalysis(Analysis):
    """What the Mann-Whitney test found."""

    delta: float = Field(description="Hodges-Lehmann shift: median of all candidate - baseline, score units.")
    ci: Interval = Field(description="Interval of the shift, by order statistics of the differences.")
    p_value: float = Field(
        description="Of the method used and the alternative; two-sided: twice the smaller tail, at most 1."
    )
    u: float = Field(description="U of the candidate: pairs it wins, ties counted half.")
    u_baseline: float = Field(description="U of the baseline; both add up to n_baseline n_candidate.")
    z: float | None = Field(description="Standardized U of the normal methods.")
    method: MethodUsed
    alternative: DirectionTested
    n: int = Field(description="Runs of both arms together.")
    n_baseline: int = Field(description="Runs.")
    n_candidate: int = Field(description="Runs.")
    n_ties: int = Field(description="Runs that share their value with another.")
    common_language: float = Field(description="P(candidate > baseline) + P(equal) / 2, a proportion.")
    rank_biserial: float = Field(
        description="2 common_language - 1, from -1 to 1; above 0: candidate higher."
    )
    min_attainable_p: float = Field(description="Least p with these sizes: every candidate run above.")


def _estimate_cost(request: MannWhitneyRequest) -> float:
    runs = len(request.baseline) + len(request.candidate)
    return 0.001 + (2e-6 * runs**2 if runs <= EXACT_AT_MOST else 6e-6 * runs)


SHOWS: shows.Shows = {
    # the shift and the order of runs can point the other way than the difference of means
    "ci": shows.Covers(shows.by_level, around=False),
    "p_value": shows.PValue(shows.against_zero, fixes=lambda _: False, lean=("rank_biserial",)),
    **shows.no_meaning(
        "delta", "u", "u_baseline", "z", "common_language", "rank_biserial", "min_attainable_p"
    ),
}


def _least_p(extent: Extent, parameter: shows.Parameter) -> Least:
    """Every run of one arm above every run of the other."""
    n, unit, by = extent.n, "items per arm", "the rank-sum test"
    method = parameter("method")
    if method == "exact" or (method == "auto" and 2 * n <= EXACT_BY_DEFAULT):
        return Least(min(Fraction(sides_of(parameter), math.comb(2 * n, n)), Fraction(1)), n, unit, by)
    # furthest out, and least varied by ties: two values, one per arm
    # Two groups of n ties lose 2 (n^3 - n) / (N (N - 1)) of the variance n n / 12 (N + 1), N = 2n (as in _variance).
    lost = 2 * (n**3 - n) / (2 * n * (2 * n - 1))
    spread = n * n / 12 * (2 * n + 1 - lost)
    return least_of_normal(parameter, n * n / 2 / math.sqrt(spread), n, unit, by)


def _simulate(units: Units, request: FieldRequest, path: tuple[str, ...]) -> Value | None:
    """Return the p of every simulated data set, where both arms are drawn; None for other fields."""
    if path != ("p_value",) or units.arms is None:
        return None
    method = request.parameter("method")
    return simulated.rank_sum_p(
        *units.arms,
        request.parameter("alternative"),
        exact_up_to={"exact": EXACT_AT_MOST, "auto": EXACT_BY_DEFAULT}.get(method, -1),
        step=0.5 if method == "corrected" else 0.0,
    )


@stat_test(
    name="mann-whitney",
    version=1,
    title="Mann-Whitney U test (independent arms)",
    asked="unpaired",
    example={"baseline": [73.0, 75.0, 77.0, 74.0, 76.0], "candidate": [85.0, 87.0, 86.0, 88.0, 84.0]},
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"continuous"}),
        shows=SHOWS,
        effect=lambda _parameter: shows.Effect("shift"),
        least_p=_least_p,
        pairs=lambda _parameter: False,
        simulated=Simulated(_simulate),
    ),
)
def mann_whitney(request: MannWhitneyRequest) -> MannWhitneyAnalysis:
    """Test whether runs of one arm tend to score higher than runs of the other.

    H0: both arms draw from one distribution, so every assignment of ranks is equally likely.
    U counts the pairs (baseline run, candidate run) that the candidate wins, ties as half.
    It is not a test of means; as a test of medians it needs equal shapes.

    Returns:
        delta: Hodges-Lehmann shift, the median of all differences candidate - baseline.
        ci: order statistics of these differences.
        p_value: two-sided p is twice the smaller tail, at most 1, also where ties make the tails unlike.
        common_language: chance that a candidate run beats a baseline run.

    Raises:
        InvalidData: an empty arm, values beyond 1e150, or `exact` for more than 200 runs.

    Edge cases:
        Ties: midranks; `exact` permutes them, so it stays exact.
        All values equal: p 1, warning ALL_TIED. Too few runs to reach alpha: FLOOR_ABOVE_ALPHA.
        Too few runs for the level: the interval has null ends (unbounded).
        Ties make the interval wider than its level, never narrower.

    Sources:
        Mann & Whitney (1947), Ann Math Stat 18:50.
        Hollander, Wolfe & Chicken (2014), Nonparametric Statistical Methods, ch. 4.

    Example:
        Five runs of 73..77 against five of 84..88: U = 25, exact p = 2/252 = .00794.
    """
    baseline, candidate = (np.sort(column) for column in request.arrays())
    n0, n1 = baseline.size, candidate.size
    total = n0 + n1
    method = request.method
    if method == "auto":
        method = "exact" if total <= EXACT_BY_DEFAULT else "asymptotic"
    if method == "exact" and total > EXACT_AT_MOST:
        raise InvalidData.field("method", f"'exact' is for at most {EXACT_AT_MOST} runs", "use 'auto'")
    rank, ties = ranks.midranks(np.concatenate([baseline, candidate]))
    # The candidate's rank sum less the least it can be (Mann & Whitney 1947).
    u = float(rank[n0:].sum()) - n1 * (n1 + 1) / 2
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    z = None
    if method == "exact":
        raw_p = _exact(rank, n0, n1, request.alternative)
        least = 1 / math.comb(total, n0) * (2 if request.alternative == "two-sided" else 1)
        reasons["z"] = "an exact test has no z"
    else:
        step = 0.5 if method == "corrected" else 0.0
        sd = math.sqrt(_variance(n0, n1, ties))
        z, raw_p = normal_p(u - n0 * n1 / 2, sd, step, request.alternative)
        if z is None:
            reasons["z"] = "all values are equal"
        # z is greatest for arms that are wholly apart and each of one value
        free = math.sqrt(_variance(n0, n1, np.array([n0, n1])))
        side: Alternative = "two-sided" if request.alternative == "two-sided" else "greater"
        least = max(normal_p(n0 * n1 / 2, free, step, side)[1], 1e-300)
    p_value = apply_floor(raw_p, "p_value", bounds)
    shifts = Ordered(n0 * n1, partial(ranks.kth_difference, baseline, candidate))
    ci = _interval(shifts, n0, n1, request.level)
    if ci.low is None:
        reasons["ci.low"] = reasons["ci.high"] = "unbounded: too few runs for an interval of this level"
    delta = shifts.median()
    warnings = [ALL_TIED()] if ties.size == 1 and total > 1 else []
    if least >= request.alpha:
        what = f"ranking {n0} and {n1} runs"
        warnings.append(FLOOR_ABOVE_ALPHA(what=what, least=min(1.0, least), alpha=request.alpha, more="runs"))
    return MannWhitneyAnalysis(
        delta=delta,
        ci=ci,
        p_value=p_value,
        u=u,
        u_baseline=n0 * n1 - u,
        z=z,
        method=method,
        alternative=request.alternative,
        n=total,
        n_baseline=n0,
        n_candidate=n1,
        n_ties=int(ties[ties > 1].sum()),
        common_language=u / (n0 * n1),
        rank_biserial=2 * u / (n0 * n1) - 1,
        min_attainable_p=min(1.0, least),
        reasons=reasons,
        bounds=bounds,
        warnings=tuple(warnings),
        sentence=_describe(request, delta, ci, u / (n0 * n1), p_value, bounds.get("p_value"), method),
    )


def _exact(rank: NDArray[np.float64], n0: int, n1: int, alternative: Alternative) -> float:
    """Return the permutation p of U by counting all assignments of the ranks, ties included."""
    # Mid-ranks are halves: doubled they are whole, and the sums of all subsets are counted exactly, ties included.
    doubled = np.rint(2 * rank).astype(np.int64)
    swap = n0 < n1
    # The ranks of the smaller arm: fewer subsets, and its high sums are the other arm's low ones.
    part = doubled[:n0] if swap else doubled[n0:]
    low, high = ranks.tail_probabilities(ranks.subset_sums(doubled, part.size), int(part.sum()))
    better, worse = (low, high) if swap else (high, low)
    if alternative == "two-sided":
        return min(1.0, 2 * min(better, worse))
    return better if alternative == "greater" else worse


def _variance(n0: int, n1: int, ties: NDArray[np.float64] | NDArray[np.int64]) -> float:
    total = n0 + n1
    sizes = ties.astype(np.float64)
    # Hollander, Wolfe & Chicken (2014), 4.1, with ties: n0 n1 / 12 (N + 1 - sum(t^3 - t) / (N (N - 1))).
    lost = float(np.sum(sizes**3 - sizes)) / (total * (total - 1))
    return max(n0 * n1 / 12 * (total + 1 - lost), 0.0)


def _interval(shifts: Ordered, n0: int, n1: int, level: float) -> Interval:
    """The untied null distribution of U tells how many extreme differences to leave out on each side."""
    if n0 + n1 <= EXACT_AT_MOST:
        size = min(n0, n1)
        # Rank sums begin at size (size + 1) / 2, where U is 0: the slice turns their law into that of U.
        pmf = ranks.subset_sums(np.arange(1, n0 + n1 + 1), size)[size * (size + 1) // 2 :]
        k = ranks.order_statistic_index(pmf, (1 - level) / 2)
    else:
        z = float(special.ndtri(0.5 + level / 2))
        # Hollander, Wolfe & Chicken (2014), 4.3: C = n0 n1 / 2 - z sd(U) differences are left out below, and as
        # many above.
        k = max(0, math.floor(shifts.count / 2 - z * math.sqrt(_variance(n0, n1, np.ones(0)))))
    return shifts.interval(k, level)


def _describe(
    request: MannWhitneyRequest,
    delta: float,
    ci: Interval,
    wins: float,
    p: float,
    bound: str | None,
    method: str,
) -> str:
    """Describe how often the candidate wins, the shift, its interval and its test in one sentence."""
    return speak(
        "analyses.mann_whitney",
        wins=wins,
        delta=difference_of(delta, binary=False),
        interval=name_interval(ci),
        method=method,
        alternative=describe_sides(request.alternative),
        decision=decision(p, request.alpha, "analyses.common_distribution", bound=bound, shows="analyses.it"),
        apart=disagreement(ci, p, request.alpha, request.alternative, METHODS),
    )
