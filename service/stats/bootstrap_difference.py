"""The bootstrap of a difference between the means of two independent arms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import special

from service.kernels.bootstrap import bootstrap_intervals
from service.kernels.bootstrap import independent_bootstrap as bootstrap
from service.kernels.bootstrap.bootstrap_intervals import bca_level, bca_tail
from service.kernels.numeric import ranks
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.numeric.moments import moments
from service.kernels.numeric.streams import block_count
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.samples import (
    BOOTSTRAP_FEW_RUNS,
    CONSTANT_DATA,
    TwoSamples,
    bootstrap_seconds,
    how_obtained,
    type_one_error_at,
)
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring import certainty, shows
from service.stats.shared.declaring.certainty import SIGNS, Range, open_up
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, StatWarning
from service.stats.shared.declaring.fields import Alpha, DirectionTested, DrawCount, Level, PlainSeed
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.registry import Blocks, Drawn, stat_test
from service.stats.shared.declaring.sentences import (
    bound_text,
    ci_of,
    decision,
    describe_sides,
    difference_of,
    disagreement,
    state_reason,
)
from service.stats.shared.declaring.warnings import BEYOND_ZERO, MC_UNRESOLVED
from service.words import message, speak

MOST_RANKS = 5 * 10**7
"""Steps of counting how often ranks are as uneven; more of them are never other than rare."""
RAISED_UP_TO = 8
"""An unresolved Monte-Carlo p is drawn again with up to this many times the resamples asked for."""


class BootstrapDifferenceRequest(TwoSamples):
    """Two independent arms of runs."""

    elsewhere: ClassVar = {"clusters": "cluster-bootstrap", "margin": "equivalence"}

    method: bootstrap_intervals.Method = Field("percentile", description="How the interval is read off.")
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: Level = 0.95
    n_resamples: DrawCount = Field(
        10_000, description="Draws, where the distribution cannot be computed exactly."
    )
    seed: PlainSeed = 0

    @cached_property
    def exact(self) -> BootstrapDistribution | None:
        """The distribution without drawing; None where blocks are drawn."""
        return bootstrap.exact_bootstrap(self.arrays())


class BootstrapDifferenceAnalysis(Analysis):
    """What the bootstrap of the difference found."""

    delta: float = Field(description="Mean of the candidate minus mean of the baseline, score units.")
    ci: Interval | None = Field(description="Bootstrap interval of delta.")
    p_value: float | None = Field(description="By inverting the interval of the chosen method.")
    p_standard_error: float | None = Field(description="Monte-Carlo SE of p; 0 when exact.")
    excludes_zero: bool | None = Field(description="True when 0 lies strictly outside ci.")
    bootstrap_se: float = Field(description="SD of the bootstrapped difference, score units.")
    z0: float | None = Field(description="BCa bias correction, normal units.")
    acceleration: float | None = Field(description="BCa acceleration.")
    method: bootstrap_intervals.Method = Field(description="How the interval was read off.")
    alternative: DirectionTested
    n: int = Field(description="Runs of both arms together.")
    n_baseline: int = Field(description="Runs.")
    n_candidate: int = Field(description="Runs.")
    min_attainable_p: float = Field(description="Least p that this distribution can give.")


def _estimate_cost(request: BootstrapDifferenceRequest) -> float:
    raised = max(RAISED_UP_TO // 2, 1) * request.n_resamples  # drawn again where p is near alpha
    return bootstrap_seconds([request.baseline, request.candidate], raised)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A distribution, its BCa constants, p and its Monte-Carlo standard error."""

    distribution: BootstrapDistribution
    constants: tuple[float, float] | None
    p: float | None
    se: float


def _read(request: BootstrapDifferenceRequest, distribution: BootstrapDistribution) -> _Reading:
    """The p-value and the constants of the interval from a bootstrap distribution, with the Monte-Carlo error of p."""
    samples = request.arrays()
    delta = moments(samples[1]).mean - moments(samples[0]).mean
    constants = bootstrap.bca_constants(samples, distribution) if request.method == "bca" else None
    p = p_of(bootstrap_intervals.tails(distribution, delta, request.method, constants), request.alternative)
    if p is None or not isinstance(distribution, bootstrap.Drawn):
        return _Reading(distribution, constants, p, 0.0)
    sides = 2 if request.alternative == "two-sided" else 1
    # p is `sides` times one drawn share: the binomial error of the share counts as often.
    tail = p / sides
    return _Reading(
        distribution, constants, p, sides * math.sqrt(tail * (1 - tail) / distribution.values.size)
    )


def _read_draws(request: BootstrapDifferenceRequest, drawn: Drawn, draws: int) -> _Reading:
    return _read(request, bootstrap.in_order(request.arrays(), drawn["estimates"][:draws]))


def _draws(request: BootstrapDifferenceRequest, drawn: Drawn | None) -> int:
    """Draws to make: doubled while p is unresolved."""
    draws = request.n_resamples
    while drawn is not None and draws <= len(drawn["estimates"]):
        result = _read_draws(request, drawn, draws)
        # Only what was drawn before decides how many more are drawn, so that the blocks are the same for any number
        # of workers.
        resolved = result.p is None or abs(result.p - request.alpha) > 3 * result.se
        if resolved or draws * 2 > RAISED_UP_TO * request.n_resamples:
            break
        draws *= 2
    return draws


def _count(request: BootstrapDifferenceRequest, drawn: Drawn | None) -> int:
    varies = any(moments(sample).sd for sample in request.arrays())
    return block_count(_draws(request, drawn)) if varies and request.exact is None else 0


def _draw(request: BootstrapDifferenceRequest, which: range) -> Drawn:
    return {"estimates": bootstrap.estimate_blocks(request.arrays(), request.seed, which)}


def _analyse(request: BootstrapDifferenceRequest, drawn: Drawn) -> BootstrapDifferenceAnalysis:
    """Return the answer from the exact bootstrap distribution, or from the drawn one."""
    samples = request.arrays()
    first, second = (moments(sample) for sample in samples)
    delta = second.mean - first.mean
    sample_warnings = warnings_of(samples)
    if not first.sd and not second.sd:
        return _leave_undefined(request, delta, first.n, second.n, sample_warnings)
    reasons: dict[str, str] = {}
    bounds: dict[str, str] = {}
    exact = request.exact
    result = _read_draws(request, drawn, _draws(request, drawn)) if exact is None else _read(request, exact)
    distribution, constants, raw_p, p_se = result.distribution, result.constants, result.p, result.se
    ends, ci = _find_ends(request, result, delta), None
    if ends is None or raw_p is None:
        reasons |= dict.fromkeys(
            ("ci", "p_value", "p_standard_error", "excludes_zero"), "BCa has no meaning for data this skewed"
        )
    else:
        ci = Interval(low=ends[0], high=ends[1], level=request.level, method=f"bootstrap {request.method}")
    if constants is None:
        reasons["z0"] = reasons["acceleration"] = "only BCa has them"
    sides = 2 if request.alternative == "two-sided" else 1
    least = bootstrap.least_probability(request.arrays(), distribution)
    p_value = None if ci is None or raw_p is None else _floor_p(raw_p, least, sides, bounds)
    within: dict[str, Range] = {}
    undecided: dict[str, str] = {}
    if isinstance(distribution, bootstrap.Drawn) and ci is not None:
        within, undecided = _drawn_within(request, distribution, delta, constants)
    by_ranks = None if p_value is None else _open_beyond_zero(request, delta, p_value, bounds, within)
    warnings = [*sample_warnings, *([] if by_ranks is None else [BEYOND_ZERO()])]
    if p_value is not None and p_se and abs(p_value - request.alpha) <= 3 * p_se:
        warnings.append(MC_UNRESOLVED(p=p_value, se=p_se, alpha=request.alpha))
    return BootstrapDifferenceAnalysis(
        delta=delta,
        ci=ci,
        p_value=p_value,
        p_standard_error=None if p_value is None else p_se,
        excludes_zero=None if ends is None or ci is None else ends[0] > 0 or ends[1] < 0,
        bootstrap_se=distribution.moments()[1],
        z0=constants[0] if constants else None,
        acceleration=constants[1] if constants else None,
        method=request.method,
        alternative=request.alternative,
        n=first.n + second.n,
        n_baseline=first.n,
        n_candidate=second.n,
        min_attainable_p=min(1.0, sides * least),
        reasons=reasons,
        bounds=bounds,
        within=within,
        undecided=undecided,
        warnings=tuple(warnings),
        resampling=how_obtained(distribution, request.seed),
        sentence=_describe(
            request, delta, ci, p_value, bounds.get("p_value"), distribution.error is not None, by_ranks
        ),
    )


def _find_ends(
    request: BootstrapDifferenceRequest, result: _Reading, delta: float
) -> tuple[float, float] | None:
    """Return the ends of the interval; an end that only rounding keeps from 0 touches it, in any unit."""
    ends = bootstrap_intervals.interval(
        result.distribution, delta, request.level, request.method, result.constants
    )
    if ends is None:
        return None
    slack = bootstrap.slack_of(request.arrays())
    low, high = (0.0 if abs(end) <= slack else end for end in ends)
    return low, high


def _open_beyond_zero(
    request: BootstrapDifferenceRequest,
    delta: float,
    p: float,
    bounds: Mapping[str, str],
    within: dict[str, Range],
) -> float | None:
    """Return the most that p may be where no resample lies beyond 0, which `within` has then; else None."""
    # Labels dealt by chance would be as uneven that often, and rules may not read p as smaller.
    chance = _chance_of_ranks(request, delta)
    if chance is None or chance < SIGNS:
        return None
    within["p_value"] = open_up(0.0 if "p_value" in bounds else p, chance, within.get("p_value"))
    return within["p_value"][1]


def _floor_p(p: float, least: float, sides: int, bounds: dict[str, str]) -> float:
    """The p-value as it is printed; below the least chance of a resample that chance is its bound, in `bounds`."""
    if p >= least:
        return apply_floor(p, "p_value", bounds)
    # The distribution cannot tell a p below its rarest resample: that probability is printed as a bound instead.
    floored = apply_floor(sides * least, "p_value", bounds)
    bounds["p_value"] = bound_text(floored)
    return floored


def _leave_undefined(
    request: BootstrapDifferenceRequest, delta: float, n0: int, n1: int, warnings: Sequence[StatWarning]
) -> BootstrapDifferenceAnalysis:
    """Return the answer where no arm varies: every resample is the same, so only the difference is known."""
    reason = "no spread within the arms: every resample is the same"
    undefined = ("ci", "p_value", "p_standard_error", "excludes_zero", "z0", "acceleration")
    return BootstrapDifferenceAnalysis(
        delta=delta,
        ci=None,
        p_value=None,
        p_standard_error=None,
        excludes_zero=None,
        bootstrap_se=0.0,
        z0=None,
        acceleration=None,
        method=request.method,
        alternative=request.alternative,
        n=n0 + n1,
        n_baseline=n0,
        n_candidate=n1,
        min_attainable_p=1.0,
        reasons=dict.fromkeys(undefined, reason),
        warnings=(*warnings, CONSTANT_DATA()),
        sentence=speak(
            "analyses.bootstrap_difference_undefined", delta=f"{delta:+.4g}", reason=state_reason(reason)
        ),
    )


BLOCKS = Blocks(_count, _draw, _analyse)


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    "excludes_zero": shows.Finding((shows.ABOVE_ZERO, shows.BELOW_ZERO), shows.by_level),
    **shows.no_meaning("p_standard_error", "bootstrap_se", "z0", "acceleration", "min_attainable_p"),
}


@stat_test(
    name="bootstrap-difference",
    version=1,
    title="Bootstrap of a difference of means (independent arms)",
    asked="unpaired",
    example={"baseline": [73.0, 75.0, 77.0, 74.0, 76.0], "candidate": [85.0, 87.0, 86.0, 88.0, 84.0]},
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"continuous", "binary"}),
        shows=SHOWS,
        pairs=lambda _parameter: False,
        drawn=lambda _parameter: True,
    ),
    blocks=BLOCKS,
)
def bootstrap_difference(request: BootstrapDifferenceRequest) -> BootstrapDifferenceAnalysis:
    """Interval of a difference of means by resampling each arm on its own.

    Runs are independent draws; each arm is resampled with replacement to its own size.
    H0: equal means, rejected when the interval excludes 0. ``percentile`` reads quantiles,
    ``basic`` reflects them around delta, ``bca`` corrects bias and skewness.

    Returns:
        delta: candidate mean minus baseline mean, score units.
        ci: by the chosen method.
        p_value: the level at which the interval of that method touches 0.
        p_standard_error: its Monte-Carlo standard error, 0 when exact.

    Raises:
        InvalidData: an empty arm, or values beyond 1e150.

    Edge cases:
        Values that share a small unit, or few values: exact, no seed.
        No spread in either arm: ci and p are null, warning CONSTANT_DATA.
        0 beyond every resample: p is a bound, the least probability a resample has. Rules take it for no smaller than
            the chance of such ranks alone, in `within`: warning BEYOND_ZERO.
        Below 20 runs in an arm: warning BOOTSTRAP_FEW_RUNS with the type I error to expect.
        Skewed runs in an arm: warning SKEWED below 25 times the squared skewness.
        p within three Monte-Carlo SE of alpha: draws are raised up to eightfold, then MC_UNRESOLVED.

    Sources:
        Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 8, 13, 14.
        Davison & Hinkley (1997), Bootstrap Methods and their Application, 5.3.
        Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295 (small samples).

    Example:
        Five runs of 73..77 against five of 84..88: delta 11, exact percentile interval 9.2 to 12.8.
    """
    return BLOCKS.whole(request)


def _drawn_within(
    request: BootstrapDifferenceRequest,
    drawn: bootstrap.Drawn,
    delta: float,
    constants: tuple[float, float] | None,
) -> tuple[dict[str, Range], dict[str, str]]:
    """Return what the drawn ends and p are known to lie in, and what nothing is known of."""
    draws, tail, within = drawn.values.size, (1 - request.level) / 2, dict[str, Range]()
    # z0 = ndtri(share of resamples below delta), so its Monte-Carlo range is that of the share, through ndtri.
    biases = (0.0, 0.0)
    if constants is not None:
        middle = certainty.of_share(float(special.ndtr(constants[0])), draws)
        biases = float(special.ndtri(middle[0])), float(special.ndtri(middle[1]))
    # The basic interval is the percentile one mirrored at delta: its low end is 2 delta minus the upper quantile.
    turned = request.method == "basic"
    for end, q in (("ci.low", 1 - tail if turned else tail), ("ci.high", tail if turned else 1 - tail)):
        levels = [q, q] if constants is None else [bca_level(q, z0, constants[1]) for z0 in biases]
        low, high = levels
        if low is None or high is None:
            continue
        bounds = certainty.of_quantile(drawn.quantile, draws, low, high)
        if bounds is not None:
            within[end] = (2 * delta - bounds[1], 2 * delta - bounds[0]) if turned else bounds
    # (candidate better, worse): the basic interval touches 0 where a quantile is 2 delta, the percentile one where
    # it is 0.
    shares = drawn.at_least(2 * delta), drawn.at_most(2 * delta)
    if not turned:
        shares = drawn.at_most(0.0), drawn.at_least(0.0)
    better, worse = (certainty.of_share(share, draws) for share in shares)
    if constants is not None:
        a = constants[1]
        # bca_tail rises in the share and falls in z0: the least p takes the least share with the greatest bias.
        better = bca_tail(better[0], biases[1], a), bca_tail(better[1], biases[0], a)
        # The other side is the mirror image: 1 - tail of the complement.
        worse = 1 - bca_tail(1 - worse[0], biases[0], a), 1 - bca_tail(1 - worse[1], biases[1], a)
    least, most = ((p_of(tails, request.alternative) or 0.0) for tails in zip(better, worse, strict=True))
    within["p_value"] = least, most
    undecided = {end: certainty.DRAWN for end in ("ci.low", "ci.high") if end not in within}
    ends = [within.get(end, (-math.inf, math.inf)) for end in ("ci.low", "ci.high")]
    # All four corners of the two ranges must agree on whether the interval excludes 0.
    if len({low > 0 or high < 0 for low in ends[0] for high in ends[1]}) > 1:
        undecided["excludes_zero"] = certainty.DRAWN
    return within, undecided


def _chance_of_ranks(request: BootstrapDifferenceRequest, delta: float) -> float | None:
    """Where no resample is on the other side of 0: the chance of ranks so uneven, if labels fell by chance.

    None where one can be, where the other direction is asked, or where the ranks are too many to be other than rare.
    """
    first, second = request.arrays()
    side = "greater" if delta > 0 else "less"
    if delta == 0 or request.alternative not in (side, "two-sided"):
        return None
    least, most = (
        (second.min() - first.max(), second.max() - first.min())
        if delta > 0
        else (first.min() - second.max(), first.max() - second.min())
    )
    # the percentiles look at 0, and the basic interval at twice the difference
    reached = most >= 2 * abs(delta) if request.method == "basic" else least <= 0
    smaller, n = min(first.size, second.size), first.size + second.size
    sides = 2 if request.alternative == "two-sided" else 1
    if least > 0:  # every run of one arm is beyond every run of the other
        # Of the C(n, smaller) ways to deal the labels one separates the arms this way, and one the other way.
        return sides / math.comb(n, smaller)
    if reached or smaller * n**3 > MOST_RANKS:
        return None
    # Mid-ranks are halves: doubled they are whole numbers, on which rank sums are counted exactly.
    doubled = np.round(2 * ranks.midranks(np.concatenate([first, second]))[0]).astype(np.int64)
    part = doubled[: first.size] if first.size == smaller else doubled[first.size :]
    tails = ranks.tail_probabilities(ranks.subset_sums(doubled, smaller), int(part.sum()))
    return sides * min(tails)


def warnings_of(samples: Sequence[NDArray[np.float64]]) -> tuple[StatWarning, ...]:
    """Warn with BOOTSTRAP_FEW_RUNS; with SKEWED of the first arm with too few runs: each is resampled on its own."""
    smaller = min(map(len, samples))
    few = (BOOTSTRAP_FEW_RUNS(n=smaller, rate=type_one_error_at(smaller)),) if smaller < 20 else ()
    spread = [sample - sample.mean() for sample in samples if np.ptp(sample) > 0]
    uneven = [warning for parts in spread for warning in warn_if_skewed(parts, "runs of an arm")]
    return (*few, *uneven[:1])


def p_of(tails: tuple[float, float] | None, alternative: Alternative) -> float | None:
    """Return the p-value from the tails (candidate better, candidate worse)."""
    if tails is None:
        return None
    better, worse = tails
    if alternative == "two-sided":
        return min(1.0, 2 * min(better, worse))
    return better if alternative == "greater" else worse


def _describe(
    request: BootstrapDifferenceRequest,
    delta: float,
    ci: Interval | None,
    p: float | None,
    bound: str | None,
    exact: bool,
    most: float | None,
) -> str:
    """Describe the difference of means, its interval and its test in one sentence."""
    difference = difference_of(delta, binary=False)
    if ci is None or p is None:
        return speak("analyses.bootstrap_difference_skewed", delta=difference, method=request.method)
    return speak(
        "analyses.bootstrap_difference",
        delta=difference,
        interval=ci_of(ci, binary=False, phrase="ci_bootstrap", method=request.method),
        drawn=message("analyses.exact" if exact else "analyses.drawn"),
        alternative=describe_sides(request.alternative),
        decision=decision(p, request.alpha, "runs.equal_means", bound=bound, most=most),
        apart=""
        if most is not None and p < request.alpha <= most
        else disagreement(ci, p, request.alpha, request.alternative),
    )
