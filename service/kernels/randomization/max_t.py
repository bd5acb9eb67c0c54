"""Several arms on the same items: all pairs compared at once by the largest studentized difference.

`sums` (G, k) holds each arm's sum in every unit (an item, or a cluster of items), `sizes` (G,) the items of the unit.
One multiplier per unit, a fair sign, goes over the whole vector of centred sums, so the joint distribution of all
pairs is kept. Permuting labels among the arms would hold the level only while no two arms differ. A large unit pulls
the means to itself, so its residual is too small: what is flipped is the residual over one minus the unit's share of
the items, the jackknife's. Of five arms alike in 20 clusters of lognormal sizes (sigma 1.2) .066 then become .050;
units of one size are scaled alike, which changes nothing.

Sources: Romano & Wolf (2005), Econometrica 73:1237 (one multiplier for all pairs); Hsu (1996), Multiple Comparisons,
ch. 5 (all pairs at once); MacKinnon, Nielsen & Webb (2023), J Appl Econometrics 38:671 (residuals of the jackknife in
the wild cluster bootstrap); Petrondas & Gabriel (1983), JASA 78:949 (why labels are not permuted).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.streams import BLOCK, generator, sum_chosen
from service.kernels.randomization.sign_flip import sign_patterns

Floats = NDArray[np.float64]

LISTED_UP_TO = 14
"""Units whose signs are all listed: half of 2^G, since a pattern's mirror turns every difference around."""
CELLS = 2**18
"""Replicates times arms compared at a time, which fit the cache."""
TIE = 1e-9
"""Studentized differences this close are the same."""
DUST = 1e-14
"""Two means differ by rounding below this share of the mean size of what is summed."""
ROUNDED = 4500.0
"""Units of the last place of squares below which what flipping leaves of them is rounding: 1e-12 of 53 bits."""
FLAT = 1e-24
"""Share of the squares below which a difference does not vary: rounding."""


@dataclass(frozen=True, eq=False)
class ManyArms:
    """Arms summed by unit, and what follows from these sums. Pairs (i, j) have i < j, in row order.

    `copies` (rows,): how many units each row stands for, where units repeat; else a row is a unit.
    """

    sums: Floats
    sizes: Floats
    copies: NDArray[np.int64] | None = None

    @cached_property
    def weights(self) -> Floats:
        """Units of every row. Shape (rows,)."""
        return np.ones(len(self.sums)) if self.copies is None else self.copies.astype(np.float64)

    @property
    def n_units(self) -> int:
        """The number of units, G, every copy counted."""
        return len(self.sums) if self.copies is None else int(self.copies.sum())

    @property
    def n_arms(self) -> int:
        """The number of arms, k."""
        return int(self.sums.shape[1])

    @property
    def n(self) -> float:
        """The number of items, over all units."""
        return float(self.weights @ self.sizes)

    @cached_property
    def raw_means(self) -> Floats:
        """Mean of every arm over the items, as it is summed. Shape (k,)."""
        return np.asarray(self.weights @ self.sums / self.n)

    @cached_property
    def means(self) -> Floats:
        """The means of all arms, equal where only the order of summing tells two apart. Shape (k,)."""
        means, dust = self.raw_means.copy(), DUST * (self.weights @ np.abs(self.sums)) / self.n
        order = np.argsort(-means, kind="stable")
        errors = np.zeros((self.n_arms, self.n_arms))
        errors[self.pairs] = errors.T[self.pairs] = self.errors
        for ahead, behind in pairwise(order.tolist()):
            gap = self.raw_means[ahead] - self.raw_means[behind]
            if gap <= max(dust[ahead], dust[behind], TIE * errors[ahead, behind]):
                means[behind] = means[ahead]
        return means

    @cached_property
    def residuals(self) -> Floats:
        """What each unit adds to the error of the means, times n. Shape (G, k)."""
        return np.asarray(self.sums - self.sizes[:, None] * self.raw_means)

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """First and second arm of every pair. Two arrays (P,)."""
        first, second = np.triu_indices(self.sums.shape[1], 1)
        return first, second

    @cached_property
    def pulled(self) -> Floats:
        """The residuals as the jackknife has them, from means without the unit: what signs multiply. Shape (G, k)."""
        return np.asarray(self.residuals / (1 - self.sizes[:, None] / self.n))

    @cached_property
    def squares(self) -> Floats:
        """Sum of squared residuals of every pair's difference; 0 where it varies by rounding only. Shape (P,)."""
        first, second = self.pairs
        squares = self._squares(self.residuals)
        scale = np.einsum("g,gk,gk->k", self.weights, self.sums, self.sums)
        return np.asarray(np.where(squares <= FLAT * (scale[first] + scale[second]), 0.0, squares))

    @cached_property
    def pulled_squares(self) -> Floats:
        """Sum of squares of every pair's difference of `pulled`, 0 where `squares` is. Shape (P,)."""
        return np.asarray(np.where(self.squares > 0, self._squares(self.pulled), 0.0))

    def _squares(self, residuals: Floats) -> Floats:
        columns = np.ascontiguousarray((np.sqrt(self.weights)[:, None] * residuals).T)
        gaps = (columns[i] - columns[j] for i, j in zip(*self.pairs, strict=True))
        return np.fromiter((gap @ gap for gap in gaps), dtype=np.float64, count=len(self.pairs[0]))

    @cached_property
    def shared(self) -> NDArray[np.int64]:
        """How many units each pair shares: all. Shape (P,)."""
        return np.full(len(self.pairs[0]), self.n_units)

    @cached_property
    def skewness(self) -> Floats:
        """Skewness of what the units add to every difference; NaN where it does not vary. Shape (P,)."""
        one, (first, second) = self.residuals, self.pairs
        weighted = self.weights[:, None] * one
        cubes, mixed = np.einsum("gk,gk,gk->k", weighted, one, one), (weighted * one).T @ one
        # (a - b)^3 written out, so that no column of a pair is made
        third = cubes[first] - 3 * mixed[first, second] + 3 * mixed[second, first] - cubes[second]
        return skewness_of(third, self.squares, self.shared)

    @cached_property
    def sparse(self) -> NDArray[np.bool_]:
        """Which pairs share too few units to be compared: none, since all arms have all of them. Shape (P,)."""
        return np.zeros(len(self.pairs[0]), dtype=bool)

    @property
    def differences(self) -> Floats:
        """First minus second of every pair. Shape (P,)."""
        first, second = self.pairs
        return np.asarray(self.means[first] - self.means[second])

    @property
    def errors(self) -> Floats:
        """Standard error of every difference (CR1; of items the ordinary one). Needs two units. Shape (P,)."""
        g = self.n_units
        return np.asarray(np.sqrt(self.squares * g / (g - 1)) / self.n)

    @property
    def t(self) -> Floats:
        """Studentized differences; NaN where a difference does not vary. Shape (P,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.squares > 0, self.differences / self.errors, np.nan))


def sum_by_unit(columns: Floats, codes: NDArray[np.int64] | None) -> ManyArms:
    """Return columns (n, k) by unit; every column loses the same constant and unit, which no comparison sees."""
    if codes is None:
        return ManyArms(columns, np.ones(len(columns)))
    sums = np.stack([np.bincount(codes, weights=column) for column in columns.T], axis=1)
    return ManyArms(sums.astype(np.float64), np.bincount(codes).astype(np.float64))


def flip_signs(arms: ManyArms, seed: int, blocks: range) -> Floats:
    """Signed sums of the jackknife's residuals, and of these times the sizes. Shape (replicates, 2, k).

    Memory O(replicates x arms + rows x arms + `COINS`).
    """
    values, copies = _signable(arms), arms.copies
    sums = [signed_sums(generator(seed, block), values, copies) for block in blocks]
    return np.concatenate(sums).reshape(-1, 2, arms.n_arms)


def list_flips(arms: ManyArms) -> Floats:
    """Return the sums of `flipped` under all patterns of signs that are not mirror images. Shape (2^(G - 1), 2, k)."""
    values = _signable(arms)
    units = values if arms.copies is None else np.repeat(values, arms.copies, axis=0)
    return np.asarray(sign_patterns(arms.n_units, mirrored=False) @ units).reshape(-1, 2, arms.n_arms)


def _signable(arms: ManyArms) -> Floats:
    """Residuals of the jackknife, and these times sizes, side by side. Shape (G, 2k)."""
    return np.concatenate([arms.pulled, arms.pulled * arms.sizes[:, None]], axis=1)


def signed_sums(rng: np.random.Generator, values: Floats, copies: NDArray[np.int64] | None) -> Floats:
    """Return the sums of `values` (rows, width) with a fair sign for every unit: (BLOCK, width)."""
    if copies is not None:
        return np.asarray((2.0 * rng.binomial(copies, 0.5, (BLOCK, len(copies))) - copies) @ values)
    return np.asarray(2 * sum_chosen(rng, values) - values.sum(axis=0))


def skewness_of(cubes: Floats, squares: Floats, units: NDArray[np.int64]) -> Floats:
    """Skewness from sums of cubed and of squared residuals of so many units; NaN without squares. Shapes (P,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(squares > 0, cubes / squares**1.5 * np.sqrt(units), np.nan))


@dataclass(frozen=True, eq=False)
class MaxT:
    """What the joint distribution says of all pairs at once.

    `adjusted` (P,): p of every pair, NaN where a difference does not vary. `critical`: of the largest |t| of all pairs;
    where pairs have gaps, on the scale of the normal law. `bars` (P,): the |t| that it is for each pair. A pair's p is
    below alpha just where its |t| is beyond its bar. Infinite where the replicates are too few. `count`: of replicates.
    `greatest` (count,): the largest of all pairs in every replicate, on the scale of `critical`, rising.
    """

    adjusted: Floats
    critical: float
    bars: Floats
    count: int
    greatest: Floats

    def adjust(self, reached: Floats) -> Floats:
        """Adjusted p of what pairs reach, on the scale of `critical`."""
        beyond = self.count - np.searchsorted(self.greatest, reached)
        return np.asarray((1 + beyond) / (1 + self.count))


def max_t(arms: ManyArms, signed: Floats, alpha: float) -> MaxT:
    """Adjusted p-values and the critical value from signed sums (replicates, 2, k).

    In a single step: the one event that no interval of all pairs misses carries every statement about the arms. Steps
    down would tell a few more pairs apart, whose intervals hold 0.

    O(replicates x pairs) time; memory of `CELLS` and replicates x arms.
    """
    greatest = np.sort(_greatest(arms, signed))
    adjusted, critical = judge_pairs(np.abs(arms.t), arms.squares > 0, greatest, alpha, TIE)
    return MaxT(adjusted, critical, np.full(len(adjusted), critical), len(signed), greatest)


def judge_pairs(
    seen: Floats, varies: NDArray[np.bool_], greatest: Floats, alpha: float, tie: float
) -> tuple[Floats, float]:
    """Adjusted p (P,), and the critical value, from what is `seen` of pairs that vary and every replicate's greatest.

    `seen` (P,) and `greatest` (replicates,), rising, are on one scale, on which a share of `tie` is rounding.
    """
    beyond = len(greatest) - np.searchsorted(greatest, seen[varies] * (1 - tie) - tie)
    adjusted = np.full(len(seen), np.nan)
    adjusted[varies] = (1 + beyond) / (1 + len(greatest))
    # p < alpha allows so many replicates beyond, the data counting as one more
    allowed = math.ceil(alpha * (1 + len(greatest)) - 1e-9) - 2
    return adjusted, math.inf if allowed < 0 else float(greatest[-1 - allowed])


def _greatest(arms: ManyArms, signed: Floats) -> Floats:
    """The largest |t| of all pairs in every replicate, studentized anew. Where nothing varies: 0. Shape (replicates,).

    Arm by arm against those after it, whose pairs stand one after the other.
    """
    k, g, n, squares = arms.n_arms, arms.n_units, arms.n, arms.pulled_squares
    weight = float(arms.weights @ arms.sizes**2) / n**2
    greatest = np.zeros(len(signed))
    chunk = max(1, CELLS // k)
    for start in range(0, len(signed), chunk):
        total, crossed = signed[start : start + chunk].swapaxes(0, 1)
        top, first = greatest[start : start + chunk], 0
        for arm in range(k - 1):
            own = squares[first : first + k - 1 - arm]
            first += k - 1 - arm
            shift = total[:, arm, None] - total[:, arm + 1 :]
            cross = crossed[:, arm, None] - crossed[:, arm + 1 :]
            t = studentize(shift, cross, own, weight, n, g)
            np.maximum(top, t.max(axis=1), out=top)
    return greatest


def studentize(
    shift: NDArray[np.floating[Any]],
    cross: NDArray[np.floating[Any]],
    squares: NDArray[np.floating[Any]],
    weight: NDArray[np.floating[Any]] | float,
    n: NDArray[np.floating[Any]] | float,
    g: NDArray[np.floating[Any]] | float,
) -> NDArray[np.floating[Any]]:
    """|t| of signed sums `shift` (replicates, pairs), studentized anew; 0 of pairs without `squares` (pairs,).

    `cross`: the sums times the sizes; `weight`: sum of squared sizes over n squared. Where flipping leaves no spread:
    infinite, or 0 of no difference.
    """
    left = squares - 2 * shift * cross / n + shift**2 * weight
    # what is left of squares that cancel is rounding: of 53 bits, or of 24
    left[left <= ROUNDED * np.finfo(shift.dtype).eps * squares] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(shift) / np.sqrt(left * (g / (g - 1)))
    t[:, squares == 0] = 0.0
    return np.asarray(np.nan_to_num(t, nan=0.0, posinf=math.inf))
