"""Adjusted p-values. All take and return arrays of shape (m,), in the caller's order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def bonferroni(p: Vector) -> Vector:
    """m p."""
    return np.minimum(p * p.size, 1.0)


def holm(p: Vector) -> Vector:
    """Step-down: running maximum of (m - i + 1) p_(i)."""
    order = np.argsort(p, kind="stable")
    return _back(np.maximum.accumulate(np.arange(p.size, 0, -1) * p[order]), order)


def hochberg(p: Vector) -> Vector:
    """Step-up: running minimum, from the largest p, of (m - i + 1) p_(i)."""
    order = np.argsort(p, kind="stable")
    return _back(_from_largest(np.arange(p.size, 0, -1) * p[order]), order)


def hommel(p: Vector) -> Vector:
    """Hommel's closed Simes procedure, in Wright's O(m^2) form.

    Source: Wright (1992), Biometrics 48:1005.
    """
    m = p.size
    order = np.argsort(p, kind="stable")
    ascending = p[order]
    rank = np.arange(1, m + 1)
    adjusted = np.full(m, np.min(m * ascending / rank)) if m else ascending
    best = adjusted.copy()
    for j in range(m - 1, 1, -1):
        low, high = np.arange(m - j + 1), np.arange(m - j + 1, m)
        simes = float(np.min(j * ascending[high] / np.arange(2, j + 1)))
        best[low] = np.minimum(j * ascending[low], simes)
        best[high] = best[m - j]
        adjusted = np.maximum(adjusted, best)
    return _back(np.maximum(adjusted, ascending), order)


def benjamini_hochberg(p: Vector) -> Vector:
    """Step-up: running minimum, from the largest p, of m p_(i) / i."""
    order = np.argsort(p, kind="stable")
    return _back(_from_largest(p.size * p[order] / np.arange(1, p.size + 1)), order)


def benjamini_yekutieli(p: Vector) -> Vector:
    """Benjamini-Hochberg times 1 + 1/2 + ... + 1/m, valid under any dependence."""
    order = np.argsort(p, kind="stable")
    factor = p.size * float(np.sum(1 / np.arange(1, p.size + 1)))
    return _back(_from_largest(factor * p[order] / np.arange(1, p.size + 1)), order)


def fixed_sequence(p: Vector) -> Vector:
    """Tested in the order given, each only while all before it were rejected: running maximum."""
    return np.maximum.accumulate(p)


def _from_largest(scaled: Vector) -> Vector:
    return np.minimum.accumulate(scaled[::-1])[::-1]


def _back(ascending: Vector, order: NDArray[np.intp]) -> Vector:
    result = np.empty_like(ascending)
    result[order] = np.minimum(ascending, 1.0)
    return result
