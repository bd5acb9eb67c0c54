"""Simulated results of two arms under a missing policy: many data sets at once, before and after filling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.plan import MissingPolicy
from service.domain.power.distributions.shapes import ShapeName, by_mean, find_shape, sums_of
from service.domain.verdicts.worst_case import Extremes
from service.kernels.planning.draws_in_clusters import draw_categories, draw_continuous
from service.kernels.planning.labelled_pairs import LabelledSets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FALLS = 6
"""Categories of a right/wrong item: won, lost or tied with both results in, and three ways to be filled."""

DOWN = np.array([1, -1, 0, 0, -1, -1])
UP = np.array([1, -1, 0, 1, 1, 0])
"""Difference of an item of each category when what is missing is filled against the candidate, or for it."""


@dataclass(frozen=True, slots=True)
class World:
    """What is true of the two arms of a hypothesis."""

    truth: float
    """Candidate minus baseline: a proportion, or score units."""
    scale: float
    """Share of discordant items, or SD of the item differences."""
    icc: float = 0.0
    missing: tuple[float, float] = (0.0, 0.0)
    """Shares of the baseline's and of the candidate's results that are not ok, independent of all else."""
    baseline_mean: float | None = None
    shape: ShapeName | None = None
    """Of the differences of scores; None: normal."""
    agreement: float | None = None
    """Of a judge with people who label some items; None: nobody does."""

    @property
    def complete(self) -> float:
        """Share of items with both results."""
        return (1 - self.missing[0]) * (1 - self.missing[1])

    def shares(self) -> tuple[float, float, float]:
        """Return the shares of items that the candidate alone, the baseline alone, and both or neither get right."""
        # No difference is larger than the share of items on which arms differ.
        truth = min(max(self.truth, -self.scale), self.scale)
        won, lost = (self.scale + truth) / 2, (self.scale - truth) / 2
        return won, lost, max(1.0 - won - lost, 0.0)

    def falls(self) -> Floats:
        """Return where an item of each state falls, (3, FALLS)."""
        before, after = self.missing
        only_before, only_after, both = before * (1 - after), after * (1 - before), before * after
        one = only_before + only_after
        _, lost, tied = self.shares()
        right = 0.5
        if self.baseline_mean is not None and tied > 0:
            right = min(max((self.baseline_mean - lost) / tied, 0.0), 1.0)
        # Filled for the candidate: a tie becomes a win where the baseline's result is filled with wrong and the
        # candidate was right, or the candidate's is filled with right and the baseline was wrong.
        up = right * only_before + (1 - right) * only_after
        down = right * only_after + (1 - right) * only_before
        ok = self.complete
        return np.array(
            [[ok, 0, 0, one, both, 0], [0, ok, 0, 0, both, one], [0, 0, ok, up, both, down]], dtype=np.float64
        )

    def fill_shares(self, sign: int) -> tuple[float, float]:
        """Return the shares of items won and lost once what is missing is filled against `sign`: 1, the candidate."""
        p = np.asarray(self.shares()) @ self.falls()
        differences = DOWN if sign > 0 else UP
        return float(p[differences > 0].sum()), float(p[differences < 0].sum())


@dataclass(frozen=True, slots=True)
class Side:
    """Difference sums (T, G), and where right/wrong the items won and lost."""

    sums: Floats
    won: tuple[Ints, Ints] | None
    items: Floats | None = None
    """The differences of single scores (T, n), where these are drawn."""
    labelled: LabelledSets | None = None
    """What people say of some of them, where the plan asks for it."""


@dataclass(frozen=True, slots=True)
class Block:
    """Data sets over the same units: as they are judged when filled against either arm; else the two are one."""

    sizes: Ints
    down: Side
    up: Side
    kept: NDArray[np.intp]
    """Which of the planned units have an item left."""

    def against(self, sign: int) -> Side:
        """Filled against the candidate (1) or the baseline (-1)."""
        return self.down if sign > 0 else self.up

    @property
    def both(self) -> tuple[Side, ...]:
        """The fillings that a claim of equivalence must stand."""
        return (self.up,) if self.up is self.down else (self.up, self.down)


def draw(
    generator: np.random.Generator,
    n_sets: int,
    sizes: Ints,
    world: World,
    *,
    policy: MissingPolicy | None,
    binary: bool,
    ends: Extremes | None,
    items: bool = False,
) -> Block:
    """Draw data sets over units of these sizes. Under `exclude_pair` all of them lack the same items.

    `items`: single scores are drawn, but where what is missing is filled in.
    """
    every = np.arange(len(sizes))
    lacking = world.complete < 1
    if lacking and policy == "exclude_pair":
        left = generator.binomial(sizes, world.complete)
        every = np.flatnonzero(left)
        sizes = left[every]
    filled = lacking and policy == "worst_case"
    if binary:
        falls = world.falls() if filled else np.eye(3, FALLS)
        counts = draw_categories(generator, n_sets, sizes, world.shares(), world.icc, falls)
        down = _count(counts, DOWN)
        return Block(sizes, down, _count(counts, UP) if filled else down, every)
    if items and not filled:
        span = None if ends is None else ends.high - ends.low
        placed = find_shape(world.shape or "normal").at(world.truth, world.scale, span, by_mean)
        values = placed.draw_items(generator, n_sets, sizes, world.icc)
        side = Side(sums_of(values, sizes), None, values)
        return Block(sizes, side, side, every)
    if world.shape is None:
        sums = draw_continuous(generator, n_sets, sizes, world.truth, world.scale, world.icc)
    else:
        span = None if ends is None else ends.high - ends.low
        placed = find_shape(world.shape).at(world.truth, world.scale, span, by_mean)
        sums = placed.draw_sums(generator, n_sets, sizes, world.icc)
    if not filled or ends is None:
        side = Side(sums, None)
        return Block(sizes, side, side, every)
    return _fill_scores(generator, sizes, sums, world, ends, every)


def _count(counts: Ints, differences: NDArray[np.int64]) -> Side:
    won, lost = (counts[..., differences == sign].sum(axis=-1) for sign in (1, -1))
    return Side((won - lost).astype(np.float64), (won, lost))


def _fill_scores(
    generator: np.random.Generator,
    sizes: Ints,
    sums: Floats,
    world: World,
    ends: Extremes,
    every: NDArray[np.intp],
) -> Block:
    """Scores: what is in has the arms' means where the other arm is filled."""
    before, after = world.missing
    p = [before * (1 - after), after * (1 - before), before * after, world.complete]
    lacking = generator.multinomial(np.broadcast_to(sizes, sums.shape), p).astype(np.float64)
    only_before, only_after, both = lacking[..., 0], lacking[..., 1], lacking[..., 2]
    left = lacking[..., 3]
    # Of m items `left` remain. Their sum has the noise variance left s^2 (1 - icc); of it sums * left / m holds
    # left^2 / m, and the rest is drawn.
    noise = generator.standard_normal(sums.shape) * world.scale * math.sqrt(1 - world.icc)
    extra = np.sqrt(np.maximum(left - left**2 / sizes, 0.0))
    observed_part = sums * (left / sizes) + noise * extra
    mean = (ends.low + ends.high) / 2 if world.baseline_mean is None else world.baseline_mean
    other = mean + world.truth
    span = ends.high - ends.low
    # Against the candidate: its own missing scores take the low end, the baseline's the high one; both, the whole
    # span.
    down = observed_part + only_before * (other - ends.high) + only_after * (ends.low - mean) - both * span
    up = observed_part + only_before * (other - ends.low) + only_after * (ends.high - mean) + both * span
    return Block(sizes, Side(down, None), Side(up, None), every)
