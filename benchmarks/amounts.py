"""Ratios of costs and quantiles of latencies on the same items, beside scipy."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Sides, row
from benchmarks.ours import computed

GROUP = "amounts"
ITEMS, DRAWS = 2_000, 5_000


def columns() -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Log-normal costs of two arms."""
    rng = np.random.default_rng(4)
    before = np.exp(rng.normal(0, 0.8, ITEMS))
    return before, 0.7 * before * np.exp(rng.normal(0, 0.4, ITEMS))


@row(f"Fieller's interval of a ratio, {ITEMS} items", group=GROUP, peer="scipy ttest_1samp and brentq", bar=2)
def _ratio() -> Sides:
    from scipy import optimize, stats

    before, after = columns()
    ours = computed("ratio-of-means", baseline=before.tolist(), candidate=after.tolist())

    def peer() -> float:
        ratio = after.mean() / before.mean()
        gap = lambda r: stats.ttest_1samp(after - r * before, 0).pvalue - 0.05  # noqa: E731
        optimize.brentq(gap, ratio / 2, ratio)
        return float(optimize.brentq(gap, ratio, 2 * ratio))

    return Sides(lambda: float(ours().ratio.ci.high), peer, 1e-9, scale=1.0, of="the ratio")


@row(
    f"median difference of two arms, {ITEMS} items, {DRAWS} resamples",
    group=GROUP,
    peer="scipy bootstrap",
    bar=0.8,
)
def _quantile() -> Sides:
    from scipy import stats

    before, after = columns()
    ours = computed(
        "quantile-difference", baseline=before.tolist(), candidate=after.tolist(), n_resamples=DRAWS
    )
    seeds = iter(range(10**6))

    def peer() -> float:
        result = stats.bootstrap(
            (before, after),
            lambda b, c, axis: np.median(c, axis=axis) - np.median(b, axis=axis),
            paired=True,
            method="percentile",
            n_resamples=DRAWS,
            rng=np.random.default_rng(next(seeds)),
        )
        return float(result.confidence_interval.high)

    width = float(ours().ci.high - ours().ci.low) / 2
    noise = 0.03 * width
    return Sides(
        lambda: float(ours().ci.high), peer, noise, scale=width, of="the half width", ours_error=noise
    )
