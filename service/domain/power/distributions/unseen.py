"""The least favourable world of a rule on scores: losses that the data often hold none of, and cost all that they can.

A share p of items loses the whole range R, every other item gains next to alike, and the mean is t. Where no loss is
seen nothing tells of them, and every rule that reckons with what was seen alone holds: with a chance of (1 - p)^n of
independent items, and of (1 - p)^G where clusters are lost as a whole. With a gain of g and losses of R, p is
(g - t) / (R + g), and no distribution between -R and R that shows g where no loss is seen has fewer of them.

g is what the rule asks to see. What it leaves open lies one SESOI better than where the claim fails: nothing gained at
a margin of that size, and a SESOI of gain where none is the failure. Nearer to the truth losses would be rarer still,
and the level of every rule without bounds goes to 1 (Bahadur & Savage 1956, Ann Math Statist 27:1115): the SESOI is
what matters, and so it is what is told.

Scores without a range have no least p: there one item in twenty is lost, with as much as that takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.claims.assertion import Facts
from service.stats.shared.declaring.shows import Side

Floats = NDArray[np.float64]

RARE = 0.05
"""Share of items that are lost where scores have no range."""

UNEVEN, BEYOND = 0.05, 0.06
"""How far gains lie from alike, so that none of them tie, and by how much the least of them is beyond what is asked."""

NEXT_TO_NOTHING = 0.01
"""A gain where none is asked, in SESOIs."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A share of items that loses (side 1) or gains (side -1) far, among others that move a little the other way."""

    name: Literal["unseen_losses", "unseen_gains"]
    side: Side
    share: float
    loss: float
    gain: float
    """Of all other items on average; each lies within `UNEVEN` of it."""

    @property
    def mean(self) -> float:
        """The mean of an item's difference, exactly."""
        return self.side * ((1 - self.share) * self.gain - self.share * self.loss)

    @property
    def sd(self) -> float:
        """The SD of an item's difference, exactly."""
        # of a mixture: what its parts lie apart, and the spread of the gains, uniform over `UNEVEN` of them to either
        # side
        apart = self.share * (1 - self.share) * (self.gain + self.loss) ** 2
        return float(np.sqrt(apart + (1 - self.share) * (UNEVEN * self.gain) ** 2 / 3))

    @property
    def baseline_sd(self) -> float:
        """The SD of the baseline's items: 0, since all of them lie where there is the whole range to lose."""
        return 0.0

    def draw(self, generator: np.random.Generator, size: tuple[int, ...]) -> Floats:
        """Draw values of independent items."""
        gains = self._gains(generator, size)
        lost = generator.random(size) < self.share
        return np.asarray(self.side * np.where(lost, -self.loss, gains))

    def draw_sums(
        self, generator: np.random.Generator, n_sets: int, sizes: NDArray[np.int64], icc: float
    ) -> Floats:
        """Draw sums (T, G) over units of these sizes: each item is its unit's own value with chance sqrt(icc)."""
        size = (n_sets, len(sizes))
        if int(sizes.max()) == 1:
            return self.draw(generator, size)
        own = generator.random(size) < self.share
        alike = np.sqrt(icc)
        lost = generator.binomial(sizes, own * alike + (1 - alike) * self.share)
        gains = self._gains(generator, size)
        return np.asarray(self.side * ((sizes - lost) * gains - lost * self.loss))

    def draw_items(
        self, generator: np.random.Generator, n_sets: int, sizes: NDArray[np.int64], icc: float
    ) -> Floats:
        """Draw items (T, n), unit by unit, so that two of a unit correlate by `icc`."""
        n = int(sizes.sum())
        own = np.repeat(generator.random((n_sets, len(sizes))) < self.share, sizes, axis=1)
        apart = generator.random((n_sets, n)) < self.share
        lost = np.where(generator.random((n_sets, n)) < np.sqrt(icc), own, apart)
        gains = self._gains(generator, (n_sets, n))
        return np.asarray(self.side * np.where(lost, -self.loss, gains))

    def _gains(self, generator: np.random.Generator, size: tuple[int, ...]) -> Floats:
        return self.gain * (1 + UNEVEN * (2 * generator.random(size) - 1))


def unseen_worlds(ways: Sequence[Facts], truth: float, sesoi: float, span: float | None) -> Iterator[Unseen]:
    """Yield the worlds in which a rule with these ways to hold errs most, where the true difference is `truth`.

    Args:
        ways: states in which the rule holds.
        span: the largest difference that there can be; None where scores have no range.
    """
    sides: tuple[Side, Side] = (1, -1)
    for side in sides:
        at = side * truth
        # what the claim denies is a loss: nothing gained is then seen; else a gain that matters
        gain = _gain(ways, side, 0.0 if at < 0 else at + sesoi, NEXT_TO_NOTHING * sesoi)
        # The share p that is lost solves (1 - p) gain - p loss = at: for p where the loss is the whole range, for the
        # loss where there is no range and p is RARE.
        least = 0.0 if span is None else (gain - at) / (span + gain)
        share, loss = (least, span) if span is not None else (RARE, ((1 - RARE) * gain - at) / RARE)
        if 0 < share < 1 and loss > 0 and (span is None or gain * (1 + UNEVEN) <= span):
            yield Unseen("unseen_losses" if side > 0 else "unseen_gains", side, share, loss, gain)


def _gain(ways: Sequence[Facts], side: Side, open_: float, least: float) -> float:
    """The least mean that a way to hold asks to see on this side, and no less than `open_` where it leaves that."""
    gains = []
    for way in ways:
        low, high = _find_bound(way, side), -_find_bound(way, -1 if side > 0 else 1)
        gain = max((1 + BEYOND) * max(low, open_), least)
        gain = gain if gain < high else (max(low, 0.0) + high) / 2
        if low < gain < high:
            gains.append(gain)
    return min(gains, default=max((1 + BEYOND) * open_, least))


def _find_bound(way: Facts, side: Side) -> float:
    """Return the mean beyond which, on a side, the data of a way to hold lie."""
    limit = way.low if side > 0 else way.high
    asked = [side * float(fact.at) for fact in way.shown if fact.side == side]
    return max([*asked, *([] if limit is None else [side * float(limit.at)])], default=-np.inf)
