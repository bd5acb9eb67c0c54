"""Power of a planned comparison, over a list of sizes."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from scipy import special

from service.errors import InvalidData
from service.kernels.numeric.roots import rising_root
from service.kernels.numeric.streams import BLOCK, block_count
from service.kernels.planning import power as kernel
from service.kernels.planning.cluster_power import simulated_power
from service.kernels.planning.equivalence_power import tango_power
from service.records import Record
from service.stats.shared.declaring.common import COMPUTED, Alternative, Analysis, Resampling
from service.stats.shared.declaring.registry import Blocks, Drawn, stat_test
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods import designs
from service.words import speak

Size = Annotated[int, Field(ge=1, le=1_000_000)]

PILOT_SD = define(
    "PILOT_SD", "caution", "Browne (1995), Stat Med 14:1933; Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295"
)
ONE_TAILED_SHORTCUT = define(
    "ONE_TAILED_SHORTCUT", "info", "Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295"
)


STEPS = (0.5, 0.8, 1.0, 1.3, 2.0, 4.0)
"""sign-flip: the true differences that are simulated, in multiples of the normal law's detectable one."""


class PowerRequest(designs.Design):
    """A design and the sizes to try."""

    elsewhere: ClassVar = {"max_n": "sample-size"}

    n: Size | Annotated[list[Size], Field(min_length=1, max_length=500)] = Field(
        description="Runs per arm (welch, student), items, or clusters (sign-flip): one size or a list."
    )

    solve_effect: bool = Field(
        False, description="sign-flip: simulate the detectable difference too, at six times the cost."
    )

    def sizes(self) -> list[int]:
        """Return the sizes as a list, in the order sent."""
        return self.n if isinstance(self.n, list) else [self.n]


class PowerPoint(Record):
    """Power of the planned test at one size."""

    n: int = Field(description="Runs per arm, items or clusters.")
    power: float | None = Field(description="Chance to reject, a proportion.")
    beta: float | None = Field(description="Chance to miss, 1 - power.")
    standard_error: float | None = Field(description="Monte-Carlo SE of power; null when computed.")
    beta_one_tailed: float | None = Field(description="Means: chance to miss of the one-tailed test.")
    beta_colas: float | None = Field(description="welch: by the one-tailed shifted central t.")
    power_at_upper_sd: float | None = Field(description="Power at the upper 80 % bound of the pilot SDs.")
    beta_noncentral_t: float | None = Field(
        description="welch: by the noncentral t on the df of the true SDs, an approximation."
    )
    detectable: float | None = Field(
        description="Least |delta| with the target power, score units or a proportion; for tango the largest "
        "|delta| at which equivalence is still shown with it."
    )


class PowerAnalysis(Analysis):
    """The power of the planned test at every size that was asked for."""

    test: designs.Test = Field(description="The test planned.")
    delta: float = Field(description="True difference assumed, score units or a proportion.")
    unit: str = Field(description="What n counts.")
    target_power: float = Field(description="A proportion.")
    points: tuple[PowerPoint, ...] = Field(description="One per size, in the order sent.")
    power: float | None = Field(description="At the first size sent.")
    n: int = Field(description="The first size sent.")


def _estimate_cost(request: PowerRequest) -> float:
    extra = {"mcnemar": 25, "welch": 25, "student": 12, "paired-t": 12, "tango": 15}.get(request.test, 1)
    if request.solve_effect:
        extra *= 1 + len(STEPS)
    sizes = request.sizes()
    seconds = sum(designs.seconds_at(request, n) + _table_seconds(request, n) for n in sizes)
    return 0.001 + extra * seconds + sum(designs.guard_seconds(request, n) for n in sizes)


def _table_seconds(request: PowerRequest, n: int) -> float:
    """Return the seconds for tables: every truth that `detectable` tries has its own."""
    return designs.fresh_seconds(request, n) if request.test == "mcnemar" else 0.0


def _count(request: PowerRequest, _drawn: Drawn | None) -> int:
    if min(request.sizes()) < (least := designs.least_n(request)):
        raise InvalidData.field("n", f"{request.test} needs at least {least}", "send larger sizes")
    if request.test != "sign-flip":
        return 0
    return sum(len(_truths(request, n)) for n in request.sizes()) * block_count(request.n_simulations)


def _truths(request: PowerRequest, n: int) -> list[float]:
    """sign-flip: the true differences to simulate, the design's first, then those that bracket the detectable one."""
    if not request.solve_effect:
        return [request.effect]
    size, share = request.cluster_size or 1, request.discordant
    # Var(mean) of items with variance `share` (delta 0), times the design effect 1 + (m - 1) ICC of clusters of m
    # items.
    error = math.sqrt(share * (1 + (size - 1) * (request.icc or 0.0)) / (size * n))
    tail = request.alpha / 2 if request.alternative == "two-sided" else request.alpha
    about = error * float(special.ndtri(1 - tail) + special.ndtri(request.target_power))
    sign = -1 if request.alternative == "less" else 1
    return [request.effect, *(sign * min(step * about, share) for step in STEPS)]


def _draw(request: PowerRequest, which: range) -> Drawn:
    """How many data sets of the blocks `which` reject; blocks are numbered through all sizes, one after the other."""
    blocks, share = block_count(request.n_simulations), request.discordant
    rejected = []
    simulated = [(n, delta) for n in request.sizes() for delta in _truths(request, n)]
    for place, (n, delta) in enumerate(simulated):
        own = range(max(which.start - place * blocks, 0), min(which.stop - place * blocks, blocks))
        if own:
            # Shares of items won by one arm: their sum is the discordant share, their difference delta.
            other = (max(share - delta, 0.0) / 2, max(share + delta, 0.0) / 2)
            shares = None if delta == request.effect else other
            rejected.append(designs.simulation(request, n, shares).rejects(own))
    return {"rejected": np.concatenate(rejected)}


def _power_at(request: PowerRequest, place: int, drawn: Drawn) -> designs.PowerAt:
    if request.test != "sign-flip":
        return designs.power_at(request, request.sizes()[place])
    return _drawn_at(request, place * (1 + len(STEPS) if request.solve_effect else 1), drawn)


def _drawn_at(request: PowerRequest, place: int, drawn: Drawn) -> designs.PowerAt:
    start = place * block_count(request.n_simulations) * BLOCK
    return designs.PowerAt(*simulated_power(drawn["rejected"][start : start + request.n_simulations]))


def _analyse(request: PowerRequest, drawn: Drawn) -> PowerAnalysis:
    """Return the answer from power at every size, with the data sets that were simulated."""
    sizes = request.sizes()
    reasons: dict[str, str] = {}
    points = tuple(
        _point(request, n, _power_at(request, place, drawn), _detectable(request, place, drawn), reasons)
        for place, n in enumerate(sizes)
    )
    first = points[0]
    warnings = []
    if request.pilot_n is not None and request.pilot_n < 20:
        warnings.append(PILOT_SD(pilot_n=request.pilot_n))
    if request.test == "welch" and request.alternative == "two-sided":
        warnings.append(ONE_TAILED_SHORTCUT())
    simulated = request.test == "sign-flip"
    power_reached = 0.0 if first.power is None else first.power
    return PowerAnalysis(
        test=request.test,
        delta=request.effect,
        unit=request.unit,
        target_power=request.target_power,
        points=points,
        power=first.power,
        n=first.n,
        reasons=reasons,
        warnings=tuple(warnings),
        resampling=Resampling.drawn(request.n_simulations, request.seed) if simulated else COMPUTED,
        sentence=speak(
            "analyses.power",
            size=request.count_in_words(first.n),
            truth=request.truth,
            claim=request.claim,
            power=power_reached,
        ),
    )


BLOCKS = Blocks(_count, _draw, _analyse)


@stat_test(
    name="power",
    version=1,
    title="Power of a planned comparison",
    asked="design",
    example={"test": "welch", "delta": 1382.0, "sd_baseline": 1341.0, "sd_candidate": 990.0, "n": [5, 10]},
    cost=_estimate_cost,
    blocks=BLOCKS,
)
def power(request: PowerRequest) -> PowerAnalysis:
    """Compute the chance that a planned test rejects, if the stated difference is true.

    Means (student, paired-t): normal scores, noncentral t; welch: integrated over the ratio of the two
    sample variances, on which its df depend. Pairs (mcnemar, tango): exact sum over the trinomial counts
    of the test as it is applied. Clusters (sign-flip): simulation of Dirichlet-multinomial clusters, the
    test itself exact. A test rejects at p < alpha; H0 of tango is a difference beyond the margin.

    Returns:
        points: power and beta per size; for welch also by the noncentral t and by the one-tailed formula of
            Colas et al., both approximations.
        detectable: least |delta| with the target power at that size, for tango the largest one; of pairs and
            clusters at the same share of discordant items.
        power_at_upper_sd: the same with pilot SDs at their upper 80 % confidence bound.

    Raises:
        InvalidData: fields that the test needs or does not use, shares above 1, a size below 2 for means.

    Edge cases:
        No discordant items: McNemar has power 0.
        Welch at n = 2 or 3: far from the noncentral t, which takes the df of the true SDs as known.
        tango below 10 discordant items: the exact p counts, as in the test.
        sign-flip: detectable is simulated on request, and interpolated between six true differences.
        detectable is null where no difference reaches the target.

    Sources:
        Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295.
        Cohen (1988), Statistical Power Analysis, 2nd ed.
        Browne (1995), Stat Med 14:1933 (upper bound of a pilot SD).

    Example:
        Means 3523 and 4905, SDs 1341 and 990: beta_colas .51 at 5 runs and .20 at 10; two-sided .65 and .31.
    """
    return BLOCKS.whole(request)


def _point(
    request: PowerRequest, n: int, at: designs.PowerAt, detectable: float | None, reasons: dict[str, str]
) -> PowerPoint:
    """Power at one size, and beside it what other formulas give; null where one does not apply, with its reason."""
    one_tailed = noncentral = colas = upper = None
    if request.test in designs.MEANS:
        side: Alternative = "greater" if request.effect >= 0 else "less"
        one_tailed = 1 - designs.power_at(request, n, alternative=side).power
    else:
        reasons["points.beta_one_tailed"] = "for tests of means"
    if request.test == "welch":
        se, df = request.se_and_df(n)
        noncentral = 1 - kernel.t_power(request.effect / se, df, request.alpha, request.alternative)
        colas = kernel.colas_beta(request.effect, *request.sds, n, request.alpha)
    else:
        reasons["points.beta_noncentral_t"] = reasons["points.beta_colas"] = "for Welch's test"
    if request.pilot_n is not None:
        upper = designs.power_at(request, n, inflation=kernel.upper_sd(1.0, request.pilot_n, 0.8)).power
    else:
        reasons["points.power_at_upper_sd"] = "no pilot_n was sent"
    if at.standard_error is None:
        reasons["points.standard_error"] = "computed, not simulated"
    if detectable is None:
        solves_effect = request.test != "sign-flip" or request.solve_effect
        reasons["points.detectable"] = (
            "no difference with this share of discordant items reaches the target"
            if solves_effect
            else "not simulated: ask by solve_effect"
        )
    return PowerPoint(
        n=n,
        power=at.power,
        beta=1 - at.power,
        standard_error=at.standard_error,
        beta_one_tailed=one_tailed,
        beta_noncentral_t=noncentral,
        beta_colas=colas,
        power_at_upper_sd=upper,
        detectable=detectable,
    )


def _detectable(request: PowerRequest, place: int, drawn: Drawn) -> float | None:
    """Return the true difference at which the power of the size at `place` crosses the target."""
    n, target = request.sizes()[place], request.target_power
    if request.test in designs.MEANS:
        return _detectable_mean(request, n)
    if request.test == "sign-flip":
        return _interpolate_detectable(request, place, drawn) if request.solve_effect else None
    share = request.discordant
    side: Alternative = "two-sided" if request.alternative == "two-sided" else "greater"

    def power(delta: float) -> float:
        # delta = won - lost at a fixed share won + lost: lost = (share - delta) / 2, and rounding may leave it
        # below 0.
        low = max((share - delta) / 2, 0.0)
        if request.margin is not None:
            return tango_power(n, low, share - low, request.alpha, float(request.margin.exact()))
        return kernel.mcnemar_power(n, low, share - low, request.alpha, request.method or "exact", side)

    if request.margin is None:
        return (
            rising_root(lambda x: power(x) - target, 0.0, share, 1e-7)
            if share and power(share) >= target
            else None
        )
    if power(0.0) < target:
        return None
    most = min(share, float(request.margin.exact()))
    return most if power(most) >= target else rising_root(lambda x: target - power(x), 0.0, most, 1e-7)


def _detectable_mean(request: PowerRequest, n: int) -> float:
    """Return the least difference of means that n runs per arm reject with the target power."""
    se, df = request.se_and_df(n)
    nc = kernel.detectable_nc(df, request.alpha, request.alternative, request.target_power)
    if request.test != "welch":
        return se * nc
    side: Alternative = "two-sided" if request.alternative == "two-sided" else "greater"

    def gap(delta: float) -> float:
        return designs.mean_power(request, n, delta, side) - request.target_power

    high = se * nc
    # Welch's noncentral t takes the degrees of freedom as known, so its root may fall short: doubled until it does
    # not.
    while gap(high) < 0:
        high *= 2
    return rising_root(gap, 0.0, high, 1e-9 * high)


def _interpolate_detectable(request: PowerRequest, place: int, drawn: Drawn) -> float | None:
    """Interpolated between the simulated differences, on the scale on which a normal power curve is straight."""
    first = place * (1 + len(STEPS))
    delta = np.abs(_truths(request, request.sizes()[place])[1:])
    power = [_drawn_at(request, first + 1 + step, drawn).power for step in range(len(STEPS))]
    # Simulated powers can fall by chance where the true curve rises; at delta 0 the power is alpha, which costs no
    # draw.
    rising = np.maximum.accumulate([request.alpha, *power])
    above = int(np.searchsorted(rising, request.target_power))
    if above == len(rising):
        return None
    # A power curve is about Phi(delta / se - z): its probit is a line. A share of 0 or 1 of the draws has no
    # probit, so it is taken for a quarter of a draw from the end.
    at = special.ndtri(np.clip(rising, 1 / (4 * request.n_simulations), 1 - 1 / (4 * request.n_simulations)))
    delta = np.concatenate([[0.0], delta])
    share = (special.ndtri(request.target_power) - at[above - 1]) / (at[above] - at[above - 1])
    return float(delta[above - 1] + min(share, 1.0) * (delta[above] - delta[above - 1]))
