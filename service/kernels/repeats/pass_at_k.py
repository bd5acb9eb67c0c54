"""pass@k and pass^k: the chance that one of k attempts, picked from n, is correct, and that all are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pass_at_k(attempts: NDArray[np.int64], correct: NDArray[np.int64], k: int) -> Floats:
    """Return 1 - C(n - c, k) / C(n, k) per item, attempts n >= k and correct c both (m,).

    In whole numbers, rounded once. Unbiased for 1 - (1 - p)^k, where 1 - (1 - c/n)^k is not.

    Source: Chen et al. (2021), arXiv:2107.03374, eq. 1.
    """
    return _by_pair(attempts, correct, lambda n, c: math.comb(n, k) - math.comb(n - c, k), k)


def pass_hat_k(attempts: NDArray[np.int64], correct: NDArray[np.int64], k: int) -> Floats:
    """C(c, k) / C(n, k) per item, pass^k: attempts n >= k and correct c both (m,).

    In whole numbers, rounded once. Unbiased for p^k.

    Source: Yao et al. (2024), arXiv:2406.12045, eq. 1.
    """
    return _by_pair(attempts, correct, lambda _n, c: math.comb(c, k), k)


def _by_pair(
    attempts: NDArray[np.int64], correct: NDArray[np.int64], ways: Callable[[int, int], int], k: int
) -> Floats:
    """Return the share of the C(n, k) ways to pick that counts, worked out once for every pair of counts there is."""
    pairs, place = np.unique(np.stack([attempts, correct], axis=1), axis=0, return_inverse=True)
    values = [ways(int(n), int(c)) / math.comb(int(n), k) for n, c in pairs]
    return np.array(values, dtype=np.float64)[place.ravel()]
