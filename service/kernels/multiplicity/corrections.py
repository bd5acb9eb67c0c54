"""Adjusted p-values along the last axis: arrays (..., m) to the same shape, in the caller's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Method = Literal["bonferroni", "holm", "hochberg", "hommel", "bh", "by", "fixed_sequence"]
Vector = NDArray[np.float64]


def bonferroni(p: Vector) -> Vector:
    """Return every p times the number of hypotheses, at most 1."""
    return np.asarray(np.minimum(p * p.shape[-1], 1.0))


def holm(p: Vector) -> Vector:
    """Step-down: running maximum of (m - i + 1) p_(i)."""
    order = np.argsort(p, axis=-1, kind="stable")
    scaled = np.arange(p.shape[-1], 0, -1) * np.take_along_axis(p, order, -1)
    # a hypothesis is rejected only where all with a smaller p are: the maximum carries that over to the p-values
    return _back(np.maximum.accumulate(scaled, axis=-1), order)


def correct_known(p: Sequence[float | None]) -> list[float | None]:
    """Holm's p of those that have one; None stays None and counts as 1 in the family, which was fixed with it."""
    adjusted = holm(np.array([1.0 if value is None else value for value in p]))
    return [None if value is None else float(q) for value, q in zip(p, adjusted, strict=True)]


def hochberg(p: Vector) -> Vector:
    """Step-up: running minimum, from the largest p, of (m - i + 1) p_(i)."""
    order = np.argsort(p, axis=-1, kind="stable")
    return _back(_from_largest(np.arange(p.shape[-1], 0, -1) * np.take_along_axis(p, order, -1)), order)


def hommel(p: Vector) -> Vector:
    """Return Hommel's closed Simes procedure, in Wright's O(m^2) form.

    Source: Wright (1992), Biometrics 48:1005.
    """
    m = p.shape[-1]
    order = np.argsort(p, axis=-1, kind="stable")
    ascending = np.take_along_axis(p, order, -1)
    rank = np.arange(1, m + 1)
    if m == 0:
        return ascending
    adjusted = np.repeat(np.min(m * ascending / rank, axis=-1, keepdims=True), m, axis=-1)
    best = adjusted.copy()
    # intersections of j hypotheses, largest first, each by Simes' test: the loop of R's p.adjust
    for j in range(m - 1, 1, -1):
        low, high = np.arange(m - j + 1), np.arange(m - j + 1, m)
        simes = np.min(j * ascending[..., high] / np.arange(2, j + 1), axis=-1, keepdims=True)
        best[..., low] = np.minimum(j * ascending[..., low], simes)
        best[..., high] = best[..., m - j, None]
        adjusted = np.maximum(adjusted, best)
    return _back(np.maximum(adjusted, ascending), order)


def benjamini_hochberg(p: Vector) -> Vector:
    """Step-up: running minimum, from the largest p, of m p_(i) / i."""
    m = p.shape[-1]
    order = np.argsort(p, axis=-1, kind="stable")
    return _back(_from_largest(m * np.take_along_axis(p, order, -1) / np.arange(1, m + 1)), order)


def benjamini_yekutieli(p: Vector) -> Vector:
    """Benjamini-Hochberg times 1 + 1/2 + ... + 1/m, valid under any dependence."""
    m = p.shape[-1]
    order = np.argsort(p, axis=-1, kind="stable")
    # theorem 1.3 of Benjamini & Yekutieli (2001), Ann Stat 29:1165
    factor = m * float(np.sum(1 / np.arange(1, m + 1)))
    return _back(_from_largest(factor * np.take_along_axis(p, order, -1) / np.arange(1, m + 1)), order)


def fixed_sequence(p: Vector) -> Vector:
    """Tested in the order given, each only while all before it were rejected: running maximum."""
    return np.asarray(np.maximum.accumulate(p, axis=-1))


def independent_max_t(p: Vector, data: NDArray[np.intp]) -> Vector:
    """Step-down max-T of p (T, m) where `data` (m,) numbers what each is of: others independent, the same one alike.

    Of the k data sets that are left at a step the least p lies below p with a chance of 1 - (1 - p)^k.
    """
    order = np.argsort(p, axis=-1, kind="stable")
    ascending = np.take_along_axis(p, order, -1)
    left = np.zeros((len(p), int(data.max(initial=-1)) + 1), dtype=np.bool_)
    scaled, rows = np.empty_like(ascending), np.arange(len(p))
    for step in reversed(range(p.shape[-1])):
        left[rows, data[order[:, step]]] = True
        with np.errstate(divide="ignore"):
            scaled[:, step] = -np.expm1(left.sum(axis=1) * np.log1p(-ascending[:, step]))
    return _back(np.maximum.accumulate(scaled, axis=-1), order)


ADJUST = {
    "bonferroni": bonferroni,
    "holm": holm,
    "hochberg": hochberg,
    "hommel": hommel,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "fixed_sequence": fixed_sequence,
}


def _from_largest(scaled: Vector) -> Vector:
    return np.asarray(np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1])


def _back(ascending: Vector, order: NDArray[np.intp]) -> Vector:
    result = np.empty_like(ascending)
    np.put_along_axis(result, order, np.minimum(ascending, 1.0), axis=-1)
    return result
