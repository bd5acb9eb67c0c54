"""Bootstrap intervals and shares of binary pairs as lines over the cells: tails of the resampled sum.

With n items, n delta* lives on the integers, so that comparing a percentile with a threshold is comparing
the chance of one integer with the percentile's level; nothing is inverted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.kernels.exact.lattice import QUANTILE_SLACK
from service.kernels.planning.rule_enumeration import Floats, Ints, share_at_most
from service.stats.shared.data.pairs import P_FLOOR
from service.stats.shared.declaring.cell_lines import (
    ABOVE,
    BELOW,
    EQUAL,
    UNDEFINED,
    Asker,
    EndLines,
    Levels,
    Line,
    Pattern,
    Sides,
    answer_sides,
    side_of,
    value_line,
)
from service.stats.shared.declaring.certainty import SIGNS, chance_of_signs
from service.stats.shared.declaring.shows import TIE, Path

UNTOLD = 2e-11
"""Nearer than this to the level, the test is asked which side a percentile lies on."""

FEW = 88
"""With more items than these every difference of a half and more has signs rarer than `SIGNS`."""


@dataclass(frozen=True)
class BootstrapLines:
    """The bootstrap of n binary pairs. Without spread it decides nothing.

    `same`: its p-values count all the same where no item is discordant: a p of 1.
    """

    n: int
    asker: Callable[[Path], Asker]
    strict: bool
    same: bool = True

    def interval(self, path: Path, method: str, level: float) -> Line | EndLines | None:
        """Return the percentile or basic interval, or one end of it."""
        if method not in ("percentile", "basic"):
            return None
        end = path[-1] if path[-1] in ("low", "high") else None
        ends = self.percentiles(path[:-1] if end else path, level, basic=method == "basic")
        return ends if end is None else ends.low if end == "low" else ends.high

    def percentiles(self, path: Path, level: float, *, basic: bool = False) -> EndLines:
        """Return the percentile interval, or 2 delta minus it."""
        tail = (1 - level) / 2
        return EndLines(
            self._quantile((*path, "low"), tail, basic=basic),
            self._quantile((*path, "high"), 1 - tail, basic=basic),
        )

    def p_value(self, path: Path, alternative: str) -> Line:
        """Return P(delta* >= 2 delta), or <=, or both ends."""

        def value(b: Ints, m: Ints) -> Floats:
            d = 2 * b - m
            if alternative == "greater":
                return self._at_least(2 * d, b, m)
            if alternative == "less":
                return self._at_most(2 * d, b, m)
            # the mirror image of a negative difference has the same p
            won = np.where(d >= 0, b, m - b)
            both = self._at_least(2 * np.abs(d), won, m) + self._at_most(np.zeros_like(d), won, m)
            return np.where(d == 0, 1.0, np.minimum(both, 1.0))

        pattern: dict[str, Pattern] = {"greater": "falling", "less": "rising", "two-sided": "peak"}
        side = {"greater": 1, "less": -1, "two-sided": 0}[alternative]
        return self._share(
            path, value, pattern[alternative], self._floor, same=self.same, side=side, tails=1 if side else 2
        )

    def fraction(self, path: Path) -> Line | None:
        """Return the shares of resamples beside 0, and the p-value of the better arm."""

        def better(b: Ints, m: Ints) -> Floats:
            d = 2 * b - m
            return self._at_least(2 * np.abs(d), np.where(d >= 0, b, m - b), m)

        def share(k: int, *, above: bool) -> Callable[[Ints, Ints], Floats]:
            def of(b: Ints, m: Ints) -> Floats:
                at_most = share_at_most(np.full_like(m, k), b, m - b, self.n)
                return 1 - at_most if above else at_most

            return of

        fractions: dict[Path, tuple[Callable[[Ints, Ints], Floats], Pattern]] = {
            ("p_better",): (better, "peak"),
            ("fraction_le_0",): (share(0, above=False), "falling"),
            ("fraction_lt_0",): (share(-1, above=False), "falling"),
            ("fraction_ge_0",): (share(-1, above=True), "rising"),
            ("fraction_gt_0",): (share(0, above=True), "rising"),
        }
        if path not in fractions:
            return None
        value, pattern = fractions[path]
        better_arm = path == ("p_better",)
        if better_arm:
            return self._share(path, value, pattern, self._floor, same=True, side=0)
        return self._share(path, value, pattern, None, same=False)

    def margins(self, name: str, margin: float, *, touch: bool, least: float) -> Line:
        """Return the p-values against -margin and margin; `touch`: a resample at the margin does not count.

        No p is known to be below `least`.
        """
        # n delta* is a whole number: a margin that rounding puts just beside one is at it.
        slack = 1e-9 + 1e-14 * self.n
        reach = self.n * margin

        def upper(b: Ints, m: Ints) -> Floats:
            k = math.floor(reach + slack) + 1 if touch else math.ceil(reach - slack)
            return 1 - share_at_most(np.full_like(m, k - 1), b, m - b, self.n)

        def lower(b: Ints, m: Ints) -> Floats:
            return upper(m - b, m)

        margins: dict[str, tuple[Callable[[Ints, Ints], Floats], Pattern]] = {
            "p_upper": (upper, "rising"),
            "p_lower": (lower, "falling"),
            "p_value": (lambda b, m: np.maximum(upper(b, m), lower(b, m)), "valley"),
        }
        value, pattern = margins[name]
        return self._share((name,), value, pattern, max(self._floor, least), same=self.same)

    @property
    def _floor(self) -> float:
        """No resample is rarer than one item drawn every time."""
        # That one item in all n draws has the chance n^-n.
        return max(float(self.n) ** -self.n, P_FLOOR)

    def _share(
        self,
        path: Path,
        value: Callable[[Ints, Ints], Floats],
        pattern: Pattern,
        floor: float | None,
        *,
        same: bool,
        side: int | None = None,
        tails: int = 1,
    ) -> Line:
        """`side`: of a p-value against no difference, which way it asks; 0: either. `tails`: how many it adds up."""

        def where_decided(b: Ints, m: Ints) -> Floats:
            flat = self.flat(b, m)
            shares = np.where(flat & (m > 0) if same else flat, np.nan, value(b, m))
            # without a difference p is 1, also where resamples at 0 are not counted
            return shares if side is None or not same else np.where(m == 0, 1.0, shares)

        if floor is not None and floor > UNTOLD:  # a handful of items: bounds stand among the values
            pattern = "any"
        few = side is not None and self.n <= FEW
        line = value_line(
            where_decided,
            "any" if few else pattern,
            self.asker(path),
            relative=0,
            absolute=UNTOLD,
            floor=floor,
            costly=True,
        )
        return line if side is None or not few else Line("any", self._beyond(line, side, tails), costly=True)

    def _beyond(self, line: Line, side: int, tails: int) -> Callable[[Ints, Ints, Fraction, Levels], Sides]:
        """Where p lies beyond every resample, a threshold up to the chance of such signs is not told (`certainty`)."""

        def sides(b: Ints, m: Ints, threshold: Fraction, levels: Levels) -> Sides:
            sides = line.sides(b, m, threshold, levels)
            d = 2 * b - m
            far = 2 * np.abs(d) >= self.n if self.strict else 2 * np.abs(d) > self.n
            beyond = np.sign(d) == side if side else d != 0
            signs = chance_of_signs(np.maximum(b, m - b), m)
            most = np.minimum(tails * signs, 1.0)
            above = answer_sides(np.sign(most - float(threshold)).astype(np.int8), levels)
            untold = far & beyond & (np.abs(d) < self.n) & (signs >= SIGNS) & (above > sides)
            # nor is one below what the signs of m that differ show, where these are few
            varied = (m > 0) & (np.abs(d) < self.n) & (0.5 ** m.astype(np.float64) >= SIGNS)
            untold |= varied & (above > sides)
            sides[untold] = UNDEFINED
            return sides

        return sides

    def flat(self, b: Ints, m: Ints) -> NDArray[np.bool_]:
        """Tell in which cells no item differs from another: no spread."""
        return np.asarray((m == 0) | (np.abs(2 * b - m) == self.n))

    def _at_least(self, k: Ints, b: Ints, m: Ints) -> Floats:
        """P(S* >= k), or > k under the strict comparison."""
        return 1 - share_at_most(k if self.strict else k - 1, b, m - b, self.n)

    def _at_most(self, k: Ints, b: Ints, m: Ints) -> Floats:
        return share_at_most(k - 1 if self.strict else k, b, m - b, self.n)

    def _quantile(self, path: Path, q: float, *, basic: bool) -> Line:
        """Return an end of an interval: the percentile at q, or 2 delta minus the one at 1 - q."""
        ask, n = self.asker(path), self.n
        level = (1 - q if basic else q) - QUANTILE_SLACK

        def excess(b: Ints, m: Ints, k: Ints) -> Floats:
            """Return what is above 0 where the percentile at the level is at most k."""
            return share_at_most(k, b, m - b, n) - level

        def sides(b: Ints, m: Ints, threshold: Fraction, levels: Levels) -> Sides:
            limit = float(threshold)
            # j/n is above the limit from `above` on, and below it up to `below`
            above, below = _neighbours(limit, n)
            doubtful = np.zeros(len(b), dtype=np.bool_)
            side = np.full(len(b), EQUAL, dtype=np.int8)
            # A percentile of n delta* exceeds the limit just when P(n delta* <= above - 1) is below its level; an end
            # of the basic interval, 2 delta less the other percentile, just when that percentile is at most 2 n delta -
            # above.
            if 1 in levels:
                over = excess(b, m, 2 * (2 * b - m) - above) if basic else -excess(b, m, _all(m, above - 1))
                side[over > 0] = ABOVE
                doubtful |= np.abs(over) <= UNTOLD
            if 0 in levels:
                end = 2 * (2 * b - m) - below - 1 if basic else _all(m, below)
                under = -excess(b, m, end) if basic else excess(b, m, end)
                side[under > 0] = BELOW
                doubtful |= np.abs(under) <= UNTOLD
            for cell in np.flatnonzero(doubtful).tolist():
                side[cell] = side_of(ask(int(b[cell]), int(m[cell]), limit), limit, TIE)
            side[self.flat(b, m)] = UNDEFINED
            return answer_sides(side, levels)

        return Line("rising", sides, costly=True)


def _all(like: Ints, value: int) -> Ints:
    return np.full_like(like, value)


def _neighbours(limit: float, n: int) -> tuple[int, int]:
    """Return the least whole j with j/n above the limit, and the greatest with j/n below it; a tie is neither."""
    # limit * n is off by far less than 1, so that both neighbours are among these.
    near = range(math.floor(limit * n) - 2, math.floor(limit * n) + 4)
    above = next(j for j in near if j / n - limit > TIE)
    below = next(j for j in reversed(near) if j / n - limit < -TIE)
    return above, below
