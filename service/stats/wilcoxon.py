"""The Wilcoxon signed-rank test with the pseudo-median it estimates."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy import special

from service.errors import InvalidData
from service.kernels.numeric import ranks
from service.kernels.numeric.moments import difference_noise
from service.kernels.planning import simulated_pairs as simulated
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.samples import require_values
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, PairedColumns
from service.stats.shared.declaring.fields import Alpha, DirectionTested, Level
from service.stats.shared.declaring.plan_use import (
    Extent,
    Least,
    PlanUse,
    Spoken,
    furthest_mean,
    least_of_normal,
    least_of_signs,
)
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import decision, describe_sides, difference_of, disagreement
from service.stats.shared.declaring.simulated import FieldRequest, Floats, Simulated, Units
from service.stats.shared.declaring.warnings import FLOOR_ABOVE_ALPHA, define
from service.stats.shared.methods.rank_tests import Method, MethodUsed, Ordered, name_interval, normal_p
from service.words import speak

METHODS = "analyses.apart_ranks_zeros"
ZeroMethod = Literal["wilcox", "pratt", "zsplit"]
EXACT_BY_DEFAULT = 50
"""Differences up to which the exact distribution is taken unasked."""
EXACT_AT_MOST = 500
"""Differences up to which it is given where it is asked for: its time grows with their cube."""

NO_DIFFERENCES = define("NO_DIFFERENCES", "serious")
MANY_ZEROS = define("MANY_ZEROS", "caution", "Pratt (1959), JASA 54:655")

ROUNDING_TIES = define("ROUNDING_TIES", "caution", "R Core Team, ?wilcox.test (digits.rank)")


class WilcoxonRequest(PairedColumns):
    """Two arms on the same items."""

    elsewhere: ClassVar = {"clusters": "randomization", "margin": "equivalence", "metric": "randomization"}

    method: Method = Field(
        "auto",
        description="exact: sign permutation of the ranks, ties included (at most 500 non-zero differences); "
        "asymptotic: normal; corrected: with continuity correction; auto: exact up to 50.",
    )
    zero_method: ZeroMethod = Field(
        "wilcox",
        description="wilcox: zeros dropped; pratt: ranked, then dropped; zsplit: ranked, half to each side.",
    )
    ties: Literal["float", "rounded"] = Field(
        "float",
        description="float: differences tie when the floats are equal, as in R and scipy; "
        "rounded: also when they differ by rounding only (0.3 - 0.1, 0.4 - 0.2).",
    )
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: Level = 0.95

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        require_values(self.baseline, "baseline")
        require_values(self.candidate, "candidate")
        return self


class WilcoxonAnalysis(Analysis):
    """What the signed-rank test found."""

    delta: float = Field(description="Pseudo-median of candidate - baseline (Hodges-Lehmann), score units.")
    ci: Interval = Field(description="Interval of the pseudo-median, by order statistics of Walsh averages.")
    p_value: float = Field(description="Of the method used and the alternative.")
    w_plus: float = Field(description="Rank sum of the items on which the candidate is higher.")
    w_minus: float = Field(description="Rank sum of the items on which the baseline is higher.")
    z: float | None = Field(description="Standardized w_plus of the normal methods.")
    method: MethodUsed
    zero_method: ZeroMethod = Field(description="As asked.")
    alternative: DirectionTested
    n: int = Field(description="Items.")
    n_nonzero: int = Field(description="Items with a difference.")
    n_ties: int = Field(description="Non-zero differences that share their size with another.")
    rank_biserial: float | None = Field(description="(w_plus - w_minus) / their sum, from -1 to 1.")
    min_attainable_p: float = Field(description="Least p with these ranks: all differences of one sign.")


def _estimate_cost(request: WilcoxonRequest) -> float:
    return 0.0015 + 1.2e-5 * len(request.baseline)


SHOWS: shows.Shows = {
    # the pseudo-median and the ranks can point the other way than the difference of means
    "ci": shows.Covers(shows.by_level, around=False),
    "p_value": shows.PValue(shows.against_zero, fixes=lambda _: False, lean=("rank_biserial",)),
    **shows.no_meaning("delta", "w_plus", "w_minus", "z", "rank_biserial", "min_attainable_p"),
}


def _least_p(extent: Extent, parameter: shows.Parameter) -> Least:
    """All differences of one size and sign are the furthest out."""
    by, n = "the signed-rank test", extent.n
    if _is_exact(parameter("method"), n):
        return least_of_signs(parameter, n, "items", by)
    return least_of_normal(parameter, furthest_mean(n), n, "items", by)


def _simulate(units: Units, request: FieldRequest, path: tuple[str, ...]) -> Floats | None:
    """Return the p of every simulated data set; None for other fields, which are not simulated."""
    if path != ("p_value",):
        return None
    method = request.parameter("method")
    return simulated.signed_rank_p(
        units.sums,
        request.parameter("alternative"),
        exact_up_to={"exact": units.sums.shape[1], "auto": EXACT_BY_DEFAULT}.get(method, -1),
        step=0.5 if method == "corrected" else 0.0,
        zeros_ranked=request.parameter("zero_method") != "wilcox",
    )


def _is_exact(method: str, n: int) -> bool:
    """Without zeros and ties, which only the data tell."""
    return method == "exact" or (method == "auto" and n <= EXACT_BY_DEFAULT)


@stat_test(
    name="wilcoxon",
    version=1,
    title="Wilcoxon signed-rank test (paired)",
    asked="pairs",
    example={
        "baseline": [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
        "candidate": [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
        "alternative": "less",
    },
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"continuous"}),
        shows=SHOWS,
        effect=lambda _parameter: shows.Effect("ranks"),
        least_p=_least_p,
        simulated=Simulated(_simulate),
        spoken=Spoken("wilcoxon", r"wilcoxon|符号秩", "wilcoxon", frozenset({False}), rank=4),
    ),
)
def wilcoxon(request: WilcoxonRequest) -> WilcoxonAnalysis:
    """Test whether paired differences are symmetric around zero.

    H0: every difference is as likely with either sign, so each rank of |difference| joins
    the candidate's sum with probability 1/2. Against asymmetric differences it is not a test
    of their mean or median.

    Returns:
        delta: pseudo-median, the median of all averages of two differences.
        ci: order statistics of these averages.
        p_value: two-sided p is twice the smaller tail, at most 1.
        w_plus, w_minus: rank sums of the two signs.

    Raises:
        InvalidData: columns of different length, no item, values beyond 1e150, or `exact` for more
            than 500 non-zero differences.

    Edge cases:
        Differences equal up to rounding (0.3 - 0.1, 0.4 - 0.2): warning ROUNDING_TIES unless `ties` is rounded.
        Ties and zeros: `exact` permutes the midranks; zeros carry no sign under any zero method.
        zsplit: zeros add their half ranks to both sums and no variance to the normal methods; scipy leaves
            them the variance of ranks with a sign, so its p is larger there.
        No difference at all: p 1, warning NO_DIFFERENCES. Too few to reach alpha: FLOOR_ABOVE_ALPHA.
        Too few items for the level: the interval has null ends (unbounded).
        delta and ci use every item, zeros included.

    Sources:
        Wilcoxon (1945), Biometrics Bull 1:80. Pratt (1959), JASA 54:655.
        Hollander, Wolfe & Chicken (2014), Nonparametric Statistical Methods, ch. 3.

    Example:
        Depression scores of nine patients before and after (Hollander & Wolfe 1973): rank sum 40
        for the first visit, one-sided exact p = .01953, pseudo-median -.46.
    """
    baseline, candidate = request.arrays()
    noise = difference_noise(baseline, candidate)
    used = noise if request.ties == "rounded" else 0.0
    signed = _signed_ranks(candidate - baseline, used, request.zero_method)
    n_nonzero = signed.ranks.size
    method = request.method
    if method == "auto":
        method = "exact" if n_nonzero <= EXACT_BY_DEFAULT else "asymptotic"
    if method == "exact" and n_nonzero > EXACT_AT_MOST:
        raise InvalidData.field(
            "method", f"'exact' is for at most {EXACT_AT_MOST} differences that are not 0", "use 'auto'"
        )
    plus = float(signed.ranks[signed.positive].sum())
    minus = float(signed.ranks.sum()) - plus
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    z, raw_p, least = _p(signed.ranks, plus, method, request.alternative)
    if z is None:
        reasons["z"] = "an exact test has no z" if method == "exact" else "no item has a difference"
    if n_nonzero == 0:
        reasons["rank_biserial"] = "no item has a difference"
    p_value = apply_floor(raw_p, "p_value", bounds)
    n, differences = baseline.size, np.sort(candidate - baseline)
    averages = Ordered(n * (n + 1) // 2, partial(ranks.kth_walsh, differences))
    delta, ci = averages.median(), _interval(averages, n, request.level)
    if ci.low is None:
        reasons["ci.low"] = reasons["ci.high"] = "unbounded: too few items for an interval of this level"
    zeros = baseline.size - n_nonzero
    warnings = [NO_DIFFERENCES()] if n_nonzero == 0 else []
    if zeros and n_nonzero and zeros >= 0.1 * baseline.size:
        warnings.append(MANY_ZEROS(zeros=zeros, n=baseline.size, zero_method=request.zero_method))
    rounded = _signed_ranks(candidate - baseline, noise, request.zero_method)
    apart = signed.n_distinct - rounded.n_distinct
    if apart:
        warnings.append(ROUNDING_TIES(count=apart))
    if n_nonzero and least >= request.alpha:
        what = f"the signs of {n_nonzero} differences"
        warnings.append(FLOOR_ABOVE_ALPHA(what=what, least=least, alpha=request.alpha, more="items"))
    return WilcoxonAnalysis(
        delta=delta,
        ci=ci,
        p_value=p_value,
        w_plus=plus + signed.split,
        w_minus=minus + signed.split,
        z=z,
        method=method,
        zero_method=request.zero_method,
        alternative=request.alternative,
        n=baseline.size,
        n_nonzero=n_nonzero,
        n_ties=signed.n_ties,
        rank_biserial=(plus - minus) / (plus + minus + 2 * signed.split) if n_nonzero else None,
        min_attainable_p=min(1.0, max(least, 1e-300)),
        reasons=reasons,
        bounds=bounds,
        warnings=tuple(warnings),
        sentence=_describe(request, delta, ci, p_value, bounds.get("p_value"), method),
    )


class SignedRanks(NamedTuple):
    """Ranks of the non-zero differences, which are positive, the zeros' half of rank sum, and ties."""

    ranks: NDArray[np.float64]
    positive: NDArray[np.bool_]
    split: float
    n_ties: int
    n_distinct: int


def _signed_ranks(difference: NDArray[np.float64], noise: float, zero_method: ZeroMethod) -> SignedRanks:
    """Mid-ranks of the absolute differences with their signs; those within `noise` of 0 are zeros."""
    sizes = np.abs(difference)
    is_zero = sizes <= noise
    sizes[is_zero] = 0.0
    if zero_method == "wilcox":
        difference, sizes = difference[~is_zero], sizes[~is_zero]
        is_zero = np.zeros(sizes.size, dtype=np.bool_)
    if sizes.size == 0:
        return SignedRanks(np.empty(0), np.empty(0, dtype=np.bool_), 0.0, 0, 0)
    rank, groups = ranks.midranks(sizes, tolerance=2 * noise)
    if is_zero.any():
        groups = groups[1:]
    tied = int(groups[groups > 1].sum())
    # zsplit: half of the zeros' ranks counts for either side (scipy's name for it).
    split = float(rank[is_zero].sum()) / 2 if zero_method == "zsplit" else 0.0
    return SignedRanks(rank[~is_zero], difference[~is_zero] > 0, split, tied, groups.size)


def _p(
    rank: NDArray[np.float64], plus: float, method: str, alternative: Alternative
) -> tuple[float | None, float, float]:
    """z, p and the least p; the ranks of zeros carry no sign and so add no variance."""
    sides = 2 if alternative == "two-sided" else 1
    if method == "exact":
        # Mid-ranks are halves: doubled they are whole, and sums over all signs are counted exactly, ties included.
        doubled = np.rint(2 * rank).astype(np.int64)
        worse, better = ranks.tail_probabilities(ranks.sign_sums(doubled), round(2 * plus))
        tail = {"greater": better, "less": worse, "two-sided": 2 * min(better, worse)}[alternative]
        # All ranks on one side: one of 2^n patterns of signs, and its mirror image when two-sided.
        return None, min(1.0, tail), sides * 0.5**rank.size
    # Under H0 each rank joins W+ with probability 1/2: E = sum(r) / 2, Var = sum(r^2) / 4, ties included.
    total, sd = float(rank.sum()), math.sqrt(float(rank @ rank)) / 2
    if sd == 0:
        return None, 1.0, 1.0
    step = 0.5 if method == "corrected" else 0.0
    least = sides * float(special.ndtr(-(total / 2 - step) / sd))
    return *normal_p(plus - total / 2, sd, step, alternative), least


def _interval(averages: Ordered, n: int, level: float) -> Interval:
    """The untied null distribution of W tells how many extreme averages to leave out on each side."""
    if n <= EXACT_AT_MOST:
        k = ranks.order_statistic_index(ranks.sign_sums(np.arange(1, n + 1)), (1 - level) / 2)
    else:
        z = float(special.ndtri(0.5 + level / 2))
        # Hollander, Wolfe & Chicken (2014), 3.3: n (n + 1) / 4 - z sqrt(n (n + 1) (2 n + 1) / 24) averages are left
        # out below, and as many above.
        k = max(0, math.floor(averages.count / 2 - z * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)))
    return averages.interval(k, level)


def _describe(
    request: WilcoxonRequest, delta: float, ci: Interval, p: float, bound: str | None, method: str
) -> str:
    """Say the pseudo-median with its interval, what p decides, and whether the two disagree."""
    return speak(
        "analyses.wilcoxon",
        delta=difference_of(delta, binary=False),
        interval=name_interval(ci),
        method=method,
        alternative=describe_sides(request.alternative),
        decision=decision(p, request.alpha, "analyses.symmetry", bound=bound, shows="analyses.it"),
        apart=disagreement(ci, p, request.alpha, request.alternative, METHODS),
    )
