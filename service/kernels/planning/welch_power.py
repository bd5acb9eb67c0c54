"""Exact power of Welch's test of two normal samples of the same size."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from service.kernels.numeric.t_distribution import Alternative, noncentral_t_beyond

NATS = 40.0
"""Variance ratios beyond exp(-40) of the most likely one's density are left out."""


def welch_power(
    delta: float, sd_baseline: float, sd_candidate: float, n: float, alpha: float, alternative: Alternative
) -> float:
    """Chance that Welch's test rejects a true difference `delta`, n runs per arm. Absolute error about 1e-10.

    Given the ratio of the two sample variances, Welch's df and so the critical value are known, and the
    statistic is a multiple of a noncentral t on 2 n - 2 df, because the sum of the two chi-squares is
    independent of their ratio. The log ratio x has density ~ cosh(x / 2)^-(n - 1), smooth in a strip of
    width pi around the real line, so the trapezoid rule over x converges geometrically.
    """
    half = (n - 1) / 2
    nats = NATS / (n - 1)
    reach = 2 * (nats + math.log1p(math.sqrt(-math.expm1(-2 * nats))))  # 2 arcosh(exp(nats))
    steps = math.ceil(reach / min(0.2, 0.2 / math.sqrt(half)))
    x = np.linspace(-reach, reach, 2 * steps + 1)
    # 2 log cosh(x / 2), without overflow
    log_cosh = np.abs(x) + 2 * np.log1p(np.exp(-np.abs(x))) - 2 * math.log(2)
    weight = np.exp(-half * log_cosh)
    weight /= weight.sum()
    scale = max(sd_baseline, sd_candidate)
    v0, v1 = (sd_baseline / scale) ** 2, (sd_candidate / scale) ** 2
    share0, share1 = special.expit(x), special.expit(-x)  # of the sum of the two chi-squares
    variance = v0 * share0 + v1 * share1
    r0, r1 = v0 * share0 / variance, v1 * share1 / variance
    df = (n - 1) / (r0 * r0 + r1 * r1)
    tail = alpha / 2 if alternative == "two-sided" else alpha
    critical = np.asarray(-special.stdtrit(df, tail) * np.sqrt(2 * variance / (v0 + v1)), dtype=np.float64)
    nc = delta / scale / math.sqrt((v0 + v1) / n)
    power = 0.0
    if alternative != "less":
        power += float(weight @ noncentral_t_beyond(critical, 2 * n - 2, nc))
    if alternative != "greater":
        power += float(weight @ noncentral_t_beyond(critical, 2 * n - 2, -nc))
    return min(power, 1.0)
