"""Log Bayes factors BF10 from summary statistics. Floats in, natural logs out, so nothing overflows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

_POINTS = 2001
"""Points of the trapezoidal rule; odd, so that every second one ends at the same ends."""

_DEPTH = 50.0
"""Nats below its peak at which an integrand counts as zero: e^-50 is 2e-22."""

LogDensity = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class LogBayesFactor(NamedTuple):
    """ln BF10 (infinite when the data exclude H0) and a bound on its absolute error."""

    value: float
    error: float


def log_integral(log_f: LogDensity, low: float, high: float, largest_term: float) -> LogBayesFactor:
    """Return ln of the integral of exp(log_f) over [low, high]; log_f takes arrays of shape (n,).

    The integrand is smooth, has one peak (or peaks wider than (high - low) / 2000) and vanishes
    at both ends: then the trapezoidal rule converges geometrically, and the difference between
    every point and every second point bounds its error. Peak and range are found by zooming in.
    `largest_term` is the size of the largest summand of log_f near the peak, whose rounding is added.
    """
    while True:
        points = np.linspace(low, high, _POINTS)
        heights = log_f(points)
        top = float(heights.max())
        inside = np.flatnonzero(heights > top - _DEPTH)
        # one point beyond on either side; zoomed in until the integrand fills an eighth of the range
        first, last = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, _POINTS - 1)
        if last - first > _POINTS // 8:
            break
        low, high = float(points[first]), float(points[last])
    weights = np.exp(heights - top)
    step = float(points[1] - points[0])
    fine = step * (float(weights.sum()) - (weights[0] + weights[-1]) / 2)
    coarse = 2 * step * (float(weights[::2].sum()) - (weights[0] + weights[-1]) / 2)
    return LogBayesFactor(top + math.log(fine), abs(math.log(coarse / fine)) + _rounding(largest_term))


def jzs_t(t: float, n_effective: float, df: float, rscale: float) -> LogBayesFactor:
    """JZS t-test: effect size ~ Cauchy(0, rscale) under H1.

    `n_effective` is n for one sample or pairs, n1 n2 / (n1 + n2) for two samples. The Cauchy is a
    normal with variance g rscale^2 and g ~ inverse gamma (1/2, 1/2); integrated over u = ln g.

    Source: Rouder, Speckman, Sun, Morey & Iverson (2009), Psychon Bull Rev 16:225, eq. 1 and 2.
    """
    signal = t * t / df
    log_c = math.log(n_effective) + 2 * math.log(rscale)

    def log_f(u: NDArray[np.float64]) -> NDArray[np.float64]:
        gain = np.log1p(signal / (1 + (1 + signal) * np.exp(-u - log_c)))
        prior = -u / 2 - np.exp(-u) / 2 - math.log(2 * math.pi) / 2
        return prior - np.logaddexp(0, u + log_c) / 2 + (df + 1) / 2 * gain

    most = (df + 1) / 2 * math.log1p(signal)
    # Below u = -10 the prior is under exp(-11,000). Above ln((1 + signal) / c) the gain has levelled off and the
    # integrand falls by a nat per unit of u: 120 units on, it is far deeper than counts.
    return log_integral(log_f, -10.0, max(0.0, math.log1p(signal) - log_c) + 120, 4 * most + 100)


def jzs_regression(f: float, df1: int, df2: float, n: int, rscale: float) -> LogBayesFactor:
    """JZS regression of a model with df1 effects against the intercept, from its F statistic.

    g ~ inverse gamma (1/2, rscale^2 n / 2) mixes Zellner's g prior. With one effect and two equal
    groups it is the JZS t-test of twice the rscale.

    Source: Liang, Paulo, Molina, Clyde & Berger (2008), JASA 103:410; Rouder & Morey (2012),
    Multivar Behav Res 47:877.
    """
    unexplained = df2 / (f * df1 + df2)
    explained = f * df1 / (f * df1 + df2)
    scale = rscale * rscale * n / 2

    def log_f(u: NDArray[np.float64]) -> NDArray[np.float64]:
        gain = np.log1p(explained / (np.exp(-u) + unexplained))
        prior = math.log(scale / math.pi) / 2 - u / 2 - scale * np.exp(-u)
        return prior - df1 / 2 * np.logaddexp(0, u) + (n - 1) / 2 * gain

    # prior and penalty together peak at ln(2 scale / (1 + df1)) or above, the gain only rises
    low = math.log(2 * scale / (1 + df1)) - 10
    most = -(n - 1) / 2 * math.log(unexplained) + df1 * max(math.log(scale), 1.0)
    high = max(math.log(scale), -math.log(unexplained)) + 120
    return log_integral(log_f, low, high, 4 * most + 100)


def bic_f(f: float, df1: int, df2: float, n: int) -> LogBayesFactor:
    """BIC approximation (unit information prior) from F. Source: Wagenmakers (2007), PBR 14:779."""
    value = (n * math.log1p(f * df1 / df2) - df1 * math.log(n)) / 2
    return _compute_closed_form(value, n * math.log1p(f * df1 / df2))


def correlation_ly(r: float, n: int, kappa: float) -> LogBayesFactor:
    """Pearson r of a bivariate normal; rho ~ stretched beta(1/kappa, 1/kappa) under H1, exactly.

    The factor 2F1((n-1)/2, (n-1)/2; n/2 + 1/kappa; r^2) overflows; its Euler integral, over the
    logit of the variable, does not. (The 2016 paper's (2n-3)/4 and (2n-1)/4 are Jeffreys'
    approximation.)

    Source: Ly, Marsman & Wagenmakers (2018), Stat Neerl 72:4.
    """
    if abs(r) >= 1:
        return LogBayesFactor(math.inf, 0.0)
    width, power = 1 / kappa, (n - 1) / 2
    first, second = (n - 1) / 2, width + 0.5
    log_left = math.log((1 - r) * (1 + r))
    log_square = 2 * math.log(abs(r)) if r else -math.inf

    def log_f(logit: NDArray[np.float64]) -> NDArray[np.float64]:
        log_rest = -np.logaddexp(0, logit)
        log_gap = np.logaddexp(log_left, log_square + log_rest)
        return -first * np.logaddexp(0, -logit) + second * log_rest - power * log_gap

    # the peak of the beta part lies at ln(first / second), that of the gap's part at -log_left
    peak = math.log(first / second)
    most = first + power * -log_left + second * (abs(peak) - log_left)
    integral = log_integral(log_f, min(peak, 0.0) - 60, max(peak, 0.0) - log_left + 120, 4 * most + 100)
    prior = (1 - 2 * width) * math.log(2) + math.log(math.pi) / 2 - float(special.betaln(width, width))
    ratio = math.log(float(special.poch(n / 2 + width - 0.5, 0.5)))
    constant = prior - ratio - float(special.betaln(first, second))
    return LogBayesFactor(constant + integral.value, integral.error + _rounding(constant))


def correlation_wetzels(r: float, n: int) -> LogBayesFactor:
    """Pearson r as a JZS regression slope with scale 1.

    Source: Wetzels & Wagenmakers (2012), Psychon Bull Rev 19:1057.
    """
    if abs(r) >= 1:
        return LogBayesFactor(math.inf, 0.0)
    f = (n - 2) * r * r / ((1 - r) * (1 + r))
    return jzs_regression(f, 1, n - 2, n, 1.0)


def bic_chi_square(chi_square: float, df: int, n: int) -> LogBayesFactor:
    """BIC approximation exp((chi-square - df ln n) / 2)."""
    return _compute_closed_form((chi_square - df * math.log(n)) / 2, chi_square)


def binomial(k: int, n: int, p0: float, a: float, b: float) -> LogBayesFactor:
    """k of n against p0; the proportion ~ Beta(a, b) under H1. Exact."""
    null = float(special.xlogy(k, p0) + special.xlog1py(n - k, -p0))
    return _compute_closed_form(float(special.betaln(k + a, n - k + b) - special.betaln(a, b)) - null, null)


def vovk_sellke(p: float) -> float:
    """Return ln of the most that a p-value can say against H0: 1 / (-e p ln p) below 1/e, else 1.

    Source: Sellke, Bayarri & Berger (2001), Am Stat 55:62.
    """
    return 0.0 if p >= math.exp(-1) else -1 - math.log(p) - math.log(-math.log(p))


def _compute_closed_form(value: float, largest_term: float) -> LogBayesFactor:
    """Return a closed form, exact up to the rounding of its largest term."""
    return LogBayesFactor(value, _rounding(abs(largest_term) + abs(value)))


def _rounding(size: float) -> float:
    return 16 * float(np.finfo(float).eps) * (abs(size) + 1)
