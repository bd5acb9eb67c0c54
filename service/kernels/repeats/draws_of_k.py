"""The worst and the best of k of an item's runs, drawn without putting any back: of 0 and 1 pass^k and pass@k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def worst_weights(runs: int, k: int) -> Floats:
    """The chance that the j-th smallest of so many runs is the least of k of them, C(r - j, k - 1) / C(r, k), (r,).

    By their quotients, since the numbers themselves leave the floats. 1 <= k <= runs. The best has them in reverse.

    Source: for 0 and 1 they sum to C(c, k) / C(r, k), Yao et al. (2024), arXiv:2406.12045, eq. 1.
    """
    weights = np.zeros(runs)
    weights[0] = k / runs
    left = runs - np.arange(1, runs)  # runs after the j-th
    weights[1:] = weights[0] * np.cumprod(np.maximum(left - k + 1, 0) / left)
    return weights


def worst_and_best(values: Floats, k: int) -> tuple[Floats, Floats]:
    """Expected least and greatest of k of the runs of every item (n, r), both (n,); unbiased for k new runs.

    O(n r log r).
    """
    weights, ascending = worst_weights(values.shape[1], k), np.sort(values, axis=1)
    return ascending @ weights, ascending @ weights[::-1]
