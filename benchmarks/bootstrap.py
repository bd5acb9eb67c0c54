"""Bootstrap intervals of means and of clusters, ours without drawing, against peers that draw."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.harness import Sides, Task, end_error, row
from benchmarks.ours import computed
from service.kernels.bootstrap.metric_bootstrap import bca_ends
from service.kernels.bootstrap.paired_bootstrap import BinaryPairs
from service.kernels.bootstrap.ratio_bootstrap import ratio_bootstrap
from service.kernels.exact.inversion import SmoothMean, smooth_mean
from service.kernels.numeric.metrics import ratio_units

Floats = NDArray[np.float64]
Arms = tuple[Floats, Floats]

GROUP = "bootstrap"
SCIPY = "scipy.stats.bootstrap"
HALF_WIDTH = "the interval's half width"
Z = 1.96
BATCH = 2**20
"""Values that scipy holds at a time."""

ALONE = "our kernel from the two columns to the interval"


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


def scipy_end(difference: Floats, draws: int, method: str) -> Task:
    """Scipy's interval; the number is its lower end."""
    rng = np.random.default_rng(1)

    def peer() -> float:
        # blocks of 8 MB: scipy's default of a single block is no faster and takes gigabytes
        result = stats.bootstrap(
            (difference,), np.mean, n_resamples=draws, vectorized=True, method=method, rng=rng,
            batch=max(1, BATCH // len(difference)),
        )  # fmt: skip
        return float(result.confidence_interval.low)

    return peer


def arch_end(difference: Floats, draws: int) -> Task:
    """The interval of arch, whose loop draws one resample at a time."""
    from arch.bootstrap import IIDBootstrap

    rng = np.random.default_rng(1)
    return lambda: float(
        IIDBootstrap(difference, seed=rng).conf_int(np.mean, draws, method="percentile")[0, 0]
    )


def distribution(arms: Arms) -> BinaryPairs | SmoothMean:
    """Our kernel's bootstrap distribution of the mean difference."""
    baseline, candidate = arms
    if np.array_equal(baseline * baseline, baseline):
        both = float(baseline @ candidate)
        return BinaryPairs(int(candidate.sum() - both), int(baseline.sum() - both), len(baseline))
    smooth = smooth_mean(candidate - baseline)
    assert smooth is not None
    return smooth


def interval_alone(arms: Arms) -> Task:
    """From the two columns as arrays to the percentile interval, as the peer does."""

    def ours() -> float:
        resampled = distribution(arms)
        low = resampled.quantile(0.025)
        resampled.quantile(0.975)
        return low

    return ours


def analysis(arms: Arms, method: str = "percentile") -> Task:
    """The whole `paired-bootstrap` analysis."""
    run = computed(
        "paired-bootstrap", baseline=arms[0].tolist(), candidate=arms[1].tolist(), method=method.lower()
    )
    return lambda: run().ci.low


def compared(arms: Arms, draws: int, ours: Task, peer: Task, method: str) -> Sides:
    """Both lower ends with the error of the peer's."""
    difference = arms[1] - arms[0]
    se = float(difference.std()) / math.sqrt(len(difference))
    error = end_error(se, draws) if method == "percentile" else bca_error(se, draws)
    # a lattice's ends move in steps of 1/n
    step = 1 / len(difference) if np.array_equal(difference, difference.round()) else 0.0
    return Sides(ours, peer, error, scale=Z * se, of=HALF_WIDTH, ours_error=step)


def bca_error(standard_error: float, draws: int) -> float:
    """Of a BCa end: the quantile's error, and twice that of z0, which moves the level that is read."""
    # z0 is the normal quantile of a share near one half: sd sqrt(pi / 2 B)
    return math.hypot(end_error(standard_error, draws), 2 * standard_error * math.sqrt(math.pi / 2 / draws))


def paired(name: str, arms: Arms, draws: int, bar: float, peer_name: str = SCIPY) -> None:
    """Two rows: the interval alone, with the bar, and our whole analysis against the same peer."""

    def sides(ours: Callable[[Arms], Task]) -> Sides:
        difference = arms[1] - arms[0]
        peer = (
            scipy_end(difference, draws, "percentile") if peer_name == SCIPY else arch_end(difference, draws)
        )
        return compared(arms, draws, ours(arms), peer, "percentile")

    row(f"paired CI, {name}, B {draws:,}", group=GROUP, peer=peer_name, bar=bar, note=ALONE)(
        lambda: sides(interval_alone)
    )
    row(f"same, whole analysis, {name}, B {draws:,}", group=GROUP, peer=peer_name, bar=None)(
        lambda: sides(analysis)
    )


def bca_alone(arms: Arms) -> Task:
    """From the two columns as arrays to the BCa interval, jackknife included, as the peer does."""

    def ours() -> float:
        resampled = distribution(arms)
        difference = arms[1] - arms[0]
        acceleration = ratio_units(difference, np.ones(len(difference))).acceleration()
        low, _ = bca_ends(resampled, float(difference.mean()), acceleration, 0.025)
        assert low is not None
        return low

    return ours


def bca(name: str, arms: Arms, draws: int, bar: float) -> None:
    """Two rows, as `paired`."""

    def sides(ours: Task) -> Sides:
        return compared(arms, draws, ours, scipy_end(arms[1] - arms[0], draws, "BCa"), "bca")

    row(f"BCa, {name}, B {draws:,}", group=GROUP, peer=SCIPY, bar=bar, note=ALONE)(
        lambda: sides(bca_alone(arms))
    )
    row(f"same, whole analysis, {name}, B {draws:,}", group=GROUP, peer=SCIPY, bar=None)(
        lambda: sides(analysis(arms, "bca"))
    )


def cluster_sums_of(clusters: int) -> tuple[Floats, Floats]:
    """Difference sums and sizes per cluster, which both sides start from."""
    baseline, candidate, codes = clustered(clusters)
    return np.bincount(codes, weights=candidate - baseline), np.bincount(codes).astype(float)


def ratio_interval(sums: Floats, sizes: Floats) -> Task:
    """Ours on cluster sums."""

    def ours() -> float:
        resampled = ratio_bootstrap(sums, sizes)
        low = resampled.quantile(0.025)
        resampled.quantile(0.975)
        return low

    return ours


def cluster_analysis(clusters: int) -> Task:
    """The whole `cluster-bootstrap` analysis from items and their labels."""
    baseline, candidate, codes = (column.tolist() for column in clustered(clusters))
    run = computed("cluster-bootstrap", baseline=baseline, candidate=candidate, clusters=codes)
    return lambda: run().ci.low


def against_ratio(clusters: int, draws: int, ours: Task) -> Sides:
    """Scipy with a ratio of sums, as a good user writes it: on cluster sums, paired, vectorized."""
    sums, sizes = cluster_sums_of(clusters)
    rng = np.random.default_rng(1)

    def ratio(sums: Floats, sizes: Floats, axis: int = -1) -> Floats:
        return np.asarray(sums.sum(axis=axis) / sizes.sum(axis=axis))

    def peer() -> float:
        result = stats.bootstrap(
            (sums, sizes), ratio, n_resamples=draws, paired=True, vectorized=True, method="percentile",
            rng=rng, batch=max(1, BATCH // clusters),
        )  # fmt: skip
        return float(result.confidence_interval.low)

    residual = sums - sums.sum() / sizes.sum() * sizes
    se = math.sqrt(float(residual @ residual)) / float(sizes.sum())
    # five clusters have 126 resamples: the end is an atom, and drawing may pick its neighbour
    step = 0.2 * se if clusters < 10 else 0.0
    return Sides(ours, peer, end_error(se, draws), scale=Z * se, of=HALF_WIDTH, ours_error=step)


for _draws, _bar in ((2000, 30), (100_000, 1000)):
    paired("binary, n 500", binary(500), _draws, _bar)
for _n, _draws, _bar in ((500, 2000, 15), (500, 100_000, 500), (10_000, 10_000, 300)):
    paired(f"continuous, n {_n:,}", continuous(_n), _draws, _bar)
paired("continuous, n 1,000,000", continuous(1_000_000), 1000, 40, "arch IIDBootstrap")
for _draws, _bar in ((2000, 12), (100_000, 400)):
    bca("binary, n 500", binary(500), _draws, _bar)
    bca("continuous, n 500", continuous(500), _draws, _bar)
for _clusters, _bar in ((5, 8), (100, 4), (10_000, 400)):
    row(f"cluster CI on cluster sums, {_clusters:,} clusters, B 10,000", group=GROUP, peer=SCIPY, bar=_bar)(
        lambda n=_clusters: against_ratio(n, 10_000, ratio_interval(*cluster_sums_of(n)))
    )
    row(
        f"same, whole analysis from items and labels, {_clusters:,} clusters, B 10,000",
        group=GROUP,
        peer=SCIPY,
        bar=None,
    )(lambda n=_clusters: against_ratio(n, 10_000, cluster_analysis(n)))
