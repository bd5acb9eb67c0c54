"""What power and sample size share: the design of a comparison before there are data."""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from service.errors import Fault, InvalidData
from service.kernels.numeric.streams import BLOCK, block_count
from service.kernels.pairs.mcnemar import Method
from service.kernels.pairs.paired_exact import exact_seconds
from service.kernels.planning import power as kernel
from service.kernels.planning.cluster_power import ClusterFlips, simulated_power
from service.kernels.planning.equivalence_power import tango_power
from service.kernels.planning.welch_power import welch_power
from service.stats.shared.declaring.common import Alternative, Finite, Margin, Proportion, Request, Share
from service.stats.shared.declaring.sentences import describe_sides, difference_of, within_of
from service.words import Message, Value, message

Test = Literal["welch", "student", "paired-t", "mcnemar", "tango", "sign-flip"]
MOST_SPARSE = 110
"""Expected discordant items beyond which fewer than 10 never come up."""
MEANS = ("welch", "student", "paired-t")
Spread = Annotated[float, Field(gt=0, le=1e150, allow_inf_nan=False)]

_NEEDS: dict[str, tuple[str, ...]] = {
    "welch": ("delta", "sd_baseline", "sd_candidate"),
    "student": ("delta", "sd_baseline", "sd_candidate"),
    "paired-t": ("delta", "sd_difference"),
    "mcnemar": ("p_only_baseline", "p_only_candidate"),
    "tango": ("p_only_baseline", "p_only_candidate", "margin"),
    "sign-flip": ("p_only_baseline", "p_only_candidate", "cluster_size", "icc"),
}
_MAY_LACK = ("pilot_n",)
_ALL = tuple(dict.fromkeys(name for names in _NEEDS.values() for name in names)) + _MAY_LACK


class Design(Request):
    """The test to be run, and the truth it should detect. Fields a test does not use are refused."""

    test: Test = Field(description="The test whose power is asked for; tango shows equivalence.")
    alpha: Proportion = Field(0.05, description="Significance level, a proportion; p < alpha rejects.")
    alternative: Alternative = "two-sided"
    target_power: Proportion = Field(0.8, description="Power to reach, a proportion above alpha.")
    delta: Finite | None = Field(None, description="Means: true candidate - baseline, score units.")
    sd_baseline: Spread | None = Field(None, description="welch, student: SD of baseline runs, score units.")
    sd_candidate: Spread | None = Field(
        None, description="welch, student: SD of candidate runs, score units."
    )
    sd_difference: Spread | None = Field(None, description="paired-t: SD of the differences, score units.")
    pilot_n: Annotated[int, Field(ge=2, le=10**6)] | None = Field(
        None, description="Means: runs per arm that the SDs were estimated from, if they were."
    )
    p_only_baseline: Share | None = Field(
        None, description="Pairs: true share of items that only the baseline answers correctly."
    )
    p_only_candidate: Share | None = Field(
        None, description="Pairs: true share of items that only the candidate answers correctly."
    )
    method: Method | None = Field(None, description="mcnemar: how p is computed (exact).")
    margin: Margin | None = Field(None, description="tango: equivalence within plus or minus this.")
    cluster_size: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        None, description="sign-flip: items per cluster."
    )
    icc: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description="sign-flip: intraclass correlation of item outcomes within a cluster."
    )
    n_simulations: Annotated[int, Field(ge=100, le=100_000)] = Field(
        2_000, description="sign-flip: simulated data sets."
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="sign-flip: seed of the simulation.")

    @model_validator(mode="after")
    def _require_fields_of_test(self) -> Self:
        """Refuse fields that mean nothing for the test, and ask for those it needs."""
        needed = _NEEDS[self.test]
        allowed = {*needed, *(_MAY_LACK if self.test in MEANS else ())}
        sent = {name for name in _ALL if getattr(self, name) is not None}
        faults = [
            Fault(name, f"is needed for the power of {self.test}", "send it")
            for name in needed
            if name not in sent
        ]
        faults += [
            Fault(name, f"means nothing for {self.test}", "leave it out") for name in sorted(sent - allowed)
        ]
        if self.method is not None and self.test != "mcnemar":
            faults.append(Fault("method", f"means nothing for {self.test}", "leave it out"))
        if self.test == "tango" and self.alternative != "two-sided":
            faults.append(Fault("alternative", "equivalence has two sides by definition", "leave it out"))
        if faults:
            raise InvalidData(f"{self.test} does not fit the fields sent", faults)
        self._possible()
        return self

    def _possible(self) -> None:
        if self.target_power <= self.alpha:
            raise InvalidData.field("target_power", "is at most alpha", "ask for more power than alpha")
        if (self.p_only_baseline or 0) + (self.p_only_candidate or 0) > 1:
            raise InvalidData.field(
                "p_only_candidate", "both shares add up to more than 1", "shares of items"
            )
        if self.margin is not None:
            self.margin.for_endpoint(binary=True)

    @property
    def effect(self) -> float:
        """True candidate - baseline: score units, or a proportion."""
        if self.delta is not None:
            return self.delta
        return (self.p_only_candidate or 0.0) - (self.p_only_baseline or 0.0)

    @property
    def discordant(self) -> float:
        """True share of discordant items."""
        return (self.p_only_baseline or 0.0) + (self.p_only_candidate or 0.0)

    @property
    def truth(self) -> Value:
        """The true difference in words."""
        return difference_of(self.effect, binary=self.test not in MEANS)

    @property
    def claim(self) -> Message:
        """What the test would show, at which level."""
        alpha = f"{self.alpha:g}"
        if self.margin is not None:
            bound = within_of(self.margin.exact(), binary=True)
            return message("analyses.claim_equivalence", test=self.test, alpha=alpha, margin=bound)
        sides = describe_sides(self.alternative)
        return message("analyses.claim_rejects", test=self.test, alpha=alpha, alternative=sides)

    def count_in_words(self, n: int) -> Message:
        """Return a size of this design in words."""
        if self.test in ("welch", "student"):
            return message("analyses.runs_per_arm", n=n)
        return message(f"units.counted_{self.unit}", n=n)

    @property
    def unit(self) -> str:
        """What the sizes of this design count: runs per arm, clusters or items."""
        if self.test in ("welch", "student"):
            return "runs per arm"
        return "clusters" if self.test == "sign-flip" else "items"

    def se_and_df(self, n: float, inflation: float = 1.0) -> tuple[float, float]:
        """Return the standard error and degrees of freedom of the mean tests, SDs times `inflation`."""
        sd0, sd1 = (inflation * sd for sd in self.sds)
        if self.test == "paired-t":
            return inflation * (self.sd_difference or 1.0) / math.sqrt(n), n - 1
        if self.test == "student":
            return math.hypot(sd0, sd1) / math.sqrt(n), 2 * n - 2
        return kernel.welch_se_and_df(sd0, sd1, n)

    @property
    def sds(self) -> tuple[float, float]:
        """SDs of baseline and candidate runs, score units."""
        return self.sd_baseline or 1.0, self.sd_candidate or 1.0


class PowerAt(NamedTuple):
    """Power at one n, with its Monte-Carlo standard error where it was simulated."""

    power: float
    standard_error: float | None = None


def power_at(
    design: Design, n: int, *, alternative: Alternative | None = None, inflation: float = 1.0,
    target: float | None = None,
) -> PowerAt:  # fmt: skip
    """Return the power of the design's test at n (runs per arm, items, or clusters).

    `target`: a bound will do where it lies on the same side of it as the power.
    """
    side = alternative or design.alternative
    if design.test in MEANS:
        return PowerAt(mean_power(design, n, design.effect, side, inflation))
    p_b, p_c = design.p_only_baseline or 0.0, design.p_only_candidate or 0.0
    if design.test == "mcnemar":
        return PowerAt(kernel.mcnemar_power(n, p_b, p_c, design.alpha, design.method or "exact", side))
    if design.margin is not None:
        return PowerAt(tango_power(n, p_b, p_c, design.alpha, float(design.margin.exact()), target=target))
    rejected = simulation(design, n).rejects(range(block_count(design.n_simulations)))
    return PowerAt(*simulated_power(rejected[: design.n_simulations]))


def mean_power(design: Design, n: float, delta: float, side: Alternative, inflation: float = 1.0) -> float:
    """Return the power of a test of means against a true difference `delta`; n may be a fraction."""
    if design.test == "welch":
        sd0, sd1 = design.sds
        return welch_power(delta, inflation * sd0, inflation * sd1, n, design.alpha, side)
    se, df = design.se_and_df(n, inflation)
    return kernel.t_power(delta / se, df, design.alpha, side)


def simulation(design: Design, n: int, shares: tuple[float, float] | None = None) -> ClusterFlips:
    """Return the simulated data sets of n clusters; `shares`: other true discordant shares than the design's."""
    baseline, candidate = shares or (design.p_only_baseline or 0.0, design.p_only_candidate or 0.0)
    return ClusterFlips(
        n, design.cluster_size or 1, baseline, candidate, design.icc or 0.0, design.alpha,
        design.alternative, design.seed,
    )  # fmt: skip


def least_n(design: Design) -> int:
    """Return the smallest n at which the test exists."""
    return 2 if design.test in MEANS else 1


def seconds_at(design: Design, n: int) -> float:
    """Return the rough cost of the power at one n."""
    spread = math.sqrt(n * design.discordant)
    if design.test == "sign-flip":
        drawn = BLOCK * block_count(design.n_simulations)  # whole blocks
        set_seconds = simulation(design, n).seconds + 1e-8 * (design.cluster_size or 1)
        return 0.02 + 2.5 * drawn * set_seconds
    if design.test == "welch":
        return 1.2e-3 + 0.03 / n**2
    if design.test == "tango":
        return 1e-3 + 7e-5 * spread
    return 1e-4 + 2e-6 * spread if design.test == "mcnemar" else 3e-4


def fresh_seconds(design: Design, n: int) -> float:
    """Return the rough cost of McNemar's test at the discordant items likely at n, if no n nearby came first."""
    share = min(design.discordant, 1.0)
    return 2e-4 + 1.6e-6 * (18 * math.sqrt(n * share * (1 - share)) + 50)


def guard_seconds(design: Design, n: int) -> float:
    """Return the rough cost of finding out which tables of fewer than 10 discordant items show equivalence."""
    if design.margin is None or n * design.discordant > MOST_SPARSE:
        return 0.0
    # a quick look at a few tables, a close one at every second n
    return 0.01 + exact_seconds(n, float(design.margin.exact())) / 2
