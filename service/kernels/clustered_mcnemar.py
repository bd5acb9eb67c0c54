"""Chi-square forms of McNemar's test for clustered pairs, each on 1 degree of freedom.

`sums` (G,) are only_candidate - only_baseline per cluster, `sizes` (G,) items per cluster,
`cells` (G, 4) counts of both_correct, only_baseline, only_candidate, both_wrong.
None where the statistic is undefined.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def obuchowski(sums: Floats) -> float | None:
    """Obuchowski (1998), Stat Med 17:1495."""
    g, squares = len(sums), float(sums @ sums)
    return (g - 1) / g * float(sums.sum()) ** 2 / squares if squares > 0 else None


def durkalski(sums: Floats, sizes: Floats) -> float | None:
    """Durkalski, Palesch, Lipsitz & Rust (2003), Stat Med 22:2417."""
    means = sums / sizes
    squares = float(means @ means)
    return float(means.sum()) ** 2 / squares if squares > 0 else None


def yang(sums: Floats, sizes: Floats) -> float | None:
    """Yang, Sun & Hardin (2010), Biom J 52:638."""
    g = len(sums)
    residual = sums - sizes * (sums.sum() / sizes.sum())
    variance = 0.5 * float(residual @ residual + sums @ sums)
    return (g - 1) / g * float(sums.sum()) ** 2 / variance if variance > 0 else None


def eliasziw_donner(cells: Floats) -> float | None:
    """Eliasziw & Donner (1991), Stat Med 10:1981: McNemar over an inflation from the fourfold table's ICC."""
    sizes = cells.sum(axis=1)
    k, n = len(sizes), float(sizes.sum())
    mean_size = n / k
    if k < 2 or n <= k:
        return None
    share = cells.sum(axis=0) / n
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
    icc_discordant_inverse = 1 + float(share[1] + share[2]) * (1 - icc) / icc
    if icc_discordant_inverse == 0:
        return None
    mean_d = float(discordant.sum()) / k_d
    scatter = float(((discordant - mean_d) ** 2).sum()) - (k - k_d) * mean_d**2
    typical_d = mean_d - scatter / (k_d * (k_d - 1) * mean_d)
    size_c = typical_d + k_d * (mean_d - typical_d)
    inflation = 1 + (size_c - 1) / icc_discordant_inverse
    return (b - c) ** 2 / (b + c) / inflation if inflation > 0 else None
