"""Shapes that the differences of scores may have: the worlds over which levels of rules on scores are told.

A rule keeps its alpha where scores are normal and may err ten times as often where they are not, so that its level is
told over all of these and the worst counts. Why each stands here:

- `normal`: what tests of means are made for, and the shape that most plans have in mind.
- `skewed_left`, `skewed_right`: few items lose (or gain) much, as latencies, lengths and costs do. The median then lies
  on the other side of the mean: ranks and medians answer for another effect, and t intervals are too short on one side.
- `heavy`: a few items differ by far more than all others, either way (t with 3 degrees of freedom).
- `rare_losses`, `rare_gains`: most items tie or move a little one way, one in twenty falls the other way, far. With few
  items the data often hold none of these, and then tell nothing of what they would have cost.
- `ties`: on most items the arms answer alike, as with a tool that few tasks need; what is left is normal.
- `steps`: a scale of a few steps, uneven: ties, and medians that do not move.
- `bounded`: all or nothing, the ends of a bounded scale, even.
- `unseen_losses`, `unseen_gains`: all that can be lost at once, by as few items as that takes (`unseen`).
- `pilot`: the differences of the pilot, where one is sent.

The mean of each is exactly 0 (or the effect that the claim is about is, where it is not the mean), its SD 1. A scale
with bounds holds every value within them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.words import Message, message

Floats = NDArray[np.float64]
ShapeName = Literal[
    "normal",
    "skewed_left",
    "skewed_right",
    "heavy",
    "rare_losses",
    "rare_gains",
    "ties",
    "steps",
    "bounded",
    "unseen_losses",
    "unseen_gains",
    "pilot",
]

STEPS = 2000
"""Pieces of equal chance that a shape is made of."""

LEAST_SKEWNESS, ROUNDING, HALVINGS = 1e-3, 1e-12, 55
"""Skewness below which a sum is drawn as normal, the share of an SD that is rounding, and the halvings of a search."""
COARSE, REACH = 200, 10
"""Values that stand for all where every two of them are joined, and SDs within which a centre is sought."""

Centre = Callable[["Shape"], float]
"""Where a shape lies by the effect that a claim is about."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A distribution by its quantiles: straight lines between them, or as many values of equal chance."""

    name: ShapeName
    quantiles: Floats
    """Ascending; `STEPS` + 1 of them where lines join them."""
    smooth: bool
    tied: bool = False
    """What is 0 stays 0 wherever the shape is moved to: items on which the arms answer alike."""

    @property
    def mean(self) -> float:
        """The mean of the shape: that of its pieces, which have equal weight."""
        return float(self._middles.mean())

    @property
    def sd(self) -> float:
        """The standard deviation of the shape, from the mean square of its uniform pieces."""
        low, high = self._ends
        # between two quantiles a piece is uniform: its mean square is (a^2 + a b + b^2) / 3, and likewise for cubes
        squares = (low * low + low * high + high * high) / 3
        return float(np.sqrt(max(squares.mean() - self.mean**2, 0.0)))

    @property
    def skewness(self) -> float:
        """Exact: how far a sum of some of these is from normal."""
        centred = self.move(-self.mean)
        low, high = centred._ends
        cubes = (low + high) * (low * low + high * high) / 4
        return float(cubes.mean() / centred.sd**3) if centred.sd > 0 else 0.0

    @property
    def median(self) -> float:
        """The median: half of the values lie below it."""
        return self.quantile(0.5)

    def quantile(self, q: float) -> float:
        """Return the value below which a share q lies."""
        if self.smooth:
            return float(
                np.interp(q * (len(self.quantiles) - 1), np.arange(len(self.quantiles)), self.quantiles)
            )
        return float(self.quantiles[min(int(q * len(self.quantiles)), len(self.quantiles) - 1)])

    @property
    def pseudo_median(self) -> float:
        """The median of the mean of two: what the signed ranks are about."""
        some = self._some
        return float(np.median((some[:, None] + some[None, :]) / 2))

    def shift(self, of_items: float) -> float:
        """Return a candidate's median less a baseline's of another item, whose SD is `of_items` of this one's."""
        pairs = special.ndtri((np.arange(COARSE) + 0.5) / COARSE) * of_items * self.sd * np.sqrt(2)
        return float(np.median(self._some[:, None] + pairs[None, :]))

    @property
    def _some(self) -> Floats:
        """A few values in place of all."""
        return np.asarray(self._middles[:: max(len(self._middles) // COARSE, 1)])

    def move(self, by: float) -> Shape:
        """Return this shape with another mean; where values tie at 0 they stay, and the rest moves by more."""
        if not self.tied or by == 0:
            return replace(self, quantiles=self.quantiles + by)
        away = self.quantiles != 0
        weights = np.ones(len(self.quantiles))
        if self.smooth:
            weights[[0, -1]] = 0.5
        # Only the share away from 0 moves, by so much more that the mean moves by `by`.
        share = weights[away].sum() / weights.sum()
        return replace(self, quantiles=np.sort(np.where(away, self.quantiles + by / share, 0.0)))

    def scale(self, to: float) -> Shape:
        """Return this shape with another SD; it keeps its place about 0."""
        return replace(self, quantiles=self.quantiles * (to / self.sd)) if self.sd > 0 else self

    def at(self, truth: float, sd: float, span: float | None, centre: Centre) -> Shape:
        """Return this shape with this SD, its centre at the truth; cut at a span of differences it may spread less."""
        wide = self.scale(sd if span is None else min(sd, span / 2))
        if abs(centre(wide) - truth) < ROUNDING * sd and (span is None or abs(wide.quantiles).max() <= span):
            return wide
        if span is None and centre is by_mean:
            return wide.move(truth - wide.mean)
        most = 2 * span if span is not None else REACH * sd + abs(truth)

        def cut(by: float) -> Shape:
            moved = wide.move(by)
            return moved if span is None else replace(moved, quantiles=np.clip(moved.quantiles, -span, span))

        # Cutting moves the centre, so that the shift which puts it at the truth is sought by bisection.
        low, high = -most, most
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if centre(cut(middle)) < truth else (low, middle)
        return cut((low + high) / 2)

    def draw(self, generator: np.random.Generator, size: tuple[int, ...]) -> Floats:
        """Draw values of that shape."""
        if not self.smooth:
            return self.quantiles[generator.integers(0, len(self.quantiles), size)]
        at = generator.random(size) * (len(self.quantiles) - 1)
        piece = at.astype(np.intp)
        start = self.quantiles[piece]
        return np.asarray(start + (at - piece) * (self.quantiles[piece + 1] - start))

    def draw_sums(
        self, generator: np.random.Generator, n_sets: int, sizes: NDArray[np.int64], icc: float
    ) -> Floats:
        """Draw sums (T, G) over units of these sizes whose items are so and correlate within a unit by `icc`.

        What units differ by has this shape; what is within one is a sum of independent items, drawn as the gamma (or
        normal) distribution with the skewness of that sum.
        """
        size = (n_sets, len(sizes))
        if int(sizes.max()) == 1:
            return self.draw(generator, size)
        centred, skewness = self.move(-self.mean), self.skewness
        between = centred.draw(generator, size) * np.sqrt(icc)
        if abs(skewness) > LEAST_SKEWNESS:
            # A sum of m items has skewness g / sqrt(m), a gamma variable 2 / sqrt(k): k = 4 m / g^2.
            rate = 4 * sizes / skewness**2
            within = np.sign(skewness) * (generator.standard_gamma(rate, size) - rate) / np.sqrt(rate)
        else:
            within = generator.standard_normal(size)
        return np.asarray(sizes * (self.mean + between + within * self.sd * np.sqrt((1 - icc) / sizes)))

    def draw_items(
        self, generator: np.random.Generator, n_sets: int, sizes: NDArray[np.int64], icc: float
    ) -> Floats:
        """Draw items (T, n) of this shape, unit by unit: each is its unit's own value with chance sqrt(icc).

        Two items of a unit then correlate by `icc`, and no value lies outside the shape.
        """
        items = self.draw(generator, (n_sets, int(sizes.sum())))
        if icc <= 0:
            return items
        own = np.repeat(self.draw(generator, (n_sets, len(sizes))), sizes, axis=1)
        return np.where(generator.random(items.shape) < np.sqrt(icc), own, items)

    @property
    def _ends(self) -> tuple[Floats, Floats]:
        return (self.quantiles[:-1], self.quantiles[1:]) if self.smooth else (self.quantiles, self.quantiles)

    @property
    def _middles(self) -> Floats:
        low, high = self._ends
        return np.asarray((low + high) / 2)


def sums_of(items: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Sum items (T, n) that stand unit by unit over units of these sizes, (T, G); no unit is empty."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.asarray(np.add.reduceat(items, starts, axis=1))


def name_shape(name: ShapeName) -> Message:
    """Return the words for a shape of differences."""
    return message(f"distributions.{name}")


def by_mean(shape: Shape) -> float:
    """Return the centre of claims about means."""
    return shape.mean


def _smooth(name: ShapeName, quantile: Callable[[Floats], Floats], *, tied: bool = False) -> Shape:
    """Cut half a piece before either end, where a quantile may be infinite."""
    chances = np.clip(np.linspace(0.0, 1.0, STEPS + 1), 0.5 / STEPS, 1 - 0.5 / STEPS)
    return _standard(Shape(name, np.sort(quantile(chances)), smooth=True, tied=tied))


def _build_stepped(name: ShapeName, values: Sequence[float], shares: Sequence[float]) -> Shape:
    counts = np.rint(np.array(shares) * STEPS).astype(int)
    every = np.sort(np.repeat(np.array(values, dtype=np.float64), counts))
    return _standard(Shape(name, every, smooth=False, tied=0.0 in values))


def _standard(shape: Shape) -> Shape:
    return (shape if abs(shape.mean) < ROUNDING else shape.move(-shape.mean)).scale(1.0)


@cache
def every_shape() -> tuple[Shape, ...]:
    """Return the shapes of this module's first lines, without the pilot's."""

    # a tenth of the items lies below 0 and a tenth above, as the halves of a normal law; all others tie
    def tied(p: Floats) -> Floats:
        away = np.where(p < 0.1, p / 0.2, np.where(p > 0.9, (p - 0.8) / 0.2, 0.5))
        return np.asarray(special.ndtri(away))

    return (
        _smooth("normal", special.ndtri),
        _smooth("skewed_left", lambda p: -np.exp(-special.ndtri(p))),
        _smooth("skewed_right", lambda p: np.exp(special.ndtri(p))),
        _smooth("heavy", lambda p: special.stdtrit(3, p)),
        _build_stepped("rare_losses", (-1.0, 0.0, 0.1), (0.05, 0.45, 0.5)),
        _build_stepped("rare_gains", (-0.1, 0.0, 1.0), (0.5, 0.45, 0.05)),
        _smooth("ties", tied, tied=True),
        _build_stepped("steps", (-2.0, -1.0, 0.0, 1.0), (0.1, 0.1, 0.5, 0.3)),
        _build_stepped("bounded", (-1.0, 1.0), (0.5, 0.5)),
    )


def find_shape(name: ShapeName) -> Shape:
    """Return the shape of `every_shape` that has this name."""
    return next(shape for shape in every_shape() if shape.name == name)


def shape_of_pilot(differences: Sequence[float]) -> Shape | None:
    """Return a pilot's differences as a shape, each as likely as the others; None where they do not vary."""
    values = np.sort(np.array(differences, dtype=np.float64))
    shape = Shape("pilot", values, smooth=False, tied=bool((values == 0).any()))
    return _standard(shape) if len(differences) > 1 and shape.sd > 0 else None
