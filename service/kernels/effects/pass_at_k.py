"""pass@k: the chance that one of k attempts, picked from n, is correct."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pass_at_k(attempts: NDArray[np.int64], correct: NDArray[np.int64], k: int) -> Floats:
    """1 - C(n - c, k) / C(n, k) per item, attempts n >= k and correct c both (m,).

    In whole numbers, rounded once. Unbiased for 1 - (1 - p)^k, where 1 - (1 - c/n)^k is not.

    Source: Chen et al. (2021), arXiv:2107.03374, eq. 1.
    """
    pairs, place = np.unique(np.stack([attempts, correct], axis=1), axis=0, return_inverse=True)
    values = [_one(int(n), int(c), k) for n, c in pairs]
    return np.array(values, dtype=np.float64)[place.ravel()]


def _one(n: int, c: int, k: int) -> float:
    every = math.comb(n, k)
    return (every - math.comb(n - c, k)) / every
