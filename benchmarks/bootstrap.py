"""Bootstrap intervals of means and of clusters, ours without drawing, against peers that draw."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.harness import Sides, end_error, row
from benchmarks.ours import computed

Floats = NDArray[np.float64]

GROUP = "bootstrap"
SCIPY = "scipy.stats.bootstrap"
HALF_WIDTH = "the interval's half width"
Z = 1.96


def binary(n: int) -> tuple[Floats, Floats]:
    """Two arms right on about two thirds of the items, a fifth of them discordant."""
    rng = np.random.default_rng(n)
    baseline = (rng.random(n) < 0.62).astype(float)
    return baseline, np.where(rng.random(n) < 0.2, 1 - baseline, baseline)


def continuous(n: int) -> tuple[Floats, Floats]:
    """Scores with a skewed difference."""
    rng = np.random.default_rng(n)
    baseline = rng.normal(0.5, 0.2, n)
    return baseline, baseline + rng.gamma(2.0, 0.05, n) - 0.08


def clustered(clusters: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Right and wrong answers in clusters of 3 to 30 items with an effect of their own."""
    rng = np.random.default_rng(clusters)
    sizes = rng.integers(3, 31, clusters)
    codes = np.repeat(np.arange(clusters), sizes)
    level = rng.normal(0.6, 0.15, clusters)[codes]
    baseline = (rng.random(len(codes)) < level).astype(float)
    candidate = (rng.random(len(codes)) < level + rng.normal(0.03, 0.08, clusters)[codes]).astype(float)
    return baseline, candidate, codes


def against_scipy(arms: tuple[Floats, Floats], draws: int, method: str) -> Sides:
    """The percentile or BCa interval of the mean difference; the number is its lower end."""
    difference = arms[1] - arms[0]
    rng = np.random.default_rng(1)
    ours = computed(
        "paired-bootstrap", baseline=arms[0].tolist(), candidate=arms[1].tolist(), method=method.lower()
    )

    def peer() -> float:
        # blocks of some megabytes: several times faster than scipy's default of one block
        found = stats.bootstrap(
            (difference,), np.mean, n_resamples=draws, vectorized=True, method=method, rng=rng,
            batch=max(1, BATCH // len(difference)),
        )  # fmt: skip
        return float(found.confidence_interval.low)

    se = float(difference.std()) / math.sqrt(len(difference))
    error = end_error(se, draws) if method == "percentile" else bca_error(se, draws)
    # a lattice's ends move in steps of 1/n
    step = 1 / len(difference) if arms[0].max() == 1 else 0.0
    return Sides(lambda: ours().ci.low, peer, error, scale=Z * se, of=HALF_WIDTH, ours_error=step)


BATCH = 2**20
"""Values that scipy holds at a time."""


def bca_error(standard_error: float, draws: int) -> float:
    """Of a BCa end: the quantile's error, and twice that of z0, which moves the level that is read."""
    # z0 is the normal quantile of a share near one half: sd sqrt(pi / 2 B)
    return math.hypot(end_error(standard_error, draws), 2 * standard_error * math.sqrt(math.pi / 2 / draws))


def against_arch(arms: tuple[Floats, Floats], draws: int) -> Sides:
    """The percentile interval by arch, whose loop draws one resample at a time."""
    from arch.bootstrap import IIDBootstrap

    difference = arms[1] - arms[0]
    rng = np.random.default_rng(1)
    ours = computed("paired-bootstrap", baseline=arms[0].tolist(), candidate=arms[1].tolist())

    def peer() -> float:
        found = IIDBootstrap(difference, seed=rng).conf_int(np.mean, draws, method="percentile")
        return float(found[0, 0])

    se = float(difference.std()) / math.sqrt(len(difference))
    return Sides(lambda: ours().ci.low, peer, end_error(se, draws), scale=Z * se, of=HALF_WIDTH)


def clusters_against_scipy(clusters: int, draws: int) -> Sides:
    """A ratio of cluster sums to cluster sizes, as a good user of scipy writes it: sums prepared, paired."""
    baseline, candidate, codes = clustered(clusters)
    rng = np.random.default_rng(1)
    ours = computed(
        "cluster-bootstrap", baseline=baseline.tolist(), candidate=candidate.tolist(), clusters=codes.tolist()
    )

    def ratio(sums: Floats, sizes: Floats, axis: int = -1) -> Floats:
        return sums.sum(axis=axis) / sizes.sum(axis=axis)

    sums, sizes = np.bincount(codes, weights=candidate - baseline), np.bincount(codes).astype(float)

    def peer() -> float:
        found = stats.bootstrap(
            (sums, sizes), ratio, n_resamples=draws, paired=True, vectorized=True, method="percentile",
            rng=rng, batch=max(1, BATCH // clusters),
        )  # fmt: skip
        return float(found.confidence_interval.low)

    residual = sums - sums.sum() / sizes.sum() * sizes
    se = math.sqrt(float(residual @ residual)) / float(sizes.sum())
    # five clusters have 126 resamples: the end is an atom, and drawing may pick its neighbour
    step = 0.2 * se if clusters < 10 else 0.0
    return Sides(
        lambda: ours().ci.low, peer, end_error(se, draws), scale=Z * se, of=HALF_WIDTH, ours_error=step
    )


for _draws, _bar in ((2000, 30), (100_000, 1000)):
    row(f"paired CI, binary, n 500, B {_draws:,}", group=GROUP, peer=SCIPY, bar=_bar)(
        partial(against_scipy, binary(500), _draws, "percentile")
    )
for _n, _draws, _bar in ((500, 2000, 15), (500, 100_000, 500), (10_000, 10_000, 300)):
    row(f"paired CI, continuous, n {_n:,}, B {_draws:,}", group=GROUP, peer=SCIPY, bar=_bar)(
        partial(against_scipy, continuous(_n), _draws, "percentile")
    )
row("paired CI, continuous, n 1,000,000, B 1,000", group=GROUP, peer="arch IIDBootstrap", bar=40)(
    lambda: against_arch(continuous(1_000_000), 1000)
)
for _draws, _bar in ((2000, 12), (100_000, 400)):
    row(f"BCa, continuous, n 500, B {_draws:,}", group=GROUP, peer=SCIPY, bar=_bar)(
        partial(against_scipy, continuous(500), _draws, "BCa")
    )
    row(f"BCa, binary, n 500, B {_draws:,}", group=GROUP, peer=SCIPY, bar=_bar)(
        partial(against_scipy, binary(500), _draws, "BCa")
    )
for _clusters, _bar in ((5, 8), (100, 4), (10_000, 400)):
    row(f"cluster CI, {_clusters:,} clusters, B 10,000", group=GROUP, peer=SCIPY, bar=_bar)(
        partial(clusters_against_scipy, _clusters, 10_000)
    )
