"""Power of the clustered sign-flip test, by simulation; the test of each simulated data set is exact."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.streams import BLOCK, generator
from service.kernels.numeric.t_distribution import Alternative
from service.kernels.planning.draws_in_clusters import draw_categories
from service.kernels.randomization.sign_flip import sign_flip

Vector = NDArray[np.float64]

MOST_COSINES = 2**27
"""Cosines in a table of transforms, beyond which every data set is better taken by itself."""

AT_ONCE = 2**19
"""Cosines at a time: 4 MB."""

MOST_CLUSTERS = 2**18
"""Clusters simulated at a time. Part of the version."""


@dataclass(frozen=True, slots=True)
class ClusterFlips:
    """A clustered sign-flip test of binary pairs, to be simulated.

    Outcomes of one cluster's items are Dirichlet-multinomial, so that any two items of a cluster
    have intraclass correlation `icc`. The test itself is exact for every simulated data set.
    """

    n_clusters: int
    cluster_size: int
    p_only_baseline: float
    p_only_candidate: float
    icc: float
    alpha: float
    alternative: Alternative
    seed: int

    @property
    def seconds(self) -> float:
        """Rough cost of one simulated data set."""
        # the FFT is as long as the sums of sizes reach, and has a cosine for every different size; measured on one core
        share = self.p_only_baseline + self.p_only_candidate
        sd = math.sqrt(self.cluster_size * share * (1 + (self.cluster_size - 1) * self.icc))
        distinct = min(self.cluster_size, 5 * sd) + 1
        length = 4.0 * self.n_clusters * max(min(sd, self.cluster_size * share), 0.1)
        table = 4e-10 * distinct * length + 3e-8 * length
        return 2e-6 + 1.2e-6 * self.n_clusters + (table if distinct * length <= MOST_COSINES else 0.05)

    def rejects(self, blocks: range) -> NDArray[np.bool_]:
        """Tell whether the test rejects each simulated data set of these blocks: (len(blocks) BLOCK,)."""
        at_once = max(1, MOST_CLUSTERS // self.n_clusters)
        rejections = [np.zeros(0, dtype=np.bool_)]
        for block in blocks:
            rng = generator(self.seed, block)
            for start in range(0, BLOCK, at_once):
                sums = self._sums(rng, min(at_once, BLOCK - start))
                rejections.append(flip_p_values(sums, self.alternative) < self.alpha)
        return np.concatenate(rejections)

    def _sums(self, rng: np.random.Generator, many: int) -> NDArray[np.int64]:
        """Difference sums of the clusters of `many` data sets: (many, n_clusters)."""
        candidate, baseline = self.p_only_candidate, self.p_only_baseline
        shares = candidate, baseline, 1 - baseline - candidate
        sizes = np.full(self.n_clusters, self.cluster_size)
        counts = draw_categories(rng, many, sizes, shares, self.icc, np.eye(3))
        return np.asarray(counts[..., 0] - counts[..., 1])


def simulated_power(rejected: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the share of simulated data sets that reject, and its Monte-Carlo standard error."""
    power, many = float(rejected.mean()), rejected.size
    return power, math.sqrt(max(power * (1 - power), 1 / many) / many)


def flip_p_values(sums: NDArray[np.int64], alternative: Alternative) -> Vector:
    """Exact sign-flip p-values of many data sets at once: integer cluster sums (T, G) to p (T,).

    The transform of a data set is a product of cosines, its logarithm a sum over the distinct sizes of
    how often each occurs: a matrix product for all data sets, inverted by FFT. Absolute error about 1e-13.
    """
    sizes = np.abs(sums)
    length = 1 << int(2 * sizes.sum(axis=1).max(initial=0) + 1).bit_length()
    distinct, place = np.unique(sizes, return_inverse=True)
    if distinct.size * length > MOST_COSINES:
        return np.array([_flip_p_value(data.astype(np.float64), alternative) for data in sums])
    rows = np.arange(len(sums))[:, None]
    many = np.bincount(
        (rows * distinct.size + place.reshape(sums.shape)).ravel(), minlength=len(sums) * distinct.size
    )
    counts = many.reshape(len(sums), distinct.size).astype(np.float64)
    p = np.empty(len(sums))
    at_once = max(1, 2**22 // length)
    for start in range(0, len(sums), at_once):
        some = slice(start, start + at_once)
        transform = _transform(distinct, counts[some], length)
        # pmf[:, j] is P(S = j) = P(S = -j)
        pmf = np.fft.irfft(transform, length, axis=1)[:, : length // 2]
        tail = np.cumsum(pmf[:, ::-1], axis=1)[:, ::-1]
        total = sums[some].sum(axis=1)
        far = np.take_along_axis(tail, np.abs(total)[:, None], axis=1)[:, 0]
        near = 1 - far + np.take_along_axis(pmf, np.abs(total)[:, None], axis=1)[:, 0]
        if alternative == "two-sided":
            p[some] = np.where(total == 0, 1.0, np.minimum(2 * far, 1.0))
        else:
            p[some] = np.where((total >= 0) == (alternative == "greater"), far, near)
            # at 0 both tails are P(S >= 0)
            p[some] = np.where(total == 0, far, p[some])
    return p


def _transform(distinct: NDArray[np.int64], counts: Vector, length: int) -> Vector:
    """Products of cosines at half the frequencies, each distinct size as often as counted: (rows, length/2 + 1)."""
    transform = np.empty((len(counts), length // 2 + 1))
    step = max(1, AT_ONCE // distinct.size)
    for start in range(0, transform.shape[1], step):
        some = np.arange(start, min(start + step, transform.shape[1]))
        cosines = np.cos(np.outer(distinct, 2 * math.pi / length * some))
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(np.abs(cosines)), -1e3)
        odd = (counts @ (cosines < 0).astype(np.float64)) % 2
        transform[:, some] = np.exp(counts @ logs) * (1 - 2 * odd)
    return transform


def _flip_p_value(sums: Vector, alternative: Alternative) -> float:
    """Return the p-value of one data set (G,) whose sums are too large for the table of cosines."""
    tails = sign_flip(sums)
    return {"two-sided": tails.two_sided, "greater": tails.at_least, "less": tails.at_most}[alternative]
