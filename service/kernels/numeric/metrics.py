"""Metrics that follow from sums over items: mean, precision, recall, F1 and corpus BLEU.

Every item has a row of statistics per arm; an arm's metric is a function of the column sums, so a
resample re-sums the rows and never averages per-item metrics. All metrics are unchanged when every
item is doubled, which is what makes `linearized` sum to zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NOTHING = 1e-12
"""A unit that moves the difference by less than this share of a value moves it by rounding only."""

ODD = np.random.default_rng(0).integers(0, 2**63, 64, dtype=np.uint64) * 2 + 1
"""Multipliers of a hash, one per column: an odd number has an inverse modulo 2^64, so that no bit is lost."""

ORDERS = 4
"""BLEU counts n-grams of orders 1 to this (Papineni et al. 2002, section 2.3)."""


class Metric(Protocol):
    """A function of column sums (..., width)."""

    @property
    def width(self) -> int:
        """How many statistics every item has."""
        ...

    def value(self, sums: Floats) -> Floats:
        """Return the metric, shape (...); 0 where it is undefined."""
        ...

    def gradient(self, sums: Floats) -> Floats:
        """Return its derivatives by the sums, shape (..., width); 0 where it is undefined."""
        ...

    def is_undefined(self, sums: Floats) -> NDArray[np.bool_]:
        """Tell where the value is 0 by convention, shape (...)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LinearRatio:
    """(top . sums) / (bottom . sums); 0/0 counts as 0."""

    top: Floats
    bottom: Floats

    @property
    def width(self) -> int:
        """How many statistics every item has."""
        return len(self.top)

    def value(self, sums: Floats) -> Floats:
        """Return the ratio; 0 where its denominator is 0."""
        return _divide(np.asarray(sums @ self.top), np.asarray(sums @ self.bottom))

    def gradient(self, sums: Floats) -> Floats:
        """Return (top - ratio bottom) / (bottom . sums)."""
        slope = self.top - self.value(sums)[..., None] * self.bottom
        return _divide(slope, (sums @ self.bottom)[..., None])

    def is_undefined(self, sums: Floats) -> NDArray[np.bool_]:
        """Tell where the denominator is 0."""
        return np.asarray(sums @ self.bottom <= 0)


@dataclass(frozen=True, slots=True)
class Bleu:
    """Corpus BLEU on 0-100, unsmoothed: matches of order 1-4, totals of order 1-4, sys_len, ref_len.

    Source: Papineni et al. (2002), ACL, 311.
    """

    width: int = 2 * ORDERS + 2

    def value(self, sums: Floats) -> Floats:
        """Brevity penalty times the geometric mean of the precisions; 0 when an order has no match."""
        matches, totals = sums[..., :ORDERS], sums[..., ORDERS : 2 * ORDERS]
        empty = self.is_undefined(sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_mean = (np.log(matches) - np.log(totals)).mean(axis=-1)
            log_penalty = np.minimum(1 - sums[..., -1] / sums[..., -2], 0.0)
            return np.asarray(np.where(empty, 0.0, 100 * np.exp(log_mean + log_penalty)))

    def gradient(self, sums: Floats) -> Floats:
        """BLEU times the derivative of its logarithm."""
        system, reference = sums[..., -2], sums[..., -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            # of log BLEU: the mean log(matches / totals), and 1 - reference / system where that is negative
            short = system < reference
            slopes = np.concatenate(
                [
                    1 / (ORDERS * sums[..., :ORDERS]),
                    -1 / (ORDERS * sums[..., ORDERS : 2 * ORDERS]),
                    np.where(short, reference / system**2, 0.0)[..., None],
                    np.where(short, -1 / system, 0.0)[..., None],
                ],
                axis=-1,
            )
        slopes = np.where(self.is_undefined(sums)[..., None], 0.0, slopes)
        return np.asarray(slopes * self.value(sums)[..., None])

    def is_undefined(self, sums: Floats) -> NDArray[np.bool_]:
        """Return an order without a match, or no words at all."""
        return np.asarray((sums[..., :-1] <= 0).any(axis=-1))


MEAN = LinearRatio(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
"""Of rows (value, 1), or of clusters (sum of values, items)."""

METRICS: dict[str, Metric] = {
    "mean": MEAN,
    "accuracy": MEAN,
    "precision": LinearRatio(np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0])),
    "recall": LinearRatio(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0])),
    "f1": LinearRatio(np.array([2.0, 0.0, 0.0]), np.array([2.0, 1.0, 1.0])),
    "bleu": Bleu(),
}
"""By name; precision, recall and f1 take rows (tp, fp, fn)."""


def ratio_units(sums: Floats, sizes: Floats) -> PairedSums:
    """Units whose difference is sum(D) / sum(N): `sums` and `sizes` of items or clusters (G,)."""
    rows = [np.stack([column, sizes], axis=1) for column in (np.zeros(len(sums)), sums)]
    return PairedSums(MEAN, rows[0], rows[1], np.ones(len(sums)))


@dataclass(frozen=True, eq=False)
class PairedSums:
    """Statistics of both arms per unit, an item or a cluster: (C, width) each, with `copies` (C,) of each."""

    metric: Metric
    baseline: Floats
    candidate: Floats
    copies: Floats

    @property
    def n_units(self) -> int:
        """The number of units, every copy counted."""
        return int(self.copies.sum())

    @cached_property
    def totals(self) -> tuple[Floats, Floats]:
        """Sums over all units of the baseline and of the candidate, (width,) each."""
        return self.copies @ self.baseline, self.copies @ self.candidate

    @cached_property
    def values(self) -> tuple[float, float]:
        """The metric of the baseline and of the candidate."""
        one, other = (float(self.metric.value(total)) for total in self.totals)
        return one, other

    @property
    def delta(self) -> float:
        """The candidate's metric minus the baseline's."""
        return self.values[1] - self.values[0]

    @property
    def undefined(self) -> bool:
        """True when an arm's metric is 0 by convention."""
        return any(bool(self.metric.is_undefined(total)) for total in self.totals)

    def by_cluster(self, codes: NDArray[np.int64]) -> PairedSums:
        """Clusters as the units: statistics summed within them; `codes` (C,) number them from 0."""
        baseline = _sum_up(self.copies[:, None] * self.baseline, codes)
        candidate = _sum_up(self.copies[:, None] * self.candidate, codes)
        return PairedSums(self.metric, baseline, candidate, np.ones(len(baseline)))

    @cached_property
    def distinct(self) -> PairedSums:
        """These units with equal ones merged, and counted in `copies`."""
        width = self.baseline.shape[1]
        there = self.copies > 0
        rows, place = distinct_rows(np.hstack([self.baseline[there], self.candidate[there]]))
        copies = np.bincount(place, weights=self.copies[there]).astype(np.float64)
        return PairedSums(self.metric, rows[:, :width], rows[:, width:], copies)

    @cached_property
    def apart(self) -> PairedSums:
        """These units with every copy a row of its own."""
        if bool((self.copies == 1).all()):
            return self
        times = self.copies.astype(np.int64)
        baseline, candidate = (
            np.repeat(self.baseline, times, axis=0),
            np.repeat(self.candidate, times, axis=0),
        )
        return PairedSums(self.metric, baseline, candidate, np.ones(len(baseline)))

    def linearize(self) -> Floats:
        """Return what one copy of each unit adds to the difference, to first order (C,); they sum to zero."""
        baseline, candidate = (self.metric.gradient(total) for total in self.totals)
        return np.subtract(self.candidate @ candidate, self.baseline @ baseline)

    def standard_error(self) -> float | None:
        """CR1 standard error: of a mean of items, sd / sqrt(n). None for a single unit."""
        g = self.n_units
        if g < 2:
            return None
        parts = self.linearize()
        scale = float(np.abs(parts).max())
        if scale <= NOTHING * max(map(abs, self.values)) / g:
            return 0.0
        parts /= scale  # or the squares of small parts would underflow
        return scale * math.sqrt(g / (g - 1) * float(self.copies @ (parts * parts)))

    def acceleration(self) -> float | None:
        """BCa's a from the differences with one unit left out; None where they do not vary.

        Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, eq. 14.15.
        """
        if self.n_units < 2:
            return None
        arms = zip(self.totals, (self.baseline, self.candidate), strict=True)
        # a row is left out once, whatever its copies, which weigh it below
        one, other = (self.metric.value(total - arm) for total, arm in arms)
        without = other - one
        away = float(self.copies @ without) / self.n_units - without
        scale = float(np.abs(away).max())
        if scale <= NOTHING * max(map(abs, self.values)) / self.n_units:
            return None
        away /= scale
        squares = away * away
        weighted = self.copies * away
        return float(weighted @ squares) / (6 * math.sqrt(float(self.copies @ squares)) ** 3)


EXACT_IN_32 = 2.0**24
"""Whole numbers up to this are exact in single precision, whatever the order of the additions."""


def distinct_rows(rows: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the different rows (C, width), and for each row which of them it is. In an order of no meaning.

    By a hash of the bits, an order of magnitude quicker than sorting rows, and checked.
    """
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # + 0.0: no negative zero
    # low bits of a float are often all zero
    mixed = (bits ^ (bits >> np.uint64(29))) * np.resize(ODD, rows.shape[1])
    hashes = (mixed ^ (mixed >> np.uint64(32))).sum(axis=1, dtype=np.uint64)
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    distinct = rows[first]
    if np.array_equal(distinct[place], rows):
        return distinct, place
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    return distinct, place.ravel()


def in_single(rows: Floats, n_units: float) -> Floats | NDArray[np.float32]:
    """Return rows of whole numbers in single precision, where no sum of `n_units` of them can leave its range."""
    largest = float(np.abs(rows).max(initial=0.0))
    if largest * n_units <= EXACT_IN_32 and np.array_equal(rows, np.rint(rows)):
        return rows.astype(np.float32)
    return rows


def _divide(top: Floats, bottom: Floats) -> Floats:
    """Return the quotient; 0 where the denominator is not positive."""
    positive = bottom > 0
    if positive.all():
        return np.asarray(top / bottom)
    return np.divide(top, bottom, out=np.zeros(np.broadcast_shapes(top.shape, bottom.shape)), where=positive)


def _sum_up(rows: Floats, codes: NDArray[np.int64]) -> Floats:
    columns = [np.bincount(codes, weights=column) for column in rows.T]
    return np.stack(columns, axis=1).astype(np.float64)
