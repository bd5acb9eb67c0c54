"""Chi-square forms of McNemar's test for clustered pairs, each on 1 degree of freedom.

`sums` are only_candidate - only_baseline per cluster, `sizes` (G,) items per cluster, `cells` (G, 4) counts of
both_correct, only_baseline, only_candidate, both_wrong.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


Form = Literal["obuchowski", "durkalski", "yang"]


def chi_squares(form: Form, sums: Floats, sizes: Floats) -> Floats:
    """Return the statistic of every data set, (...,) from `sums` (..., G); NaN where it is undefined.

    Sources: Obuchowski (1998), Stat Med 17:1495; Durkalski, Palesch, Lipsitz & Rust (2003), Stat Med 22:2417;
    Yang, Sun & Hardin (2010), Biom J 52:638.
    """
    # Obuchowski: the squared sum over the sum of squares, times (G - 1) / G. Durkalski et al.: cluster means instead
    # of sums. Yang et al.: the variance is the mean of that under H0 and that about the pooled difference.
    g = sums.shape[-1]
    shrunk = (g - 1) / g
    if form == "durkalski":
        sums, shrunk = sums / sizes, 1.0
    total, squares = sums.sum(axis=-1), np.vecdot(sums, sums)
    if form == "yang":
        residual = sums - sizes * (total / sizes.sum())[..., None]
        squares = 0.5 * (np.vecdot(residual, residual) + squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squares > 0, shrunk * total**2 / squares, np.nan)


def eliasziw_donner(cells: Floats) -> float | None:
    """Eliasziw & Donner (1991), Stat Med 10:1981: McNemar over an inflation from the fourfold table's ICC.

    None where it is undefined.
    """
    sizes = cells.sum(axis=1)
    k, n = len(sizes), float(sizes.sum())
    mean_size = n / k
    if k < 2 or n <= k:
        return None
    share = cells.sum(axis=0) / n
    # One-way analysis of variance of the four cells' indicators, summed over cells: mean squares between and within
    # clusters, and the cluster size n0 of unequal ones.
    typical = mean_size - float(((sizes - mean_size) ** 2).sum()) / (k * (k - 1) * mean_size)
    between = float(((cells - sizes[:, None] * share) ** 2 / sizes[:, None]).sum()) / k
    within = float((cells * (sizes[:, None] - cells) / sizes[:, None]).sum()) / (k * (mean_size - 1))
    total = between + (typical - 1) * within
    discordant = cells[:, 1] + cells[:, 2]
    c, b = float(cells[:, 1].sum()), float(cells[:, 2].sum())
    k_d = int((discordant > 0).sum())
    if total == 0 or between == within or k_d < 2:
        return None
    icc = (between - within) / total
    # The correlation given that pairs are discordant is 1 / (1 + share (1 - icc) / icc), kept as its inverse.
    icc_discordant_inverse = 1 + float(share[1] + share[2]) * (1 - icc) / icc
    if icc_discordant_inverse == 0:
        return None
    # The same n0 over the k_d clusters with discordant pairs; those without enter the scatter by their (0 - mean)^2,
    # which is taken off. The inflation is 1 + (n_c - 1) rho as for any clustered chi-square.
    mean_d = float(discordant.sum()) / k_d
    scatter = float(((discordant - mean_d) ** 2).sum()) - (k - k_d) * mean_d**2
    typical_d = mean_d - scatter / (k_d * (k_d - 1) * mean_d)
    size_c = typical_d + k_d * (mean_d - typical_d)
    inflation = 1 + (size_c - 1) / icc_discordant_inverse
    return (b - c) ** 2 / (b + c) / inflation if inflation > 0 else None
