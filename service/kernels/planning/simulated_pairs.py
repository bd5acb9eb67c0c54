"""The statistics that rules compare, of many simulated data sets of pairs at once.

A data set is a row of T: difference sums of G units (items, or clusters with `sizes` items). Memory
O(T G), and O(T B) for resamples, of which all data sets share one set.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.exact.lattice import QUANTILE_SLACK
from service.kernels.numeric import ranks
from service.kernels.numeric.clusters import satterthwaite
from service.kernels.numeric.t_distribution import Alternative
from service.kernels.planning.cluster_power import flip_p_values
from service.kernels.randomization.sign_flip import sign_patterns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pair = tuple[Floats, Floats]

LISTED_CLUSTERS = 6
"""Up to that many units every multiset of them is listed; above, `RESAMPLES` are drawn."""

RESAMPLES = 800

SWAPS = 1999
"""Patterns of signs drawn above `LISTED_SIGNS` units: with the data 2,000, so that p is a multiple of .0005."""

LISTED_SIGNS = 11
"""Up to that many units every pattern of signs is listed."""

MOST_FLIPS = 1e7
"""Cosines and terms of exact flips, about 50 ms, above which swaps are drawn."""

WHOLE_UP_TO = 40
"""Up to that many units sign patterns are counted in whole numbers."""

MOST_PATTERNS = 400
"""Patterns of tied ranks whose exact distributions are worked out, half a millisecond each."""

UNTIED = 0.5
"""Sum of t^3 - t over groups of ties below which there are none: a tie of two has 6, and rounding is far below."""


def normal_tail(z: Floats, alternative: Alternative) -> Floats:
    """Return p of a normal statistic that is positive for the candidate."""
    if alternative == "two-sided":
        return np.asarray(special.chdtrc(1, z * z))
    return np.asarray(special.ndtr(-z if alternative == "greater" else z))


def t_tail(t: Floats, df: Floats | float, alternative: Alternative) -> Floats:
    """Return p of a t statistic."""
    if alternative == "two-sided":
        return np.asarray(2 * special.stdtr(df, -np.abs(t)))
    return np.asarray(special.stdtr(df, -t if alternative == "greater" else t))


def swap_p(sums: Floats, alternative: Alternative, generator: np.random.Generator) -> Floats:
    """Return p of random signs: exact for whole numbers and for few units, else by `SWAPS` shared swaps.

    Whole numbers too large for that in bounded time are swapped too; the data count as one of the swaps.
    """
    if np.array_equal(sums, np.rint(sums)) and flip_cost(sums) <= MOST_FLIPS:
        p = flip_p_values(sums.astype(np.int64), alternative)
        if sums.shape[1] <= WHOLE_UP_TO:
            # p is a number of patterns over 2^G, which a double holds: rounding takes off the transform's error.
            p = np.rint(p * 2.0 ** sums.shape[1]) / 2.0 ** sums.shape[1]
        return np.where((sums == 0).all(axis=1), 1.0, p)
    units = sums.shape[1]
    listed = units <= LISTED_SIGNS
    signs = sign_patterns(units) if listed else generator.choice(np.array([-1.0, 1.0]), size=(SWAPS, units))
    swapped, seen = sums @ signs.T, sums.sum(axis=1)[:, None]
    slack = 1e-12 * np.abs(sums).sum(axis=1)[:, None]
    far = {
        "two-sided": np.abs(swapped) >= np.abs(seen) - slack,
        "greater": swapped >= seen - slack,
        "less": swapped <= seen + slack,
    }[alternative].sum(axis=1)
    return np.asarray(far / 2**units if listed else (1 + far) / (SWAPS + 1))


def flip_cost(sums: Floats) -> float:
    """Cosines that exact flips of whole numbers (T, G) take."""
    sizes = np.abs(sums)
    distinct = min(float(sizes.max(initial=0.0)) + 1, sizes.size)
    length = 4 * float(sizes.sum(axis=1).max(initial=0.0)) + 4
    return length * (distinct + len(sums) * (1 + distinct / 50))


def robust(method: str, sums: Floats, sizes: Ints) -> tuple[Floats, Floats, float]:
    """Item-weighted mean, its `cr1`, `cr2` or `cv3` standard error (T,) and the degrees of freedom."""
    g, n = sums.shape[1], float(sizes.sum())
    share = sizes / n
    delta = sums.sum(axis=1) / n
    residual = sums - sizes * delta[:, None]
    # Of a mean of clusters the hat matrix is `share`: CR1 scales by G / (G - 1), CV3 is the jackknife (division by
    # 1 - share), CR2 divides by its root (Bell & McCaffrey 2002, Surv Methodol 28:169).
    if method == "cr1":
        variance, df = g / (g - 1) * (residual**2).sum(axis=1), g - 1.0
    elif method == "cv3":
        variance, df = (g - 1) / g * ((residual / (1 - share)) ** 2).sum(axis=1), g - 1.0
    else:
        variance = (residual**2 / (1 - share)).sum(axis=1)
        df = float(satterthwaite(1 / (n**2 * (1 - share)), sizes.astype(np.float64)))
    return delta, np.sqrt(variance) / n, df


def compute_unpaired(before: Floats, after: Floats, *, pooled: bool) -> tuple[Floats, Floats, Floats]:
    """Difference of the means of two arms (T, n), its standard error and degrees of freedom: Welch's, or pooled."""
    n = before.shape[1]
    first, second = before.var(axis=1, ddof=1) / n, after.var(axis=1, ddof=1) / n
    total = first + second
    squares = (first**2 + second**2) / (n - 1)
    df = np.full(len(total), 2.0 * n - 2)
    if not pooled:
        df = np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 2.0 * n - 2)
    return after.mean(axis=1) - before.mean(axis=1), np.sqrt(total), df


def t_interval(delta: Floats, se: Floats, df: Floats | float, level: float) -> Pair:
    """Return delta plus and minus t standard errors; NaN without spread."""
    half = np.where(se > 0, np.asarray(special.stdtrit(df, 0.5 + level / 2)) * se, np.nan)
    return delta - half, delta + half


class SharedResamples:
    """Resamples of G units with replacement, the same for every data set."""

    def __init__(self, sizes: Ints, generator: np.random.Generator) -> None:
        """Every multiset with its chance where there are few units, else draws."""
        g = len(sizes)
        if g <= LISTED_CLUSTERS:
            listed = list(combinations_with_replacement(range(g), g))
            self.copies = np.array([np.bincount(drawn, minlength=g) for drawn in listed], dtype=np.float64)
            # The multinomial chance g! / (product of copies!) / g^g.
            log_ways = special.gammaln(g + 1) - special.gammaln(self.copies + 1).sum(axis=1)
            self.chances = np.exp(log_ways - g * math.log(g))
        else:
            self.copies = generator.multinomial(g, np.full(g, 1 / g), size=RESAMPLES).astype(np.float64)
            self.chances = np.full(RESAMPLES, 1 / RESAMPLES)
        self.items = self.copies @ sizes
        self.least = float(self.chances.min()) if g <= LISTED_CLUSTERS else 0.0

    def deltas(self, sums: Floats) -> Floats:
        """delta* of every data set and resample, (T, B)."""
        return np.asarray(sums @ self.copies.T / self.items)

    def quantiles(self, deltas: Floats, levels: tuple[float, float]) -> Pair:
        """Return the smallest values with at least those chances at or below them."""
        if np.all(self.chances == self.chances[0]):
            # Drawn alike, they lie at the same places of every data set: nothing else has to be in order.
            reached = np.cumsum(self.chances)[None, :]
            places = [int(self._index(reached, level)[0, 0]) for level in levels]
            low, high = np.partition(deltas, places, axis=1)[:, places].T
            return low, high
        order = np.argsort(deltas, axis=1)
        reached = np.cumsum(self.chances[order], axis=1)
        low, high = (
            np.take_along_axis(
                deltas, np.take_along_axis(order, self._index(reached, level), axis=1), axis=1
            )[:, 0]
            for level in levels
        )
        return low, high

    def p_value(self, deltas: Floats, delta: Floats, alternative: Alternative) -> Floats:
        """Return P(delta* >= 2 delta), <=, or |delta* - delta| >= |delta|; a resample at the limit counts."""
        seen = delta[:, None]
        slack = 1e-12 * np.abs(deltas).max(axis=1, keepdims=True)
        far = {
            "greater": deltas >= 2 * seen - slack,
            "less": deltas <= 2 * seen + slack,
            "two-sided": np.abs(deltas - seen) >= np.abs(seen) - slack,
        }[alternative]
        return self.share(far)

    def share(self, far: NDArray[np.bool_]) -> Floats:
        """Return the chance of some resamples (T, B); no smaller than that of one cluster drawn every time."""
        return np.asarray(np.maximum(far @ self.chances, self.least))

    @staticmethod
    def _index(reached: Floats, level: float) -> Ints:
        index = (reached < level - QUANTILE_SLACK).sum(axis=1)
        return np.asarray(np.minimum(index, reached.shape[1] - 1)[:, None], dtype=np.int64)


def signed_rank_p(
    differences: Floats,
    alternative: Alternative,
    *,
    exact_up_to: int,
    step: float,
    zeros_ranked: bool,
) -> Floats:
    """Return p of Wilcoxon's test for differences (T, n): zeros dropped (before ranking or after it), ties by midranks.

    Rows of up to `exact_up_to` differences that are not 0 by the distribution of their own ranks, others by the normal
    one. Of more than `MOST_PATTERNS` patterns of tied ranks the rest is normal too, with the continuity correction.
    """
    rank = ranks.midranks_of_rows(np.abs(differences))
    other = differences != 0
    if not zeros_ranked:
        rank = rank - (~other).sum(axis=1, keepdims=True)
    rank = np.where(other, rank, 0.0)
    plus = (rank * (differences > 0)).sum(axis=1)
    # Under random signs the sum of positive ranks has the mean sum(r) / 2 and the variance sum(r^2) / 4.
    half, sd = rank.sum(axis=1) / 2, np.sqrt((rank**2).sum(axis=1)) / 2
    p = _normal_rank_p(plus - half, sd, step, alternative)
    rows = np.flatnonzero(other.sum(axis=1) <= exact_up_to)
    if len(rows):
        doubled = np.sort(np.rint(2 * rank[rows]).astype(np.int64), axis=1)
        patterns, back = np.unique(doubled, axis=0, return_inverse=True)
        p[rows] = _normal_rank_p(plus[rows] - half[rows], sd[rows], max(step, 0.5), alternative)
        for at, pattern in enumerate(patterns[:MOST_PATTERNS]):
            alike = rows[back.reshape(-1) == at]
            chances = ranks.sign_sums(pattern[pattern > 0])
            worse, better = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
            reached = np.rint(2 * plus[alike]).astype(np.int64)
            p[alike] = _one_or_both(better[reached], worse[reached], alternative)
    return p


def rank_sum_p(
    before: Floats, after: Floats, alternative: Alternative, *, exact_up_to: int, step: float
) -> Floats:
    """Return p of the Mann-Whitney test of two arms (T, n) of one size; exact where so few values do not tie.

    Tied rows of an exact test are normal with the continuity correction.
    """
    n = before.shape[1]
    total = 2 * n
    rank = ranks.midranks_of_rows(np.concatenate([before, after], axis=1))
    u = rank[:, n:].sum(axis=1) - n * (n + 1) / 2
    # Ties of t values take (t^3 - t) / 12 off the sum of squared ranks: this is the sum of t^3 - t over the groups,
    # by which the variance of U falls.
    tied = 12 * (total * (total + 1) * (2 * total + 1) / 6 - (rank**2).sum(axis=1))
    spread = n * n / 12 * (total + 1 - tied / (total * (total - 1)))
    sd = np.sqrt(np.maximum(spread, 0.0))
    if total > exact_up_to:
        return _normal_rank_p(u - n * n / 2, sd, step, alternative)
    p = _normal_rank_p(u - n * n / 2, sd, 0.5, alternative)
    rows = np.flatnonzero(np.abs(tied) < UNTIED)
    if len(rows):
        chances = ranks.subset_sums(np.arange(1, total + 1), n)[n * (n + 1) // 2 :]
        worse, better = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
        reached = np.rint(u[rows]).astype(np.int64)
        p[rows] = _one_or_both(better[reached], worse[reached], alternative)
    return p


def _normal_rank_p(distance: Floats, sd: Floats, step: float, alternative: Alternative) -> Floats:
    """1 where no rank has a sign."""
    spread = np.where(sd > 0, sd, 1.0)
    if alternative == "two-sided":
        p = np.minimum(1.0, 2 * special.ndtr(-np.maximum(np.abs(distance) - step, 0) / spread))
    else:
        z = (distance - step if alternative == "greater" else distance + step) / spread
        p = special.ndtr(-z if alternative == "greater" else z)
    return np.asarray(np.where(sd > 0, p, 1.0))


def _one_or_both(better: Floats, worse: Floats, alternative: Alternative) -> Floats:
    both = np.minimum(1.0, 2 * np.minimum(worse, better))
    return np.asarray({"greater": better, "less": worse, "two-sided": both}[alternative])
