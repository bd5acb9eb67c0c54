"""Several differences of the same items or clusters at once: step-down max-T under one random sign per unit.

`sums` (G, m) holds the difference of every unit in every member of a family. A unit's sign turns its whole row around,
so what the members share is kept. A member's statistic is its total over the root of its sum of squares, which no sign
changes: Student's t of the paired differences rises with it, so the largest of one is the largest of the other, and a
member's own tail is that of its sign-flip test, clusters of any size included. Nothing is centred: where a row of the
members without a difference is as likely as its mirror image, the adjusted p-values are exact, not asymptotic.

Sources: Westfall & Young (1993), Resampling-Based Multiple Testing, ch. 2 (step-down max-T); Romano & Wolf (2005),
JASA 100:94 (why no more than this is needed of the subsets).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.binomial import log_choose
from service.kernels.numeric.streams import generator
from service.kernels.randomization.max_t import TIE, signed_sums

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LISTED_UP_TO = 16
"""Bits: 2^16 patterns of signs, units alike counted together, are all listed."""
CHUNK = 2**15
"""Patterns compared at a time."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Rows that differ, each up to its sign, and how many units each stands for; every column of length one."""

    rows: Floats
    copies: Ints
    seen: Floats
    """Observed statistics, (m,); 0 where nothing differs."""

    @property
    def exact(self) -> bool:
        """True when all patterns of signs, by how many units of each kind are positive, are listed."""
        return float(np.log2(self.copies + 1.0).sum()) <= LISTED_UP_TO


def joint_of(sums: Floats) -> Joint:
    """Return the members' differences (G, m), ready for signs; O(G m log G) time."""
    length = np.sqrt(np.einsum("gm,gm->m", sums, sums))
    scaled = np.divide(sums, length, out=np.zeros_like(sums), where=length > 0)
    moved = scaled[np.any(scaled != 0, axis=1)]
    if not len(moved):
        return Joint(np.zeros((0, sums.shape[1])), np.zeros(0, dtype=np.int64), np.zeros(sums.shape[1]))
    first = moved[np.arange(len(moved)), np.argmax(moved != 0, axis=1)]
    rows, copies = np.unique(moved * np.sign(first)[:, None], axis=0, return_counts=True)
    return Joint(rows, copies.astype(np.int64), np.asarray(scaled.sum(axis=0)))


def step_down(joint: Joint, sides: Ints, seed: int = 0, blocks: range = range(0)) -> Floats:
    """Adjusted p-values (m,): exact where all patterns are listed, else from the blocks' draws with add-one counts.

    Args:
        sides: (m,) 1 for a member whose large values count, -1 for small ones, 0 for both.
    """
    seen = _take_side(joint.seen[None, :], sides)[0]
    order = np.argsort(-seen, kind="stable")
    above, total = np.zeros(len(order)), 0.0
    for sums, weights in _list_all(joint) if joint.exact else _draw_signs(joint, seed, blocks):
        sizes = _take_side(sums, sides)[:, order]
        # of every member and all that are less far out: what is left to reject at its step
        left = np.maximum.accumulate(sizes[:, ::-1], axis=1)[:, ::-1]
        above += weights @ (left >= seen[order] - TIE * (1 + np.abs(seen[order])))
        total += float(weights.sum())
    extra = 0.0 if joint.exact else 1.0
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate((above + extra) / (total + extra)), 1.0)
    return adjusted


def _take_side(values: Floats, sides: Ints) -> Floats:
    return np.where(sides == 0, np.abs(values), values * sides)


def _list_all(joint: Joint) -> Iterator[tuple[Floats, Floats]]:
    """Yield every pattern's sums, and its probability."""
    shape = tuple(int(count) for count in joint.copies + 1)
    many = math.prod(shape)
    # of a kind with c units, k are positive: 2 k - c of them are left over, with a binomial chance
    chances = [_coins(count) for count in joint.copies.tolist()]
    for start in range(0, many, CHUNK):
        which = np.arange(start, min(start + CHUNK, many))
        places = np.unravel_index(which, shape) if shape else ()
        sums = np.zeros((len(which), joint.rows.shape[1]))
        weights = np.ones(len(which))
        for place, row, copies, chance in zip(
            places, joint.rows, joint.copies.tolist(), chances, strict=True
        ):
            sums += (2.0 * place - copies)[:, None] * row
            weights *= chance[place]
        yield sums, weights


def _coins(many: int) -> Floats:
    """Return the chances of 0 .. many heads of fair coins."""
    heads = np.arange(many + 1)
    return np.asarray(np.exp(log_choose(heads, np.asarray(many)) - many * math.log(2)))


def _draw_signs(joint: Joint, seed: int, blocks: range) -> Iterator[tuple[Floats, Floats]]:
    copies = None if np.all(joint.copies == 1) else joint.copies
    if copies is not None and 2 * len(copies) > int(copies.sum()):  # a binomial draw costs more than a sign
        values, copies = np.repeat(joint.rows, joint.copies, axis=0), None
    else:
        values = joint.rows
    for block in blocks:
        sums = signed_sums(generator(seed, block), values, copies)
        yield sums, np.ones(len(sums))
