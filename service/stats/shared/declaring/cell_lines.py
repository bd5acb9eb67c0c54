"""How a field of an analysis lies to a threshold, for many cells of n paired binary items at once.

A cell is (m discordant items, b of them won by the candidate). A `Line` says on which side of a
threshold its field falls there, and how that side can change along b while m stays: this makes the
cells between two changes one piece. Where arithmetic for many cells comes too near a threshold to
tell, the statistical test itself is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.kernels.planning.rule_enumeration import Floats, Ints, first_true
from service.stats.shared.declaring.shows import TIE

Sides = NDArray[np.int8]
Pattern = Literal["row", "rising", "falling", "peak", "valley", "any"]

BELOW, EQUAL, ABOVE, UNDEFINED = -1, 0, 1, 2

NEIGHBOUR = 12
"""Every such row is searched from scratch, the others from between their neighbours."""

Asker = Callable[[int, int, float], float | None]
"""(b, m, threshold) to what the test itself answers; None is undefined, or a bound above the threshold."""

Levels = tuple[int, ...]
"""What of a side is asked: (0,) whether the threshold is reached, (1,) whether exceeded, (0, 1) both.

Asked one thing, a line answers `ABOVE` for yes and `BELOW` for no, which may cost it half the work.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """For every row the b in [low, high] on which a level is reached from `turn` on, or up to before it."""

    low: Ints
    high: Ints
    turn: Ints
    rises: bool

    def find_reached(self, row: Ints, b: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell which cells lie in the stretch, and of these which reach the level."""
        return (b >= self.low[row]) & (b <= self.high[row]), (b >= self.turn[row]) == self.rises


@dataclass(frozen=True, slots=True)
class Line:
    """A field with one number per cell.

    `pattern`: constant along a `row`, `rising` or `falling` in b, rising to the middle of the row and
    falling after (`peak`), the reverse (`valley`), or `any`. The ends b = 0 and b = m may stand out.
    """

    pattern: Pattern
    sides: Callable[[Ints, Ints, Fraction, Levels], Sides]
    costly: bool = False
    """Worth asking only where the rest of the rule leaves something open."""

    @property
    def patterned(self) -> bool:
        """True where a row has few changes, in known directions."""
        return self.pattern not in ("row", "any")

    def stretches(self, m: Ints, within: tuple[Ints, Ints], threshold: Fraction, level: int) -> list[Stretch]:
        """Return where the side can change in every row, from `within` to before `within`."""
        first, last = np.maximum(within[0], 1), np.minimum(within[1] - 1, m - 1)
        middle = m // 2
        if self.pattern in ("rising", "falling"):
            stretches = [(first, last, self.pattern == "rising")]
        else:
            up = self.pattern == "peak"
            stretches = [(first, np.minimum(middle, last), up), (np.maximum(middle + 1, first), last, not up)]
        return [
            Stretch(low, high, self._turn(m, low, np.maximum(high, low - 1), threshold, level, rises), rises)
            for low, high, rises in stretches
        ]

    def changes(self, m: Ints, threshold: Fraction) -> list[Ints]:
        """Say where the side changes, found without a pattern: every b at which it differs from the one before."""
        return [] if self.pattern == "row" else self._every_change(m, threshold)

    def _turn(self, m: Ints, low: Ints, high: Ints, threshold: Fraction, level: int, rises: bool) -> Ints:
        """Return the first b in [low, high] past the level: every so many rows by bisection, the rest from there."""

        def is_past(rows: Ints, b: Ints) -> NDArray[np.bool_]:
            reached: NDArray[np.bool_] = self.sides(b, m[rows], threshold, (level,)) > BELOW
            return reached if rises else ~reached

        turn = high + 1
        open_ = np.flatnonzero(high >= low)
        # Where a row turns hardly differs from its neighbours: interpolated turns are good guesses to search from.
        some, rest = open_[::NEIGHBOUR], np.delete(open_, np.s_[::NEIGHBOUR])
        turn[some] = first_true(lambda rows, b: is_past(some[rows], b), low[some], high[some])
        if len(rest):
            guess = np.rint(np.interp(m[rest], m[some], turn[some])).astype(np.int64)
            turn[rest] = first_true(lambda rows, b: is_past(rest[rows], b), low[rest], high[rest], guess)
        return turn

    def _every_change(self, m: Ints, threshold: Fraction) -> list[Ints]:
        """By asking every cell: the b of every row's first change of side, of its second, and so on; else 0."""
        columns = np.arange(int(m.max(initial=0)) + 1)
        rows = np.broadcast_to(m[:, None], (len(m), len(columns)))
        inside = columns[None, :] <= rows
        sides = np.full(rows.shape, UNDEFINED, dtype=np.int8)
        b = np.broadcast_to(columns, rows.shape)[inside]
        sides[inside] = self.sides(b, rows[inside], threshold, (0, 1))
        change = np.zeros(rows.shape, dtype=np.bool_)
        change[:, 1:] = (sides[:, 1:] != sides[:, :-1]) & inside[:, 1:]
        most = int(change.sum(axis=1).max(initial=0))
        breaks = np.zeros((len(m), most), dtype=np.int64)
        row, column = np.nonzero(change)
        breaks[row, (np.cumsum(change, axis=1) - 1)[row, column]] = column
        return list(breaks.T)


@dataclass(frozen=True, slots=True)
class EndLines:
    """The two ends of an interval as lines over the cells."""

    low: Line
    high: Line


def count_line(count: Callable[[Ints, Ints], Ints], pattern: Pattern) -> Line:
    """Return a whole number per cell, compared exactly."""

    def sides(b: Ints, m: Ints, threshold: Fraction, levels: Levels) -> Sides:
        counts = count(b, m)
        limit = 2**53
        # A whole number exceeds a threshold just when it exceeds its floor; no count comes near 2^53, and int64 holds
        # that.
        floor = max(min(threshold.numerator // threshold.denominator, limit), -limit)
        equal = (counts == floor) & (threshold.denominator == 1)
        side = np.where(counts > floor, ABOVE, np.where(equal, EQUAL, BELOW)).astype(np.int8)
        return answer_sides(side, levels)

    return Line(pattern, sides)


def answer_sides(side: Sides, levels: Levels) -> Sides:
    """Return yes or no where one thing was asked."""
    if len(levels) == 2:
        return side
    yes = np.where(side >= levels[0], ABOVE, BELOW).astype(np.int8)
    return np.where(side == UNDEFINED, side, yes)


def exact_delta(n: int) -> Line:
    """Return `delta`: (b - c)/n as a fraction."""

    def sides(b: Ints, m: Ints, threshold: Fraction, levels: Levels) -> Sides:
        return count_line(lambda b, m: 2 * b - m, "rising").sides(b, m, threshold * n, levels)

    return Line("rising", sides)


def value_line(
    value: Callable[[Ints, Ints], Floats],
    pattern: Pattern,
    ask: Asker,
    *,
    tie: float = 0.0,
    relative: float = 1e-9,
    absolute: float = 1e-12,
    floor: float | None = None,
    costly: bool = False,
) -> Line:
    """Return a float per cell, NaN where undefined; nearer to the threshold than its error, the test is asked.

    Below `floor` the test gives a bound, which no smaller threshold can be compared with.
    """

    def sides(b: Ints, m: Ints, threshold: Fraction, levels: Levels) -> Sides:
        limit = float(threshold)
        values = value(b, m)
        at_floor = np.zeros(len(values), dtype=np.bool_)
        if floor is not None and limit < floor:
            at_floor = np.abs(values - floor) <= absolute
            values = np.where(values < floor, np.nan, values)
        with np.errstate(invalid="ignore"):
            gap = values - limit
            side = np.where(np.abs(gap) <= tie, EQUAL, np.sign(gap))
            # In doubt is what lies by an edge of the tie: the error of the arithmetic could put it on either side.
            doubtful = np.abs(np.abs(gap) - tie) <= absolute + relative * min(abs(limit), 1.0)
            doubtful |= at_floor
        side = np.where(np.isnan(values), UNDEFINED, side).astype(np.int8)
        for cell in np.flatnonzero(doubtful).tolist():
            side[cell] = side_of(ask(int(b[cell]), int(m[cell]), limit), limit, tie)
        return answer_sides(side, levels)

    return Line(pattern, sides, costly)


def end_line(below: Callable[[Ints, Ints, float], Floats], cut: float, ask: Asker, *, slack: float) -> Line:
    """Return the end of an interval, rising in b, that is found by inverting a function.

    `below(b, m, x)` falls in x, and is above `cut` just when the end lies above x.
    """

    def sides(b: Ints, m: Ints, threshold: Fraction, levels: Levels) -> Sides:
        limit = float(threshold)
        # Ends within TIE of the limit are equal to it, as `side_of` has it.
        over = below(b, m, limit + TIE) - cut
        under = below(b, m, limit - TIE) - cut
        side = np.where(over > 0, ABOVE, np.where(under < 0, BELOW, EQUAL)).astype(np.int8)
        for cell in np.flatnonzero((np.abs(over) <= slack) | (np.abs(under) <= slack)).tolist():
            side[cell] = side_of(ask(int(b[cell]), int(m[cell]), limit), limit, TIE)
        return answer_sides(side, levels)

    return Line("rising", sides)


def side_of(value: float | None, limit: float, tie: float) -> int:
    """Return which side of the limit a value lies on, as `rules.truth` compares a float."""
    if value is None:
        return UNDEFINED
    gap = value - limit
    return EQUAL if abs(gap) <= tie else ABOVE if gap > 0 else BELOW
