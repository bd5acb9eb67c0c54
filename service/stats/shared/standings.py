"""Where several arms stand: their ranks, the best of them, and every pair. What a leaderboard answers in detail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.max_t import ManyArms, MaxT
from service.kernels.standings import against_the_best
from service.records import Record
from service.stats.shared.common import Interval

NO_SPREAD = "the difference is the same in every {unit}: nothing says how far it could be off"
TOO_FEW = "{count} {unit}s have too few patterns of signs for this level"


class RankedArm(Record):
    """One arm."""

    name: str = Field(description="As sent.")
    mean: float = Field(description="Mean outcome over the items, score units.")
    rank: int = Field(description="1 is the best mean; equal means share the better rank.")
    rank_low: int = Field(description="Best rank that the simultaneous intervals leave open.")
    rank_high: int = Field(description="Worst rank that they leave open.")
    may_be_best: bool = Field(
        description="Not shown to be worse than another arm (Hsu's comparison with the best)."
    )
    gap: Interval = Field(
        description="Constrained interval of how far the arm is ahead of the best of the others, score units; an end "
        "at 0 says that it is not the best, or the best. Positive: better."
    )


class ComparedPair(Record):
    """Two arms, the one with the better mean first."""

    first: str = Field(description="The arm with the better mean.")
    second: str = Field(description="The other one.")
    difference: float = Field(description="How much better the first is, score units; never below 0.")
    ci: Interval = Field(description="Simultaneous interval of that difference over all pairs, score units.")
    t: float | None = Field(description="The difference over its standard error.")
    p_value: float | None = Field(description="Two-sided, adjusted over all pairs by step-down max-T.")
    apart: bool = Field(description="p_value < alpha.")


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
        first, second = self.units.pairs
        at = {(int(i), int(j)): place for place, (i, j) in enumerate(zip(first, second, strict=True))}
        rows = [
            (one, other, at[min(one, other), max(one, other)])
            for row, one in enumerate(self.order)
            for other in self.order[row + 1 :]
        ]
        half = np.where(self.units.squares > 0, self.found.critical, np.inf) * self._finite_errors
        ts = np.abs(self.units.t)
        return tuple(
            self._pair(f"pairs.{number}", one, other, place, float(half[place]), float(ts[place]))
            for number, (one, other, place) in enumerate(rows)
        )

    @cached_property
    def _finite_errors(self) -> NDArray[np.float64]:
        return np.where(self.units.squares > 0, self.units.errors, 1.0)

    def _pair(self, path: str, one: int, other: int, place: int, half: float, t: float) -> ComparedPair:
        gap = abs(float(self.units.differences[place]))
        p: float | None = float(self.found.adjusted[place])
        varies = bool(self.units.squares[place] > 0)
        if not varies:
            p = None
            why = NO_SPREAD.format(unit=self.word)
            self.reasons.update({f"{path}.{name}": why for name in ("t", "p_value", "ci.low", "ci.high")})
        return ComparedPair(
            first=self.names[one],
            second=self.names[other],
            difference=gap * self.size,
            ci=self._interval(f"{path}.ci", gap - half, gap + half, "max_t"),
            t=t if varies else None,
            p_value=p,
            apart=p is not None and p < self.alpha,
        )

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Which arms are told apart, in the order of the arms. Shape (k, k)."""
        return self._square([pair.apart for pair in self.pairs], symmetric=True)

    @cached_property
    def _surely(self) -> NDArray[np.bool_]:
        """Which arm is better than which by the simultaneous intervals."""
        return self._square([pair.ci.low is not None and pair.ci.low > 0 for pair in self.pairs])

    def _square(self, flags: list[bool], *, symmetric: bool = False) -> NDArray[np.bool_]:
        k = len(self.order)
        found = np.zeros((k, k), dtype=bool)
        found[np.triu_indices(k, 1)] = flags
        return found | found.T if symmetric else found

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
        """The arms with their ranks: as many are surely better, or worse, as intervals leave 0 on one side."""
        k, means, surely = len(self.order), self.units.means, self._surely
        best = against_the_best(self.units, self.found.best)
        found = []
        for row, arm in enumerate(self.order):
            rank = 1 + int(np.count_nonzero(means > means[arm]))
            gap = self._interval(f"arms.{row}.gap", float(best.low[arm]), float(best.high[arm]), "hsu_mcb")
            found.append(
                RankedArm(
                    name=self.names[arm],
                    mean=float(means[arm]) * self.size * self.sign,
                    rank=rank,
                    rank_low=1 + int(surely[:, row].sum()),
                    rank_high=k - int(surely[row].sum()),
                    may_be_best=bool(best.possible[arm]),
                    gap=gap,
                )
            )
        return tuple(found)

    def _interval(self, path: str, low: float, high: float, method: str) -> Interval:
        """In score units; an infinite end is null, with its reason."""
        ends: dict[str, float | None] = {}
        for name, end in (("low", low), ("high", high)):
            ends[name] = None if math.isinf(end) else end * self.size
            if math.isinf(end):
                few = math.isinf(self.found.critical)
                why = (
                    TOO_FEW.format(count=self.units.n_units, unit=self.word)
                    if few
                    else NO_SPREAD.format(unit=self.word)
                )
                self.reasons.setdefault(f"{path}.{name}", why)
        return Interval(low=ends["low"], high=ends["high"], level=1 - self.alpha, method=method)
