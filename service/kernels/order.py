"""Orders of items: permutations from a seed, completion of clusters, and whether an order is sorted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def permutation(n: int, seed: int) -> Codes:
    """The permutation of 0 .. n - 1 that belongs to the seed: numpy's PCG64, Generator.permutation."""
    return np.random.Generator(np.random.PCG64(seed)).permutation(n).astype(np.int64)


def completion_order(codes: Codes) -> Codes:
    """Clusters by the position of their last item; `codes` (n,) number clusters 0 .. G - 1."""
    last = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    last[codes] = np.arange(len(codes))
    return np.argsort(last, kind="stable").astype(np.int64)


def runs_z(codes: Codes) -> float:
    """Number of runs of equal codes against a random order, in standard deviations; negative when sorted.

    0 when every order has the same number of runs. Source: Mood (1940), Ann Math Stat 11:367.
    """
    counts = np.bincount(codes).astype(np.float64)
    n, squares, cubes = float(len(codes)), float(counts @ counts), float((counts**2) @ counts)
    if n < 2:
        return 0.0
    expected = n + 1 - squares / n
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n * n * (n - 1))
    if variance <= 1e-9 * n:
        return 0.0
    runs = 1 + int(np.count_nonzero(codes[1:] != codes[:-1]))
    return (runs - expected) / math.sqrt(variance)
