"""Several arms on the same items: all pairs compared at once by the largest studentized difference.

`sums` (G, k) holds each arm's sum in every unit (an item, or a cluster of items), `sizes` (G,) the items of the unit.
One multiplier per unit, a fair sign, goes over the whole vector of centred sums, so the joint distribution of all
pairs is kept. Permuting labels among the arms would hold the level only while no two arms differ. Residuals are not
scaled up by their leverage: of five arms alike in 10 clusters .049 then have a pair told apart, .037 with the scaling.

Sources: Romano & Wolf (2005), Econometrica 73:1237 (step-down); Hsu (1996), Multiple Comparisons, ch. 4 and 5;
Petrondas & Gabriel (1983), JASA 78:949 (why labels are not permuted).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from service.kernels.streams import BLOCK, chosen_sums, generator

Floats = NDArray[np.float64]

LISTED_UP_TO = 14
"""Units whose signs are all listed: half of 2^G, since a pattern's mirror turns every difference around."""
CHUNK = 2000
"""Replicates compared at a time."""
TIE = 1e-9
"""Studentized differences this close are the same."""
DUST = 1e-14
"""Share of the mean size of what is summed below which two means differ by rounding."""
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
        """G."""
        return len(self.sums) if self.copies is None else int(self.copies.sum())

    @property
    def n_arms(self) -> int:
        """k."""
        return int(self.sums.shape[1])

    @property
    def n(self) -> float:
        """Items."""
        return float(self.weights @ self.sizes)

    @cached_property
    def raw_means(self) -> Floats:
        """Mean of every arm over the items, as it is summed. Shape (k,)."""
        return np.asarray(self.weights @ self.sums / self.n)

    @cached_property
    def means(self) -> Floats:
        """The same, equal where only the order of the sums tells two arms apart. Shape (k,)."""
        found, dust = self.raw_means.copy(), DUST * (self.weights @ np.abs(self.sums)) / self.n
        order = np.argsort(-found, kind="stable")
        errors = np.zeros((self.n_arms, self.n_arms))
        errors[self.pairs] = errors.T[self.pairs] = self.errors
        for ahead, behind in pairwise(order.tolist()):
            gap = self.raw_means[ahead] - self.raw_means[behind]
            if gap <= max(dust[ahead], dust[behind], TIE * errors[ahead, behind]):
                found[behind] = found[ahead]
        return found

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
    def squares(self) -> Floats:
        """Sum of squared residuals of every pair's difference; 0 where it varies by rounding only. Shape (P,)."""
        first, second = self.pairs
        columns = np.ascontiguousarray((np.sqrt(self.weights)[:, None] * self.residuals).T)
        gaps = (columns[i] - columns[j] for i, j in zip(first, second, strict=True))
        found = np.fromiter((gap @ gap for gap in gaps), dtype=np.float64, count=len(first))
        scale = np.einsum("g,gk,gk->k", self.weights, self.sums, self.sums)
        return np.asarray(np.where(found <= FLAT * (scale[first] + scale[second]), 0.0, found))

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


def summed(columns: Floats, codes: NDArray[np.int64] | None) -> ManyArms:
    """Columns (n, k) by unit; every column loses the same constant and unit, which no comparison sees."""
    if codes is None:
        return ManyArms(columns, np.ones(len(columns)))
    sums = np.stack([np.bincount(codes, weights=column) for column in columns.T], axis=1)
    return ManyArms(sums.astype(np.float64), np.bincount(codes).astype(np.float64))


def flipped(arms: ManyArms, seed: int, blocks: range) -> Floats:
    """Signed sums of the residuals, and of the residuals times the sizes. Shape (replicates, 2, k).

    Memory O(replicates x arms + rows x arms + `COINS`).
    """
    values, copies = _signable(arms), arms.copies
    found = [signed_sums(generator(seed, block), values, copies) for block in blocks]
    return np.concatenate(found).reshape(-1, 2, arms.n_arms)


def listed(arms: ManyArms) -> Floats:
    """The same over all patterns of signs that are not mirror images. Shape (2^(G - 1), 2, k)."""
    patterns = np.arange(2 ** (arms.n_units - 1))[:, None] >> np.arange(arms.n_units) & 1
    values = _signable(arms)
    each = values if arms.copies is None else np.repeat(values, arms.copies, axis=0)
    return np.asarray((1.0 - 2.0 * patterns) @ each).reshape(-1, 2, arms.n_arms)


def _signable(arms: ManyArms) -> Floats:
    """Residuals, and residuals times sizes, side by side. Shape (G, 2k)."""
    return np.concatenate([arms.residuals, arms.residuals * arms.sizes[:, None]], axis=1)


def signed_sums(rng: np.random.Generator, values: Floats, copies: NDArray[np.int64] | None) -> Floats:
    """Sums of `values` (rows, width) with a fair sign for every unit: (BLOCK, width)."""
    if copies is not None:
        return np.asarray((2.0 * rng.binomial(copies, 0.5, (BLOCK, len(copies))) - copies) @ values)
    return np.asarray(2 * chosen_sums(rng, values) - values.sum(axis=0))


@dataclass(frozen=True, eq=False)
class MaxT:
    """What the joint distribution says of all pairs.

    `adjusted` (P,): step-down p of every pair, NaN where a difference does not vary. `critical`: of the largest
    |t| of all pairs, for simultaneous intervals; `best` (k,): one-sided, of the largest t of an arm against the
    others, each replicate turned around as well. Infinite where the replicates are too few for the level.
    """

    adjusted: Floats
    critical: float
    best: Floats
    count: int


def max_t(arms: ManyArms, signed: Floats, alpha: float) -> MaxT:
    """Step-down adjusted p-values and critical values from signed sums (replicates, 2, k).

    O(replicates x pairs) time; memory of `CHUNK` x pairs and replicates x arms.
    """
    seen = np.abs(arms.t)
    varies = np.flatnonzero(arms.squares > 0)
    order = varies[np.argsort(-seen[varies], kind="stable")]
    above, greatest = np.zeros(order.size), np.zeros(len(signed))
    best = np.zeros((2 * len(signed), arms.n_arms))
    rivals = [_rivals(arms, arm) for arm in range(arms.n_arms)]
    for start, drawn in _studentized(arms, signed):
        sizes = np.abs(drawn)[:, order]
        # of every pair and all that are less far out: what is left to reject at its step
        left = np.maximum.accumulate(sizes[:, ::-1], axis=1)[:, ::-1]
        above += (left >= seen[order] * (1 - TIE) - TIE).sum(axis=0)
        rows = slice(start, start + len(drawn))
        if order.size:
            greatest[rows] = left[:, 0]
        for arm, (places, signs) in enumerate(rivals):
            ahead = drawn[:, places] * signs
            best[2 * start : 2 * rows.stop, arm] = np.concatenate([ahead.max(axis=1), -ahead.min(axis=1)])
    adjusted = np.full(len(seen), np.nan)
    adjusted[order] = np.maximum.accumulate((1 + above) / (1 + len(signed)))
    one_sided = np.array([_quantile(each, alpha) for each in best.T])
    return MaxT(adjusted, _quantile(greatest, alpha), one_sided, len(signed))


def _rivals(arms: ManyArms, arm: int) -> tuple[NDArray[np.intp], Floats]:
    """The pairs that an arm is in, and 1 where it is the first, -1 where the second."""
    first, second = arms.pairs
    places = np.flatnonzero((first == arm) | (second == arm))
    return places, np.where(first[places] == arm, 1.0, -1.0)


def _studentized(arms: ManyArms, signed: Floats) -> Iterator[tuple[int, Floats]]:
    """Every replicate's t of all pairs, studentized anew, chunk by chunk. Where nothing varies: 0."""
    first, second = arms.pairs
    g, n, squares = arms.n_units, arms.n, arms.squares
    weight = float(arms.weights @ arms.sizes**2) / n**2
    for start in range(0, len(signed), CHUNK):
        total, crossed = signed[start : start + CHUNK].swapaxes(0, 1)
        shift, cross = total[:, first] - total[:, second], crossed[:, first] - crossed[:, second]
        left = squares - 2 * shift * cross / n + shift**2 * weight
        left[left <= 1e-12 * squares] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            t = shift / np.sqrt(left * g / (g - 1))
        t[:, squares == 0] = 0.0
        yield start, np.nan_to_num(t, nan=0.0, posinf=math.inf, neginf=-math.inf)


def _quantile(values: Floats, alpha: float) -> float:
    """The least value that at most a share alpha of the replicates, and the data as one more, go beyond."""
    rank = math.ceil((1 - alpha) * (len(values) + 1) - 1e-9)
    return math.inf if rank > len(values) else float(np.partition(values, rank - 1)[rank - 1])
