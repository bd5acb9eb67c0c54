"""Where several arms stand: their ranks, the best of them, and every pair. What a leaderboard answers in detail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.effects.standings import follow
from service.kernels.randomization.max_t import ManyArms, MaxT
from service.records import Record
from service.stats.shared.declaring.common import Interval

NO_SPREAD = "the difference is the same in every {unit}: nothing says how far it could be off"
TOO_FEW = "{count} {unit}s have too few patterns of signs for this level"


class RankedArm(Record):
    """One arm."""

    name: str = Field(description="As sent.")
    mean: float = Field(description="Mean outcome over the items, score units.")
    rank: int = Field(description="1 is the best mean; equal means share the better rank.")
    rank_low: int = Field(description="Best rank that the simultaneous intervals leave open.")
    rank_high: int = Field(description="Worst rank that they leave open.")
    may_be_best: bool = Field(description="No other arm is told apart and ahead: `rank_low` is 1.")
    gap: Interval = Field(
        description="Simultaneous interval of how far the arm is ahead of the best of the others, score units. "
        "Positive: better; below 0 throughout: not the best."
    )


class ComparedPair(Record):
    """Two arms, the one with the better mean first."""

    first: str = Field(description="The arm with the better mean.")
    second: str = Field(description="The other one.")
    difference: float = Field(description="How much better the first is, score units; never below 0.")
    ci: Interval = Field(description="Simultaneous interval of that difference over all pairs, score units.")
    t: float | None = Field(description="The difference over its standard error.")
    p_value: float | None = Field(description="Two-sided, adjusted over all pairs by max-T.")
    apart: bool = Field(
        description="p_value < alpha: the simultaneous interval excludes 0, by itself or through an arm in between."
    )


@dataclass(frozen=True, eq=False)
class Standings:
    """Arms in order of their means, and all pairs, with the reasons of what is null.

    `units` have better outcomes higher. `size`: what a value is multiplied by to be an outcome again, and `sign`: -1
    where lower outcomes are better. `word`: what a unit is called. `reasons` is filled by `pairs`, `arms` and `heat`.
    """

    names: Sequence[str]
    units: ManyArms
    found: MaxT
    alpha: float
    size: float
    sign: int
    word: str
    reasons: dict[str, str] = field(default_factory=dict)

    @cached_property
    def order(self) -> list[int]:
        """Numbers of the arms, best mean first."""
        means = self.units.means
        return sorted(range(len(means)), key=lambda arm: (-means[arm], arm))

    @cached_property
    def pairs(self) -> tuple[ComparedPair, ...]:
        """All pairs, in the order of the arms."""
        k, at = len(self.order), self._places
        rows, columns = np.triu_indices(k, 1)
        varies = self.units.squares > 0
        errors = np.where(varies, self.units.errors, 1.0)
        half = np.where(varies, self.found.critical, np.inf) * errors
        p, low = np.full((k, k), np.inf), np.full((k, k), -np.inf)
        gaps, places = np.abs(self.units.differences), at[rows, columns]
        p[rows, columns] = np.where(varies, self.found.adjusted, np.inf)[places]
        # a t that rounding alone puts beyond the critical value is not beyond it
        ends = (gaps - half)[places]
        low[rows, columns] = np.where(p[rows, columns] < self.alpha, ends, np.minimum(ends, 0.0))
        p, low = follow(p, low, self.alpha)
        return tuple(
            self._pair(
                f"pairs.{number}",
                (self.order[row], self.order[column]),
                float(gaps[place]),
                (float(low[row, column]), float((gaps + half)[place])),
                float(self.units.t[place]),
                float(p[row, column]),
            )
            for number, (row, column, place) in enumerate(zip(rows, columns, places, strict=True))
        )

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Where among the pairs two arms stand, by their ranks. Shape (k, k)."""
        k, order = len(self.order), np.array(self.order)
        places = np.zeros((k, k), dtype=np.intp)
        places[self.units.pairs] = places.T[self.units.pairs] = np.arange(len(self.units.pairs[0]))
        return np.asarray(places[np.ix_(order, order)])

    def _pair(
        self, path: str, arms: tuple[int, int], gap: float, ends: tuple[float, float], t: float, p: float
    ) -> ComparedPair:
        why = NO_SPREAD.format(unit=self.word)
        absent = [name for name, value in (("t", t), ("p_value", p)) if not math.isfinite(value)]
        self.reasons.update({f"{path}.{name}": why for name in absent})
        return ComparedPair(
            first=self.names[arms[0]],
            second=self.names[arms[1]],
            difference=gap * self.size,
            ci=self._interval(f"{path}.ci", *ends),
            t=None if "t" in absent else abs(t),
            p_value=None if "p_value" in absent else p,
            apart=p < self.alpha,
        )

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Which arms are told apart, in the order of the arms. Shape (k, k)."""
        return self._square([pair.apart for pair in self.pairs], symmetric=True)

    @cached_property
    def _ahead(self) -> NDArray[np.bool_]:
        """Which arm is told apart from which and ahead of it."""
        return self._square([pair.apart for pair in self.pairs])

    def _square(self, flags: list[bool], *, symmetric: bool = False) -> NDArray[np.bool_]:
        k = len(self.order)
        square = np.zeros((k, k), dtype=bool)
        square[np.triu_indices(k, 1)] = flags
        return square | square.T if symmetric else square

    @cached_property
    def heat(self) -> tuple[tuple[float | None, ...], ...]:
        """How many standard errors the row is ahead of the column, in the order of the arms."""
        k = len(self.order)
        table: list[list[float | None]] = [[0.0] * k for _ in range(k)]
        rows, columns = np.triu_indices(k, 1)
        for row, column, pair in zip(rows, columns, self.pairs, strict=True):
            table[row][column], table[column][row] = pair.t, None if pair.t is None else 0.0 - pair.t
            if pair.t is None:
                self.reasons[f"heat.{row}.{column}"] = NO_SPREAD.format(unit=self.word)
                self.reasons[f"heat.{column}.{row}"] = NO_SPREAD.format(unit=self.word)
        return tuple(tuple(row) for row in table)

    @cached_property
    def arms(self) -> tuple[RankedArm, ...]:
        """The arms with their ranks: better ones are told apart and ahead of an arm, worse ones behind it."""
        k, means, ahead = len(self.order), self.units.means, self._ahead
        low, high = self._gaps
        ranked = []
        for row, arm in enumerate(self.order):
            better = int(ahead[:, row].sum())
            ranked.append(
                RankedArm(
                    name=self.names[arm],
                    mean=float(means[arm]) * self.size * self.sign + 0.0,  # no -0
                    rank=1 + int(np.count_nonzero(means > means[arm])),
                    rank_low=1 + better,
                    rank_high=k - int(ahead[row].sum()),
                    may_be_best=better == 0,
                    gap=self._interval(f"arms.{row}.gap", float(low[row]), float(high[row])),
                )
            )
        return tuple(ranked)

    @cached_property
    def _gaps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of each arm's lead over the best of the others: the least bounds of its pairs. Shapes (k,)."""
        k = len(self.order)
        low, high = np.full((k, k), -np.inf), np.full((k, k), np.inf)
        for row, column, pair in zip(*np.triu_indices(k, 1), self.pairs, strict=True):
            if pair.ci.low is not None:
                low[row, column] = pair.ci.low / self.size
                high[column, row] = -low[row, column]
            if pair.ci.high is not None:
                high[row, column] = pair.ci.high / self.size
                low[column, row] = -high[row, column]
        for square in (low, high):
            np.fill_diagonal(square, np.inf)
        return low.min(axis=1), high.min(axis=1)

    def _interval(self, path: str, low: float, high: float) -> Interval:
        """In score units; an infinite end is null, with its reason."""
        ends: dict[str, float | None] = {}
        why = TOO_FEW.format(count=self.units.n_units, unit=self.word)
        if math.isfinite(self.found.critical):
            why = NO_SPREAD.format(unit=self.word)
        for name, end in (("low", low), ("high", high)):
            ends[name] = None if math.isinf(end) else end * self.size
            if math.isinf(end):
                self.reasons.setdefault(f"{path}.{name}", why)
        return Interval(low=ends["low"], high=ends["high"], level=1 - self.alpha, method="max_t")
