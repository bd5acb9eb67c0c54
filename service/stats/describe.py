"""One column of runs in numbers."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from service.kernels.bootstrap import bootstrap_intervals
from service.kernels.bootstrap import independent_bootstrap as bootstrap
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.numeric.moments import Moments, moments
from service.kernels.numeric.streams import block_count
from service.kernels.numeric.t_distribution import t_quantile, t_tail
from service.stats.shared.data.samples import OneSample, bootstrap_seconds, how_obtained
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import Analysis, Interval, Resampling
from service.stats.shared.declaring.fields import DrawCount, Level, PlainSeed
from service.stats.shared.declaring.registry import Blocks, Drawn, stat_test
from service.stats.shared.declaring.sentences import level_text, state_reason
from service.stats.shared.declaring.warnings import define
from service.words import message, speak

CIMethod = Literal["t", "percentile", "basic", "bca"]
MAD_TO_SD = 1.482602218505602
"""1 / Phi^-1(3/4): makes the MAD of normal data their SD."""

ENOUGH = 40
"""Values with as many degrees of freedom as two arms of 20 runs."""

NORMAL_975 = 1.959963984540054
"""The normal quantile of .975, Phi^-1(.975)."""

BOOTSTRAP_FEW_VALUES = define("BOOTSTRAP_FEW_VALUES", "serious", "Hesterberg (2015), Am Stat 69:371")

ZEROS_AND_ONES = define("ZEROS_AND_ONES", "caution", "Bowyer, Aitchison & Ivanova (2025), arXiv:2503.01747")


class DescribeRequest(OneSample):
    """One column, and how the interval of its mean is made."""

    elsewhere: ClassVar = {
        "baseline": "effect-size",
        "candidate": "effect-size",
        "clusters": "variance-components",
        "threshold": "outliers",
    }

    method: CIMethod = Field("t", description="Interval of the mean: Student's t, or a bootstrap.")
    level: Level = 0.95
    n_resamples: DrawCount = Field(
        10_000, description="Draws, where the bootstrap cannot be computed exactly."
    )
    seed: PlainSeed = 0

    @cached_property
    def exact(self) -> BootstrapDistribution | None:
        """The bootstrap distribution without drawing; None where blocks are drawn."""
        return bootstrap.exact_bootstrap([self.array()])


class DescribeAnalysis(Analysis):
    """One column in numbers; SD and SE use ddof 1."""

    n: int = Field(description="Values.")
    mean: float = Field(description="Score units.")
    ci: Interval | None = Field(description="Of the mean, by the chosen method.")
    sd: float | None = Field(description="Sample SD (ddof 1), score units.")
    sd_population: float = Field(description="SD with ddof 0, score units; not for inference.")
    se: float | None = Field(description="sd / sqrt(n), score units.")
    median: float = Field(description="Score units.")
    q1: float = Field(description="First quartile, type 7, score units.")
    q3: float = Field(description="Third quartile, type 7, score units.")
    iqr: float = Field(description="q3 - q1, score units.")
    min: float = Field(description="Score units.")
    max: float = Field(description="Score units.")
    mad_scaled: float = Field(description="1.4826 times the median absolute deviation, score units.")
    bootstrap_se: float | None = Field(description="SD of the bootstrapped mean, score units.")


def _estimate_cost(request: DescribeRequest) -> float:
    n = len(request.values)
    base = 0.0005 + 4e-7 * n
    return base if request.method == "t" else base + bootstrap_seconds([request.values], request.n_resamples)


def _count(request: DescribeRequest, _drawn: Drawn | None) -> int:
    drawn = request.method != "t" and moments(request.array()).sd and request.exact is None
    return block_count(request.n_resamples) if drawn else 0


def _draw(request: DescribeRequest, which: range) -> Drawn:
    return {"estimates": bootstrap.estimate_blocks([request.array()], request.seed, which)}


def _analyse(request: DescribeRequest, drawn: Drawn) -> DescribeAnalysis:
    """Return the answer from the moments and quantiles, with the bootstrap's interval where it was asked for."""
    values = request.array()
    m = moments(values)
    q1, median, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    reasons: dict[str, str] = {}
    if m.sd is None:
        reasons["sd"] = reasons["se"] = reasons["ci"] = "a single value has no SD"
    elif m.sd == 0:
        reasons["ci"] = "all values are equal, which is no certainty about the mean"
    ci, spread, resampling = None, None, Resampling(exact=True)
    if m.sd and request.method == "t":
        ci = _t_interval(m, request.level)
    elif m.sd and request.method != "t":
        distribution = request.exact or bootstrap.in_order(
            [values], drawn["estimates"][: request.n_resamples]
        )
        constants = bootstrap.bca_constants([values], distribution) if request.method == "bca" else None
        ends = bootstrap_intervals.interval(distribution, m.mean, request.level, request.method, constants)
        if ends is None:
            reasons["ci"] = "the BCa correction has no meaning for data this skewed"
        else:
            ci = Interval(low=ends[0], high=ends[1], level=request.level, method=request.method)
        spread, resampling = distribution.moments()[1], how_obtained(distribution, request.seed)
    if spread is None:
        reasons["bootstrap_se"] = "no bootstrap was asked for" if request.method == "t" else reasons["ci"]
    warnings = []
    if request.method != "t" and 1 < m.n < ENOUGH:
        warnings.append(BOOTSTRAP_FEW_VALUES(n=m.n, rate=_compute_miss_rate(m.n)))
    if is_binary(values):
        warnings.append(ZEROS_AND_ONES())
    if ci is not None:
        warnings += warn_if_skewed(values - m.mean, "values")
    return DescribeAnalysis(
        n=m.n,
        mean=m.mean,
        ci=ci,
        sd=m.sd,
        # sqrt(sum of squares / n) from sqrt(sum of squares / (n - 1)).
        sd_population=(m.sd or 0.0) * float(np.sqrt((m.n - 1) / m.n)),
        se=m.se,
        median=median,
        q1=q1,
        q3=q3,
        iqr=q3 - q1,
        min=float(values.min()),
        max=float(values.max()),
        mad_scaled=MAD_TO_SD * float(np.median(np.abs(values - median))),
        bootstrap_se=spread,
        reasons=reasons,
        resampling=resampling,
        warnings=tuple(warnings),
        sentence=_describe(request, m, ci, reasons),
    )


BLOCKS = Blocks(_count, _draw, _analyse)


@stat_test(
    name="describe",
    version=1,
    title="Description of one sample",
    asked="one_system",
    example={"values": [73.0, 75.0, 77.0, 74.0, 76.0]},
    cost=_estimate_cost,
    blocks=BLOCKS,
)
def describe(request: DescribeRequest) -> DescribeAnalysis:
    """Describe one column: centre, spread, quartiles and an interval of the mean.

    Values are independent draws; the t interval leans on a roughly normal mean, the
    bootstrap intervals on enough values. There is no H0.

    Returns:
        mean, ci: the mean with its interval by ``method``.
        sd, se: with ddof 1, the form that inference needs.
        median, q1, q3: type-7 quantiles (numpy's and R's default).
        mad_scaled: 1.4826 times the median absolute deviation.

    Raises:
        InvalidData: no values, or values beyond 1e150.

    Edge cases:
        One value: sd, se and ci are null with a reason.
        All equal: sd is 0; the interval is null, since equal values are no certainty.
        Bootstrap on values that share a small unit, or on values that have no more multisets than 12 different
            ones (1,352,078): exact, without a seed.
        Bootstrap below 40 values: warning BOOTSTRAP_FEW_VALUES.
        Skewed values: warning SKEWED below 25 times the squared skewness.
        Only 0 and 1: warning ZEROS_AND_ONES, which names the test that has the exact interval.

    Sources:
        Hyndman & Fan (1996), Am Stat 50:361 (type 7).
        Davison & Hinkley (1997), Bootstrap Methods and their Application, ch. 5.

    Example:
        73, 75, 77, 74, 76: mean 75, sd 1.58, 95% CI 73.04 to 76.96.
    """
    return BLOCKS.whole(request)


def _compute_miss_rate(n: int) -> float:
    """Return how often the 95% normal-theory bootstrap interval of n normal values misses: its SD has ddof 0."""
    # The interval is mean +- 1.96 s sqrt((n - 1)/n) / sqrt(n); (mean - mu) / (s / sqrt(n)) is Student's t with n - 1.
    return t_tail(NORMAL_975 * float(np.sqrt(1 - 1 / n)), n - 1)


def _t_interval(m: Moments, level: float) -> Interval:
    half = t_quantile(0.5 + level / 2, m.n - 1) * (m.se or 0.0)
    return Interval(low=m.mean - half, high=m.mean + half, level=level, method="t")


def _describe(request: DescribeRequest, m: Moments, ci: Interval | None, reasons: dict[str, str]) -> str:
    """Say the mean with its interval and standard deviation, or why it has no interval."""
    if ci is None:
        why = state_reason(reasons["ci"])
        return speak("analyses.described_alone", n=m.n, mean=float(m.mean), reason=why)
    low, high, level = f"{ci.low:.4g}", f"{ci.high:.4g}", level_text(request.level)
    return speak(
        "analyses.described",
        n=m.n,
        mean=float(m.mean),
        interval=message("analyses.ci_of", level=level, method=request.method, low=low, high=high),
        sd=float(m.sd or 0.0),
    )
