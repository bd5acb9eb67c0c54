"""Power of a planned comparison, over a list of sizes."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from service.errors import InvalidData
from service.kernels import power as kernel
from service.kernels.cluster_power import simulated_power
from service.kernels.roots import rising_root
from service.kernels.streams import BLOCK, block_count
from service.stats.common import Alternative, Analysis, Part, Resampling
from service.stats.designs import (
    MEANS,
    Design,
    PowerAt,
    Test,
    least_n,
    power_at,
    seconds_at,
    simulation,
    sparse,
)
from service.stats.registry import Blocks, Drawn, stat_test
from service.stats.warnings import define

Size = Annotated[int, Field(ge=1, le=1_000_000)]

PILOT_SD = define(
    "PILOT_SD",
    "caution",
    "The SDs come from {pilot_n} runs per arm: small pilots underestimate them more often than not, so true "
    "power tends to be lower; plan with the upper bound.",
    "Browne (1995), Stat Med 14:1933; Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295",
)
ONE_TAILED_SHORTCUT = define(
    "ONE_TAILED_SHORTCUT",
    "info",
    "beta_colas is a one-tailed shifted central t; the two-sided test misses more often than it says.",
    "Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295",
)


class PowerRequest(Design):
    """A design and the sizes to try."""

    n: Size | Annotated[list[Size], Field(min_length=1, max_length=500)] = Field(
        description="Runs per arm (welch, student), items, or clusters (sign-flip): one size or a list."
    )

    def sizes(self) -> list[int]:
        """The sizes as a list, in the order sent."""
        return self.n if isinstance(self.n, list) else [self.n]


class PowerPoint(Part):
    """Power at one size."""

    n: int = Field(description="Runs per arm, items or clusters.")
    power: float | None = Field(description="Chance to reject, a proportion.")
    beta: float | None = Field(description="Chance to miss, 1 - power.")
    standard_error: float | None = Field(description="Monte-Carlo SE of power; null when computed.")
    beta_one_tailed: float | None = Field(description="Means: chance to miss of the one-tailed test.")
    beta_colas: float | None = Field(description="welch: by the one-tailed shifted central t.")
    power_at_upper_sd: float | None = Field(description="Power at the upper 80 % bound of the pilot SDs.")
    detectable: float | None = Field(
        description="Least |delta| with the target power, score units or a proportion."
    )


class PowerAnalysis(Analysis):
    """The power curve."""

    test: Test = Field(description="The test planned.")
    delta: float = Field(description="True difference assumed, score units or a proportion.")
    unit: str = Field(description="What n counts.")
    target_power: float = Field(description="A proportion.")
    points: tuple[PowerPoint, ...] = Field(description="One per size, in the order sent.")
    power: float | None = Field(description="At the first size sent.")
    n: int = Field(description="The first size sent.")


def _cost(request: PowerRequest) -> float:
    extra = {"mcnemar": 25, "welch": 12, "student": 12, "paired-t": 12}.get(request.test, 1)
    seconds = sum(seconds_at(request, n) + _table_seconds(request, n) for n in request.sizes())
    return 0.001 + extra * seconds


def _table_seconds(request: PowerRequest, n: int) -> float:
    """Every truth that `detectable` tries has a table of its own, as long as the most items that may differ."""
    if request.test != "mcnemar":
        return 0.0
    expected = n * request.discordant
    return 6e-7 * 2.0 ** max(int(expected + 9 * expected**0.5 + 25), 63).bit_length()


def _count(request: PowerRequest, _drawn: Drawn | None) -> int:
    if min(request.sizes()) < (least := least_n(request)):
        raise InvalidData.field("n", f"{request.test} needs at least {least}", "send larger sizes")
    return len(request.sizes()) * block_count(request.n_simulations) if request.test == "sign-flip" else 0


def _draw(request: PowerRequest, which: range) -> Drawn:
    each = block_count(request.n_simulations)
    rejected = []
    for place, n in enumerate(request.sizes()):
        own = range(max(which.start - place * each, 0), min(which.stop - place * each, each))
        if own:
            rejected.append(simulation(request, n).rejects(own))
    return {"rejected": np.concatenate(rejected)}


def _power_at(request: PowerRequest, place: int, drawn: Drawn) -> PowerAt:
    if request.test != "sign-flip":
        return power_at(request, request.sizes()[place])
    start = place * block_count(request.n_simulations) * BLOCK
    return PowerAt(*simulated_power(drawn["rejected"][start : start + request.n_simulations]))


def _analysis(request: PowerRequest, drawn: Drawn) -> PowerAnalysis:
    sizes = request.sizes()
    reasons: dict[str, str] = {}
    points = tuple(
        _point(request, n, _power_at(request, place, drawn), reasons) for place, n in enumerate(sizes)
    )
    first = points[0]
    warnings = []
    if request.pilot_n is not None and request.pilot_n < 20:
        warnings.append(PILOT_SD(pilot_n=request.pilot_n))
    if request.test == "welch" and request.alternative == "two-sided":
        warnings.append(ONE_TAILED_SHORTCUT())
    warnings += sparse(request, min(sizes))
    simulated = request.test == "sign-flip"
    shown = 0.0 if first.power is None else first.power
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
        resampling=(
            Resampling(
                exact=False,
                n_resamples=request.n_simulations,
                seed=request.seed,
                bit_generator="PCG64",
            )
            if simulated
            else Resampling(exact=True, error_bound=1e-9)
        ),
        sentence=(
            f"With {first.n} {request.unit} and a true difference of {request.effect:+.4g}, {request.test} "
            f"at alpha {request.alpha:g} ({request.alternative}) rejects with chance {shown:.3f}; "
            "this speaks of the plan, not of any data."
        ),
    )


BLOCKS = Blocks(_count, _draw, _analysis)


@stat_test(
    name="power",
    version=1,
    title="Power of a planned comparison",
    example={"test": "welch", "delta": 1382.0, "sd_baseline": 1341.0, "sd_candidate": 990.0, "n": [5, 10]},
    cost=_cost,
    blocks=BLOCKS,
)
def power(request: PowerRequest) -> PowerAnalysis:
    """Compute the chance that a planned test rejects, if the stated difference is true.

    Means (welch, student, paired-t): normal scores, noncentral t. Pairs (mcnemar, tango):
    exact sum over the trinomial counts. Clusters (sign-flip): simulation of
    Dirichlet-multinomial clusters, the test itself exact. A test rejects at p < alpha.

    Returns:
        points: power and beta per size; for welch also the one-tailed beta of Colas et al.
        detectable: least |delta| with the target power at that size; for mcnemar at the same
            share of discordant items.
        power_at_upper_sd: the same with pilot SDs at their upper 80 % confidence bound.

    Raises:
        InvalidData: fields that the test needs or does not use, shares above 1, a size below 2 for means.

    Edge cases:
        No discordant items: McNemar has power 0.
        Welch: df use the true SDs; the real test estimates them and has a little less power at small n.
        tango: the asymptotic score test, without its safeguard below 10 discordant items.
        detectable is null for tango and sign-flip, and where no difference reaches the target.

    Sources:
        Colas, Sigaud & Oudeyer (2018), arXiv:1806.08295.
        Cohen (1988), Statistical Power Analysis, 2nd ed.
        Browne (1995), Stat Med 14:1933 (upper bound of a pilot SD).

    Example:
        Means 3523 and 4905, SDs 1341 and 990: beta_colas .51 at 5 runs and .20 at 10; two-sided .63 and .31.
    """
    return BLOCKS.whole(request)


def _point(request: PowerRequest, n: int, at: PowerAt, reasons: dict[str, str]) -> PowerPoint:
    one_tailed = colas = upper = None
    is_means = request.test in MEANS
    if is_means:
        side: Alternative = "greater" if request.effect >= 0 else "less"
        one_tailed = 1 - power_at(request, n, alternative=side).power
    else:
        reasons["points.beta_one_tailed"] = "for tests of means"
    if request.test == "welch":
        colas = kernel.colas_beta(
            request.effect, request.sd_baseline or 1.0, request.sd_candidate or 1.0, n, request.alpha
        )
    else:
        reasons["points.beta_colas"] = "for Welch's test"
    if request.pilot_n is not None:
        upper = power_at(request, n, inflation=kernel.upper_sd(1.0, request.pilot_n, 0.8)).power
    else:
        reasons["points.power_at_upper_sd"] = "no pilot_n was sent"
    if at.standard_error is None:
        reasons["points.standard_error"] = "computed, not simulated"
    detectable = _detectable(request, n)
    if detectable is None:
        reasons["points.detectable"] = (
            "no difference with this share of discordant items reaches the target"
            if request.test == "mcnemar"
            else f"not defined for {request.test}"
        )
    return PowerPoint(
        n=n,
        power=at.power,
        beta=1 - at.power,
        standard_error=at.standard_error,
        beta_one_tailed=one_tailed,
        beta_colas=colas,
        power_at_upper_sd=upper,
        detectable=detectable,
    )


def _detectable(request: PowerRequest, n: int) -> float | None:
    if request.test in MEANS:
        se, df = request.se_and_df(n)
        return se * kernel.detectable_nc(df, request.alpha, request.alternative, request.target_power)
    if request.test != "mcnemar":
        return None
    share, method = request.discordant, request.method or "exact"
    side: Alternative = "two-sided" if request.alternative == "two-sided" else "greater"

    def gap(delta: float) -> float:
        low = max((share - delta) / 2, 0.0)
        found = kernel.mcnemar_power(n, low, share - low, request.alpha, method, side)
        return found - request.target_power

    return rising_root(gap, 0.0, share, 1e-7) if share and gap(share) >= 0 else None
