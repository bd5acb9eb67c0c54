"""The size a planned comparison needs."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field
from scipy import special

from service.kernels.numeric.roots import rising_root
from service.kernels.planning import power as kernel
from service.stats.shared.declaring.common import COMPUTED, Alternative, Analysis, Resampling
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import level_text, state_reason
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods import designs
from service.words import speak

SAW_TOOTH = define("SAW_TOOTH", "info", "Chernick & Liu (2002), Am Stat 56:149")
PLAN_WITH_UPPER_SD = define("PLAN_WITH_UPPER_SD", "caution", "Browne (1995), Stat Med 14:1933")


class SampleSizeRequest(designs.Design):
    """A design and how far to search."""

    elsewhere: ClassVar = {"n": "power"}

    max_n: Annotated[int, Field(ge=2, le=1_000_000)] = Field(
        100_000, description="Largest size searched: runs per arm, items or clusters."
    )


class SampleSizeAnalysis(Analysis):
    """The size that reaches the target power."""

    test: designs.Test = Field(description="The test planned.")
    n: int | None = Field(description="Smallest size from which power stays at the target or above.")
    unit: str = Field(description="What n counts.")
    power: float | None = Field(description="At n, a proportion.")
    target_power: float = Field(description="A proportion.")
    delta: float = Field(description="True difference assumed, score units or a proportion.")
    searched_to: int = Field(description="Largest size looked at.")
    n_continuous: float | None = Field(
        description="Means: the fractional size with exactly the target power."
    )
    n_one_tailed: int | None = Field(description="welch: size for the one-tailed test.")
    n_colas: int | None = Field(description="welch: size by the one-tailed shifted central t.")
    n_at_upper_sd: int | None = Field(description="Size at the upper 80 % bound of the pilot SDs.")


def _estimate_cost(request: SampleSizeRequest) -> float:
    """Estimate the seconds a search takes: how many sizes it looks at, times the seconds of the size it may end at."""
    if request.test in designs.MEANS:
        return 0.15 if request.test == "welch" else 0.02
    if not _reachable(request):
        return 0.001
    n = _expect(request)
    jumps = 2.5 * math.log2(n + 2)
    looked_at = jumps + (2 * _ripple(request, n) if n < request.max_n else 0)
    table = jumps * designs.fresh_seconds(request, n) if request.test == "mcnemar" else 0.0
    rare = n * request.discordant < 25  # else bounds of the power decide
    seconds = designs.seconds_at(request, n) + rare * designs.guard_seconds(request, n)
    simulated = 2.5 if request.test == "sign-flip" else 1.0  # what is found may lie above what is expected
    return 0.002 + table + simulated * looked_at * seconds


def _expect(request: SampleSizeRequest) -> int:
    """Roughly the n to be found, by the normal law of a mean difference."""
    room = (
        abs(request.effect) if request.margin is None else float(request.margin.exact()) - abs(request.effect)
    )
    # n = (z_alpha + z_power)^2 variance / difference^2; for equivalence the room between the difference and the
    # margin.
    z = float(special.ndtri(1 - request.alpha / 2) + special.ndtri(request.target_power))
    size = request.cluster_size or 1
    # without a discordant item a difference of the margin is rejected from about this size on
    never = math.log(request.alpha) / math.log1p(-float(request.margin.exact())) if request.margin else 10
    variance = request.discordant * (1 + (size - 1) * (request.icc or 0.0)) / size
    return int(min(max(z * z * variance / max(room, 1e-9) ** 2, never), request.max_n))


def _ripple(request: SampleSizeRequest, size: int) -> int:
    """Return how far above the crossing power may fall below the target again."""
    if request.test == "sign-flip":
        return 3
    m = max(size * request.discordant, 1.0)
    # A tooth is as wide as n grows while one more discordant item is needed: about n / sqrt(m), with room to spare.
    return min(20 + int((1 if request.test == "tango" else 3) * size / math.sqrt(m)), 5_000)


@stat_test(
    name="sample-size",
    version=1,
    title="Sample size of a planned comparison",
    asked="design",
    example={"test": "welch", "delta": 1382.0, "sd_baseline": 1341.0, "sd_candidate": 990.0},
    cost=_estimate_cost,
)
def sample_size(request: SampleSizeRequest) -> SampleSizeAnalysis:
    """Find the smallest size at which a planned test reaches the target power, and keeps it.

    Models and H0 are those of ``power``. Exact power saw-tooths, so the answer is the
    smallest n such that no larger n searched falls below the target.

    Returns:
        n: runs per arm, items or clusters.
        n_continuous: for means, where the smooth power curve crosses the target.
        n_colas, n_one_tailed: for welch, by the shifted central t and by the one-tailed test.
        n_at_upper_sd: with pilot SDs at their upper 80 % confidence bound.

    Raises:
        InvalidData: fields that the test needs or does not use, or shares above 1.

    Edge cases:
        No difference (tango: a difference beyond the margin): n is null, power never gets there.
        max_n reached: n is null with a reason.
        sign-flip: power is simulated, so n carries Monte-Carlo error; every n reuses the seed.

    Sources:
        Chernick & Liu (2002), Am Stat 56:149 (saw-tooth).
        Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295.
        Browne (1995), Stat Med 14:1933.

    Example:
        Means 3523 and 4905, SDs 1341 and 990, two-sided 80 %: 13 runs per arm, where the
        one-tailed shortcut says 10.
    """
    reasons: dict[str, str] = {}
    n, searched = _search(request)
    if n is None:
        reasons["n"] = reasons["power"] = (
            f"power does not reach {request.target_power:g} up to {searched} {request.unit}"
            if _reachable(request)
            else "power against this difference does not grow with n"
        )
    continuous = one_tailed = colas = upper = None
    if request.test in designs.MEANS and n is not None and n > designs.least_n(request):
        continuous = _continuous(request, n)
    if request.test == "welch" and n is not None:
        colas = _first(
            request, lambda size: 1 - kernel.colas_beta(request.effect, *request.sds, size, request.alpha)
        )
        side: Alternative = "greater" if request.effect > 0 else "less"
        one_tailed = _first(request, lambda size: designs.power_at(request, size, alternative=side).power)
    if request.pilot_n is not None and n is not None:
        inflation = kernel.upper_sd(1.0, request.pilot_n, 0.8)
        upper = _first(request, lambda size: designs.power_at(request, size, inflation=inflation).power)
    optional = {
        "n_continuous": (continuous, "for tests of means that reach the target, and not with the least size"),
        "n_one_tailed": (one_tailed, "for Welch's test that reaches the target"),
        "n_colas": (colas, "for Welch's test that reaches the target"),
        "n_at_upper_sd": (upper, "no pilot_n was sent, or max_n does not reach the target"),
    }
    reasons |= {name: reason for name, (value, reason) in optional.items() if value is None}
    warnings = []
    if n is not None and request.test not in designs.MEANS:
        warnings.append(SAW_TOOTH(n=n, searched_to=searched))
    if upper is not None and n is not None and upper > n:
        warnings.append(PLAN_WITH_UPPER_SD(pilot_n=request.pilot_n or 0, n_upper=upper, n=n))
    simulated = request.test == "sign-flip"
    return SampleSizeAnalysis(
        test=request.test,
        n=n,
        unit=request.unit,
        power=None if n is None else designs.power_at(request, n).power,
        target_power=request.target_power,
        delta=request.effect,
        searched_to=searched,
        n_continuous=continuous,
        n_one_tailed=one_tailed,
        n_colas=colas,
        n_at_upper_sd=upper,
        reasons=reasons,
        warnings=tuple(warnings),
        resampling=Resampling.drawn(request.n_simulations, request.seed) if simulated else COMPUTED,
        sentence=_describe(request, n, reasons),
    )


def _search(request: SampleSizeRequest) -> tuple[int | None, int]:
    """Return the least n that reaches the target power, and the largest n that was looked at."""
    least, most = designs.least_n(request), request.max_n
    if not _reachable(request):
        return None, least
    if request.test in designs.MEANS:
        return _first(request, lambda size: designs.power_at(request, size).power), most

    return kernel.smallest_n(
        lambda n: designs.power_at(request, n, target=request.target_power).power,
        request.target_power,
        least,
        most,
        lambda size: _ripple(request, size),
    )


def _reachable(request: SampleSizeRequest) -> bool:
    """False where power falls or stays at alpha however large n is."""
    if request.margin is not None:
        return abs(request.effect) < float(request.margin.exact())
    direction = {"two-sided": abs(request.effect), "greater": request.effect, "less": -request.effect}
    return direction[request.alternative] > 0


def _first(request: SampleSizeRequest, power_of: kernel.PowerCurve) -> int | None:
    """Smallest n of a power curve that only rises."""
    n, _ = kernel.smallest_n(
        power_of, request.target_power, designs.least_n(request), request.max_n, lambda _n: 0
    )
    return n


def _continuous(request: SampleSizeRequest, n: int) -> float:
    def gap(size: float) -> float:
        return designs.mean_power(request, size, request.effect, request.alternative) - request.target_power

    # n is the least whole size that reaches the target, so n - 1 does not: the root lies between.
    return rising_root(gap, n - 1.0, float(n), 1e-9)


def _describe(request: SampleSizeRequest, n: int | None, reasons: dict[str, str]) -> str:
    """Say the size that the claim needs for its power, or why no size will do."""
    if n is None:
        return speak("analyses.no_size", claim=request.claim, reason=state_reason(reasons["n"]))
    return speak(
        "analyses.size" if request.margin is None else "analyses.size_within",
        size=request.count_in_words(n),
        claim=request.claim,
        power=level_text(request.target_power),
        truth=request.truth,
    )
