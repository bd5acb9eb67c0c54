"""Where several arms stand: their ranks, the best of them, and every pair. What a leaderboard answers in detail."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.kernels.multiplicity.standings import follow, in_order, tiers
from service.kernels.randomization.max_t import ManyArms, MaxT
from service.kernels.randomization.partial_arms import PartialArms
from service.kernels.suites.many_arms import SuiteArms
from service.records import Record
from service.stats.shared.declaring.common import Interval

NO_SPREAD = "the difference is the same in every {unit}: nothing says how far it could be off"
NO_ERROR = "the difference is the same in every {unit}, so it has no standard error"
TOO_FEW = "{count} {unit}s have too few patterns of signs for this level"
TOO_FEW_SHARED = (
    "both have {count} {unit}s in common, and {least} are needed to be compared beside the other pairs"
)
TOO_FEW_OF_A_TASK = (
    "both have fewer than two {unit}s of some task in common, which tells nothing of its spread"
)
CONTRADICTION = "other pairs, on other items, tell the opposite"
EXACT = "tango"
"""The method of right and wrong: its interval has an exact test beside it."""
Floats = NDArray[np.float64]


RankLow = Annotated[int, Field(description="Best rank that the simultaneous intervals leave open.")]
RankHigh = Annotated[int, Field(description="Worst rank that they leave open.")]
Tier = Annotated[
    int,
    Field(
        description="1: no arm is told apart from it and ahead; of each other tier every arm is behind one of the tier "
        "above. Arms of one tier are not told apart."
    ),
]
MayBeBest = Annotated[bool, Field(description="No other arm is told apart and ahead: `rank_low` is 1.")]


class RankedArm(Record):
    """One arm of the ranking: its mean, its ranks and how sure they are."""

    name: str = Field(description="As sent.")
    mean: float = Field(description="Mean outcome over the items, score units.")
    rank: int = Field(description="1 is the best mean; equal means share the better rank.")
    rank_low: RankLow
    rank_high: RankHigh
    tier: Tier
    may_be_best: MayBeBest
    gap: Interval = Field(
        description="Simultaneous interval of how far the arm is ahead of the best of the others, score units. "
        "Positive: better; below 0 throughout: not the best."
    )


class ComparedPair(Record):
    """Two arms, the one that stands first in the order of the arms first."""

    first: str = Field(description="The arm that stands first.")
    second: str = Field(description="The other one.")
    difference: float | None = Field(
        description="How much better the first is on the items that both have, score units. Below 0 only where gaps "
        "make these items tell otherwise than the order of the arms."
    )
    ci: Interval = Field(description="Simultaneous interval of that difference over all pairs, score units.")
    t: float | None = Field(description="The difference over its standard error.")
    p_value: float | None = Field(
        description="Two-sided, adjusted over all pairs by max-T; of two arms right and wrong McNemar's, exact."
    )
    apart: bool = Field(
        description="p_value < alpha: the simultaneous interval excludes 0, by itself or through an arm in between. Of "
        "two arms right and wrong McNemar's exact test decides, which may not reject where the interval excludes 0."
    )


@dataclass(frozen=True, eq=False)
class Guard:
    """What bounds that know of outcomes not seen leave of pairs. Shapes (P,).

    `p`: adjusted p of every pair, 0 of those they have no say in. `low`, `high`: how far the interval of the first arm
    over the second reaches at the least, in the board's units, NaN likewise; 0 lies between them just where `p` is not
    below the level, but for exact tests. `by_gaps`: pairs left open by what is missing alone, a count. `alone`: the
    method, where these stand instead of the interval of signs, as they do of every pair that signs tell nothing of.
    """

    p: Floats
    low: Floats
    high: Floats
    by_gaps: int = 0
    alone: str | None = None

    @classmethod
    def of_times(cls, p: Floats, gaps: Floats, times: Floats, by_gaps: int = 0) -> Guard:
        """Return the guard whose intervals reach so many times the gap to either side; 0: no say, as of no gap."""
        with np.errstate(invalid="ignore"):
            half = np.where((times > 0) & (gaps != 0), np.abs(gaps) * times, np.nan)
        return cls(p, gaps - half, gaps + half, by_gaps)

    def in_units(self, unit: float) -> Guard:
        """Return the guard in units of the board, `unit` of which make a score unit; below 0 where lower is better."""
        low, high = (self.low, self.high) if unit > 0 else (self.high, self.low)
        return replace(self, low=low * unit, high=high * unit)

    @property
    def weighed(self) -> NDArray[np.bool_]:
        """Which pairs these units have a say in, shape (pairs,)."""
        return ~np.isnan(self.low)


@dataclass(frozen=True, eq=False)
class Standings:
    """Arms in order of their means, and all pairs, with the reasons of what is null.

    `guard` has a say in pairs that `joint` tells apart, and in those it tells nothing of. `units` have better outcomes
    higher. `size`: what a value is multiplied by to be an outcome again; `sign`: -1 where lower outcomes are better.
    `farthest`: how far two arms can differ, in the board's units. `word`: what a unit is called.
    `reasons` is filled by `pairs`, `heat` and `arms`, in this order.
    """

    names: Sequence[str]
    units: ManyArms | PartialArms
    joint: MaxT
    alpha: float
    size: float
    sign: int
    word: str
    reasons: dict[str, str] = field(default_factory=dict)
    guard: Guard | None = None
    farthest: float = math.inf

    @property
    def of_two(self) -> str | None:
        """The method of two arms' own interval; None of more."""
        return None if self.guard is None or len(self.names) > 2 else self.guard.alone

    @property
    def least_p(self) -> float:
        """The least p that so many patterns or draws of signs can give, or McNemar's test of two arms."""
        if self.of_two == EXACT:
            return min(2 * 0.5 ** int(self.units.shared[0]), 1.0)
        return 1 / (self.joint.count + 1)

    @cached_property
    def still(self) -> NDArray[np.bool_]:
        """Pairs that are compared and do not vary. Shape (P,)."""
        return np.asarray((self.units.squares == 0) & ~self.unlike)

    @cached_property
    def unlike(self) -> NDArray[np.bool_]:
        """Pairs that share too little to be compared. Shape (P,)."""
        sparse = self.units.sparse
        return sparse if self.guard is None else np.asarray(sparse & ~self.guard.weighed)

    @cached_property
    def order(self) -> list[int]:
        """Numbers of the arms, best mean first; an arm that is told apart from another and ahead stands before it."""
        return in_order(self.units.means, self._apart)

    @cached_property
    def _bounds(self) -> tuple[Floats, Floats, Floats]:
        """How far every arm (row) is ahead of every other: p, lower bound, and what the pair alone says of that.

        By number of the arms. Shapes (k, k).
        """
        means = self.units.means
        k, (first, second) = len(means), self.units.pairs
        varies = self.units.squares > 0
        half = np.where(varies, self.joint.bars, np.inf) * np.where(varies, self.units.errors, 1.0)
        single = np.where(varies, self.joint.adjusted, np.inf)
        gaps = np.nan_to_num(self.units.differences)
        least, most = gaps - half, gaps + half
        if self.guard is not None:
            single, least, most = self._guard(self.guard, single, least, most)
        least, most = self._within_reach(least), self._within_reach(most)
        # of two equal arms the one that is ordered first
        leads = (gaps > 0) | ((gaps == 0) & (means[first] >= means[second]))
        p, low = np.full((k, k), np.inf), np.full((k, k), -np.inf)
        ahead = np.where(leads, first, second), np.where(leads, second, first)
        p[ahead] = single
        # a t that rounding alone puts beyond the critical value is not beyond it
        ends = np.where(leads, least, -most)
        low[ahead] = np.where(single < self.alpha, ends, np.minimum(ends, 0.0))
        # Turned round: how far the arm behind is ahead of the one before it.
        low[ahead[::-1]] = np.where(leads, -most, least)
        p, reach = follow(p, low, self.alpha)
        return p, self._within_reach(reach), low

    def _within_reach(self, ends: Floats) -> Floats:
        """No further than arms can differ; an end that is not known stays so."""
        return np.where(np.isfinite(ends), np.clip(ends, -self.farthest, self.farthest), ends)

    def _guard(self, guard: Guard, p: Floats, least: Floats, most: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what signs say of pairs, p and ends, with what the guard says. Shapes (P,)."""
        instead = guard.weighed & ((guard.alone is not None) | ~(self.units.squares > 0))
        if self.of_two and self.of_two != EXACT:
            # the p of signs stands where it decides as the interval does
            instead_of_p = instead & ((p < self.alpha) != (guard.p < self.alpha) | np.isinf(p))
        else:
            instead_of_p = instead
        p = np.where(instead_of_p, guard.p, np.where(instead, p, np.maximum(p, guard.p)))
        low = np.where(instead, guard.low, np.fmin(least, guard.low))
        return p, low, np.where(instead, guard.high, np.fmax(most, guard.high))

    @cached_property
    def untested(self) -> bool:
        """Two arms whose interval excludes 0 while the exact test does not reject."""
        guard = self.guard
        if guard is None or self.of_two != EXACT or not guard.weighed.all():
            return False
        return bool(guard.p[0] >= self.alpha and (guard.low[0] > 0 or guard.high[0] < 0))

    @cached_property
    def contradicted(self) -> NDArray[np.bool_]:
        """Which arms other pairs put on both sides of each other, by number: gaps alone can do so. Shape (k, k)."""
        apart = self._bounds[0] < self.alpha
        return np.asarray(apart & apart.T)

    @cached_property
    def _apart(self) -> NDArray[np.bool_]:
        """Which arm is told apart from which and ahead of it, by number. Shape (k, k)."""
        return np.asarray((self._bounds[0] < self.alpha) & ~self.contradicted)

    @cached_property
    def pairs(self) -> tuple[ComparedPair, ...]:
        """All pairs, in the order of the arms."""
        k, order = len(self.order), np.array(self.order)
        rows, columns = np.triu_indices(k, 1)
        first, second = order[rows], order[columns]
        place = np.zeros((k, k), dtype=np.intp)
        place[self.units.pairs] = place.T[self.units.pairs] = np.arange(len(rows))
        places = place[first, second]
        p, low, _ = self._bounds
        if self.untested and self.guard is not None:
            # as a comparison has it; ranks and leads go by the test
            low = low.copy()
            low[0, 1], low[1, 0] = self.guard.low[0], -self.guard.high[0]
        either = np.minimum(p, p.T)[first, second]
        away = np.where(self.contradicted[first, second], np.inf, 0.0)
        facts = zip(
            places.tolist(), first.tolist(), second.tolist(),
            (self.units.differences[places] * np.where(first < second, 1.0, -1.0)).tolist(),
            (low[first, second] - away).tolist(), (away - low[second, first]).tolist(),
            (self.units.t[places] * np.where(first < second, 1.0, -1.0)).tolist(),
            np.where(away > 0, np.inf, either).tolist(), self._apart[first, second].tolist(),
            strict=True,
        )  # fmt: skip
        return tuple(self._pair(number, *fact) for number, fact in enumerate(facts))

    def _pair(
        self, number: int, place: int, first: int, second: int,
        gap: float, low: float, high: float, t: float, p: float, apart: bool,
    ) -> ComparedPair:  # fmt: skip
        """One pair of arms as the answer has it; what is not finite is null, with its reason in `reasons`."""
        path, whole = f"pairs.{number}", math.isfinite(p) and math.isfinite(low) and math.isfinite(high)
        why = "" if whole else self._explain_undefined(place)
        if self.contradicted[first, second]:
            self.reasons[f"{path}.p_value"] = CONTRADICTION
        for name, value in (("difference", gap), ("t", t), ("p_value", p)):
            if not math.isfinite(value):
                self.reasons.setdefault(f"{path}.{name}", why or self._explain_undefined(place))
        return ComparedPair(
            first=self.names[first],
            second=self.names[second],
            difference=gap * self.size + 0.0 if math.isfinite(gap) else None,  # no -0
            ci=self._interval(f"{path}.ci", low, high, self.reasons.get(f"{path}.p_value", why)),
            t=t + 0.0 if math.isfinite(t) else None,
            p_value=p if math.isfinite(p) else None,
            apart=apart,
        )

    def _explain_undefined(self, place: int) -> str:
        """Say why a pair has no statistic, or no end of an interval."""
        if self.units.sparse[place]:
            assert isinstance(self.units, PartialArms)  # noqa: S101 - no pair of whole columns is sparse
            if isinstance(self.units, SuiteArms) and self.units.lone[place]:
                return TOO_FEW_OF_A_TASK.format(unit=self.word)
            count, least = int(self.units.shared[place]), self.units.least_shared
            return TOO_FEW_SHARED.format(count=count, unit=self.word, least=least)
        if self.units.squares[place] > 0:
            return TOO_FEW.format(count=self.units.n_units, unit=self.word)
        guarded = self.guard is not None and bool(self.guard.weighed[place])
        return (NO_ERROR if guarded else NO_SPREAD).format(unit=self.word)

    @cached_property
    def _ahead(self) -> NDArray[np.bool_]:
        """Which arm is told apart from which and ahead of it, in the order of the arms. Shape (k, k)."""
        return np.asarray(self._apart[np.ix_(self.order, self.order)])

    @property
    def apart(self) -> NDArray[np.bool_]:
        """Which arms are told apart, in the order of the arms. Shape (k, k)."""
        return np.asarray(self._ahead | self._ahead.T)

    @cached_property
    def heat(self) -> tuple[tuple[float | None, ...], ...]:
        """How many standard errors the row is ahead of the column, in the order of the arms."""
        k = len(self.order)
        table: list[list[float | None]] = [[0.0] * k for _ in range(k)]
        rows, columns = np.triu_indices(k, 1)
        for number, (row, column, pair) in enumerate(zip(rows, columns, self.pairs, strict=True)):
            # 0.0 - t, and not -t: of 0 that would be -0.
            table[row][column], table[column][row] = pair.t, None if pair.t is None else 0.0 - pair.t
            if pair.t is None:
                why = self.reasons[f"pairs.{number}.t"]
                self.reasons.update({f"heat.{row}.{column}": why, f"heat.{column}.{row}": why})
        return tuple(tuple(row) for row in table)

    @cached_property
    def arms(self) -> tuple[RankedArm, ...]:
        """The arms with their ranks: better ones are told apart and ahead of an arm, worse ones behind it."""
        k, means, ahead = len(self.order), self.units.means, self._ahead
        low, high = self._gaps
        tier = tiers(ahead)
        ranked = []
        for row, arm in enumerate(self.order):
            # Column: who is ahead of this arm; row: whom it is ahead of.
            best, worst = 1 + int(ahead[:, row].sum()), k - int(ahead[row].sum())
            why = next((self._explain_undefined(place) for place in self._of_arm(arm)), "")
            ranked.append(
                RankedArm(
                    name=self.names[arm],
                    mean=float(means[arm]) * self.size * self.sign + 0.0,  # no -0
                    rank=min(max(1 + int(np.count_nonzero(means > means[arm])), best), worst),
                    rank_low=best,
                    rank_high=worst,
                    tier=tier[row],
                    may_be_best=best == 1,
                    gap=self._interval(f"arms.{row}.gap", float(low[row]), float(high[row]), why),
                )
            )
        return tuple(ranked)

    def _of_arm(self, arm: int) -> Iterator[int]:
        """Yield the places of an arm's pairs that leave an end of its lead open."""
        first, second = self.units.pairs
        of_it = np.flatnonzero((first == arm) | (second == arm))
        low = self._bounds[1]
        yield from (int(place) for place in of_it if np.isinf(low[first[place], second[place]]))

    @cached_property
    def _gaps(self) -> tuple[Floats, Floats]:
        """Bounds of each arm's lead over the best of the others: the least bounds of its pairs. Shapes (k,)."""
        low = np.where(self.contradicted, -np.inf, self._bounds[1])[np.ix_(self.order, self.order)]
        high = -low.T
        for square in (low, high):
            np.fill_diagonal(square, np.inf)
        return low.min(axis=1), high.min(axis=1)

    def _interval(self, path: str, low: float, high: float, why: str) -> Interval:
        """In score units; an infinite end is null, with its reason."""
        ends: dict[str, float | None] = {}
        for name, end in (("low", low), ("high", high)):
            ends[name] = None if math.isinf(end) else end * self.size
            if math.isinf(end):
                self.reasons.setdefault(f"{path}.{name}", why or CONTRADICTION)
        method = self.of_two or "max_t"
        return Interval(low=ends["low"], high=ends["high"], level=1 - self.alpha, method=method)
