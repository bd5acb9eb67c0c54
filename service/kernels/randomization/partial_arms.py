"""Several arms of which some lack items: every pair on the items that both have, all pairs compared at once.

One fair sign for every unit (an item, or a cluster of items) goes over all pairs, as in `max_t`; what it multiplies is
a pair's own residual, since each pair has items of its own. Pairs that share few units have t's with heavier tails, and
would set the bar for all. So every t is brought to the scale of the normal law by its pair's degrees of freedom before
the largest is taken; where nothing is missing these are the same for all, and the largest is that of `max_t`. A pair
that shares so few units that no pattern of its signs could tell it apart stays out, and its interval has no ends: which
pairs these are is told by what is missing, not by the outcomes, so the level is kept.

Sources: Romano & Wolf (2005), Econometrica 73:1237 (one multiplier for all pairs); Beran (1988), JASA 83:679 (pairs on
one scale); Wallace (1959), Ann Math Statist 30:1121 (t to the scale of the normal law); Bell & McCaffrey (2002), Surv
Methodol 28:169 (degrees of freedom of uneven clusters); Searle (1971), Linear Models, ch. 7 (additive means).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.streams import BLOCK, block_count, coins_of, generator
from service.kernels.numeric.t_distribution import to_normal
from service.kernels.randomization.max_t import (
    DUST,
    FLAT,
    LISTED_UP_TO,
    TIE,
    MaxT,
    judge_pairs,
    skewness_of,
    studentize,
)
from service.kernels.randomization.sign_flip import sign_patterns

Floats = NDArray[np.float64]

HELD = 2**24
"""Signs held at a time: 64 MB of 32 bits each."""
WIDE = 2**22
"""Items times pairs that are worked on at a time."""
IN_DOUBLE = 10**9
"""Signs times pairs up to which products are of 64 bits."""
TIE_IN_SINGLE = 1e-5
"""Studentized differences this close are the same where products are of 32 bits: more count as large, never fewer."""


@dataclass(frozen=True, eq=False)
class PartialArms:
    """Outcomes (n, k) of which `present` (n, k) tells those that there are; the others are 0.

    `starts` (G,): the first item of every cluster, whose items stand together; None where items are the units.
    `alpha`: the level, which tells how few units are too few. Pairs (i, j) have i < j, in row order.
    """

    outcomes: Floats
    present: NDArray[np.bool_]
    starts: NDArray[np.intp] | None
    alpha: float

    @property
    def n_units(self) -> int:
        """The number of items, or of clusters."""
        return len(self.outcomes) if self.starts is None else len(self.starts)

    @property
    def n_arms(self) -> int:
        """The number of arms, k."""
        return int(self.outcomes.shape[1])

    @property
    def n(self) -> float:
        """The number of items, a float as the sums it divides."""
        return float(len(self.outcomes))

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """First and second arm of every pair. Two arrays (P,)."""
        first, second = np.triu_indices(self.n_arms, 1)
        return first, second

    @cached_property
    def items(self) -> NDArray[np.int64]:
        """How many items each arm has. Shape (k,)."""
        return np.asarray(self.present.sum(axis=0))

    @property
    def item_weights(self) -> Floats:
        """What each item counts. Shape (n,)."""
        return np.ones(len(self.outcomes))

    @cached_property
    def own_means(self) -> Floats:
        """The mean of every arm over its own items. Shape (k,)."""
        return np.asarray(self.outcomes.sum(axis=0) / self.items)

    @cached_property
    def additive_means(self) -> Floats | None:
        """The least-squares means of outcome = item + arm over all items; None where the items do not link all arms.

        What each arm's mean would be if it had every item and were as far from the others there as on its own. Equal
        where only rounding tells two apart. Shape (k,).
        """
        present, weights = self.present.astype(np.float64), self.item_weights
        if not self._is_linked():
            return None
        arms = present.sum(axis=1)
        level = self.outcomes.sum(axis=1) / arms
        # normal equations with the items swept out; the ones fix the sum of arm effects at 0
        normal = np.diag(weights @ present) - present.T @ (present * (weights / arms)[:, None]) + 1.0
        effects = np.linalg.solve(normal, weights @ (self.outcomes - present * level[:, None]))
        means = effects + float(weights @ (level - present @ effects / arms) / weights.sum())
        dust = DUST * len(present) * float(np.abs(self.outcomes).max(initial=0.0))
        order = np.argsort(-means, kind="stable")
        for ahead, behind in pairwise(order.tolist()):
            if means[ahead] - means[behind] <= dust:
                means[behind] = means[ahead]
        return np.asarray(means)

    def _is_linked(self) -> bool:
        """Whether the first arm leads to every arm and item, from arms to their items and on to the arms of these."""
        present = self.present.astype(bool)
        arms = np.arange(present.shape[1]) == 0
        for _ in range(len(arms)):  # every round but the last reaches another arm
            items = present[:, arms].any(axis=1)
            further = present[items].any(axis=0) | arms
            if (further == arms).all():
                break
            arms = further
        return bool(arms.all() and items.all())

    @cached_property
    def means(self) -> Floats:
        """The means by which arms are ordered: additive ones, else own ones. Shape (k,)."""
        return self.own_means if self.additive_means is None else self.additive_means

    @cached_property
    def _facts(self) -> dict[str, Floats]:
        """What is known of every pair before a sign is drawn, by name. Shapes (P,)."""
        parts, first = [], 0
        for gaps, sizes in self._by_unit():
            parts.append(self._compute_facts(gaps, sizes, first + np.arange(gaps.shape[1])))
            first += gaps.shape[1]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _by_unit(self) -> Iterator[tuple[Floats, Floats]]:
        """Sums of differences and numbers of common items by unit, each arm against some after it: (G, some) each."""
        k, width = self.n_arms, max(1, WIDE // len(self.outcomes))
        parts = [(arm, start) for arm in range(k - 1) for start in range(arm + 1, k, width)]
        for arm, start in parts:
            later = slice(start, start + width)
            both = self.present[:, arm, None] & self.present[:, later]
            gaps = np.where(both, self.outcomes[:, arm, None] - self.outcomes[:, later], 0.0)
            sizes = both.astype(np.float64)
            if self.starts is not None:
                gaps, sizes = (np.add.reduceat(column, self.starts) for column in (gaps, sizes))
            yield gaps, sizes

    def _compute_facts(self, gaps: Floats, sizes: Floats, _some: NDArray[np.intp]) -> dict[str, Floats]:
        """Return what is known of pairs from their units' sums of differences and common items, (G, some) each."""
        n, units = sizes.sum(axis=0), np.count_nonzero(sizes, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = gaps.sum(axis=0) / n
            share = sizes / n
            residuals, pulled = self._residuals(gaps, sizes, difference, n)
            # the trace of B and of its square (Bell & McCaffrey 2002) for one mean of clusters, without the matrix
            factors = share / (n * (1 - share))
            trace = (factors * (1 - share)).sum(axis=0)
            square = (factors**2 * (1 - 2 * share)).sum(axis=0) + (factors * share).sum(axis=0) ** 2
            df = trace**2 / square
        squares = np.einsum("gp,gp->p", residuals, residuals)
        return {
            "n": n,
            "units": units.astype(np.float64),
            "difference": difference,
            "squares": squares,
            "cubes": np.einsum("gp,gp,gp->p", residuals, residuals, residuals),
            "pulled": np.einsum("gp,gp->p", pulled, pulled),
            "weight": (share**2).sum(axis=0),
            "df": df,
            "df_of_signs": df,
        }

    @staticmethod
    def _residuals(gaps: Floats, sizes: Floats, difference: Floats, n: Floats) -> tuple[Floats, Floats]:
        """What each unit adds to the error of a pair's difference, times n; and the same as the jackknife has it."""
        residuals = gaps - sizes * difference
        return residuals, residuals / (1 - sizes / n)

    def _signable(
        self, gaps: Floats, sizes: Floats, _some: NDArray[np.intp], fact: dict[str, Floats]
    ) -> tuple[Floats, Floats | None]:
        """Return what signs multiply, by unit, of pairs with these numbers and facts; and the same times sizes.

        None of items: they have size 1 where both arms have them, and residuals are 0 elsewhere.
        """
        _, pulled = self._residuals(gaps, sizes, fact["difference"], fact["n"])
        return pulled, None if self.starts is None else pulled * sizes

    @cached_property
    def shared(self) -> NDArray[np.int64]:
        """How many units each pair shares. Shape (P,)."""
        return self._facts["units"].astype(np.int64)

    @cached_property
    def shared_items(self) -> NDArray[np.int64]:
        """How many items each pair shares. Shape (P,)."""
        return self._facts["n"].astype(np.int64)

    @cached_property
    def least_shared(self) -> int:
        """The least units with which a pair is compared.

        So many that the rarest of a pair's patterns is rarer than alpha over the pairs, or half of the most that any
        pair shares where that is less, but never fewer than could be told apart alone.
        """
        alone = 2 + math.floor(math.log2(1 / self.alpha))
        beside = 2 + math.floor(math.log2(len(self.pairs[0]) / self.alpha))
        return max(alone, min(beside, -(-int(self.shared.max()) // 2)))

    @cached_property
    def sparse(self) -> NDArray[np.bool_]:
        """Which pairs share too few units to be compared. Shape (P,)."""
        return self.shared < self.least_shared

    @cached_property
    def squares(self) -> Floats:
        """Sum of squared residuals of every pair's difference; 0 where it is not compared. Shape (P,)."""
        first, second = self.pairs
        present, most = self.present.astype(np.float64), 1.0
        if self.starts is not None:
            most = float(np.diff([*self.starts, len(present)]).max())
        squared = (self.outcomes**2).T @ present
        scale = most * (squared + squared.T)[first, second]
        squares = np.where(self.sparse, 0.0, self._facts["squares"])
        return np.asarray(np.where(squares <= FLAT * scale, 0.0, squares))

    @cached_property
    def differences(self) -> Floats:
        """First minus second of every pair on their common items; NaN where there are none. Shape (P,)."""
        return self._facts["difference"]

    @cached_property
    def errors(self) -> Floats:
        """Standard error of every difference (CR1), 0 where it is not compared. Shape (P,)."""
        g = np.maximum(self.shared, 2)
        return np.asarray(np.sqrt(self.squares * g / (g - 1)) / np.maximum(self._facts["n"], 1))

    @cached_property
    def t(self) -> Floats:
        """Studentized differences; NaN where a pair is not compared. Shape (P,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.squares > 0, self.differences / self.errors, np.nan))

    @cached_property
    def skewness(self) -> Floats:
        """Skewness of what the units add to every difference; NaN where a pair is not compared. Shape (P,)."""
        return skewness_of(self._facts["cubes"], self.squares, self.shared)

    def max_t(self, seed: int, draws: int) -> MaxT:
        """Adjusted p-values, the critical value and every pair's bar.

        Up to `LISTED_UP_TO` units all patterns of signs are listed; else so many are drawn, from the seed.
        O(draws x units x pairs) time, one matrix product; memory of `HELD` signs and `WIDE` differences.
        """
        varies, df = self.squares > 0, self._facts["df"]
        total = 2 ** (self.n_units - 1) if self.n_units <= LISTED_UP_TO else draws
        single = total * self.n_units * len(df) > IN_DOUBLE
        parts = [
            self._greatest(np.float32 if single else np.float64, signs) for signs in self._signs(seed, draws)
        ]
        greatest = np.sort(np.concatenate(parts)[:total])
        seen = np.full(len(df), np.nan)
        seen[varies] = to_normal(np.abs(self.t[varies]), df[varies])
        adjusted, critical = judge_pairs(seen, varies, greatest, self.alpha, TIE_IN_SINGLE if single else TIE)
        bars = np.full(len(df), np.inf)
        if math.isfinite(critical):
            bars[varies] = _from_normal(critical, df[varies])
        return MaxT(adjusted, critical, bars, total, greatest)

    def _signs(self, seed: int, draws: int) -> Iterator[NDArray[np.floating[Any]]]:
        """Signs of every unit: all patterns that are not mirror images, or drawn ones, `HELD` at a time. (some, G)."""
        g = self.n_units
        if g <= LISTED_UP_TO:
            yield sign_patterns(g, mirrored=False)
            return
        blocks, at_once = block_count(draws), max(1, HELD // (BLOCK * g))
        for start in range(0, blocks, at_once):
            some = range(start, min(start + at_once, blocks))
            signs = np.empty((len(some) * BLOCK, g), dtype=np.float32)
            for place, block in enumerate(some):
                for first, coins in coins_of(generator(seed, block), g):
                    signs[place * BLOCK : (place + 1) * BLOCK, first : first + coins.shape[1]] = coins
            yield 2 * signs - 1

    def _greatest(
        self, kind: type[np.float32] | type[np.float64], signs: NDArray[np.floating[Any]]
    ) -> Floats:
        """Return the largest of all pairs on the scale of the normal law, in every replicate. Shape (replicates,)."""
        greatest, first = np.zeros(len(signs)), 0
        signs = signs.astype(kind, copy=False)
        for gaps, sizes in self._by_unit():
            some = first + np.arange(gaps.shape[1])
            first += gaps.shape[1]
            chosen = self.squares[some] > 0
            if not chosen.any():
                continue
            fact = {name: column[some[chosen]] for name, column in self._facts.items()}
            pulled, weighed = self._signable(gaps[:, chosen], sizes[:, chosen], some[chosen], fact)
            shift = signs @ pulled.astype(kind)
            cross = shift if weighed is None else signs @ weighed.astype(kind)
            of: dict[str, NDArray[np.floating[Any]]] = {name: x.astype(kind) for name, x in fact.items()}
            t = studentize(shift, cross, of["pulled"], of["weight"], of["n"], of["units"])
            np.maximum(greatest, to_normal(t, of["df_of_signs"]).max(axis=1), out=greatest)
        return greatest


def partial(columns: Floats, codes: NDArray[np.int64] | None, alpha: float) -> PartialArms:
    """Columns (n, k) with NaN where an outcome is missing, and each item's cluster, whose items are put together.

    Every item has an outcome of some arm, and every arm one of some item.
    """
    starts = None
    if codes is not None:
        order = np.argsort(codes, kind="stable")
        columns, codes = columns[order], codes[order]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    present = ~np.isnan(columns)
    return PartialArms(np.where(present, columns, 0.0), present, starts, alpha)


def _from_normal(z: float, df: Floats) -> Floats:
    """Return the |t| that `to_normal` brings to `z`."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(df * np.expm1((z * (8 * df + 3) / (8 * df + 1)) ** 2 / df)))
