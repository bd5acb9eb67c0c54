"""The cells of n independent binary pairs in which a rule holds, and the chance to land in them.

For m discordant items a row of cells b = 0 .. m is cut where a clause of the rule can change; between
two cuts the rule's truth is one, so a row is a handful of pieces and their chance a difference of
binomial tails. Nothing is approximated: where each cut lies is settled by `stats.cell_lines`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.rule import Clause, Comparison, Operator, Rule, clauses
from service.domain.rules.truth import FREE, TRUE, Sets, combine_sets, compare_sides, comparisons, join_truths
from service.kernels.numeric import binomial
from service.kernels.planning.rule_enumeration import Ints
from service.stats.shared.declaring.cell_lines import ABOVE, BELOW, UNDEFINED, EndLines, Line, Stretch

Lines = Mapping[str, Line | EndLines]
"""By the field's text; a field without a line is free."""


@dataclass(frozen=True, eq=False)
class Region:
    """Rows `m` (rows,), their cuts (rows, pieces + 1) and the truths of each piece (rows, pieces)."""

    n: int
    m: Ints
    cuts: Ints
    truths: Sets

    @property
    def may_pass(self) -> NDArray[np.bool_]:
        """Whether a row has a cell in which the rule is not ruled out, (rows,)."""
        return self._any((self.truths & TRUE) != 0)

    @property
    def passes(self) -> NDArray[np.bool_]:
        """Whether a row has a cell in which the rule holds, (rows,)."""
        return self._any(self.truths == TRUE)

    def chance(self, p_only_candidate: float, p_only_baseline: float) -> tuple[float, float]:
        """Return the least and the greatest chance that the rule holds; they differ where a field is free."""
        discordant = p_only_candidate + p_only_baseline
        if discordant <= 0:
            # No item is discordant: the one cell b = 0 of the row m = 0, whatever the share.
            rows, weight = np.flatnonzero(self.m == 0), np.ones(1)
            share = 0.5
        else:
            low, high = binomial.window(self.n, min(discordant, 1.0))
            rows = np.flatnonzero((self.m >= low) & (self.m <= high))
            weight = binomial.pmf(self.m[rows], self.n, min(discordant, 1.0))
            share = p_only_candidate / discordant
        certain = self._mass(rows, weight, share, self.truths == TRUE)
        free = (self.truths != TRUE) & ((self.truths & TRUE) != 0)
        if not free.any():
            return certain, certain
        return certain, min(certain + self._mass(rows, weight, share, free), 1.0)

    def open_stretch(self) -> tuple[Ints, Ints]:
        """Return for every row the b from the first piece whose truth is not settled to before the end of the last."""
        open_ = (_size(self.truths) > 1) & (self.cuts[:, 1:] > self.cuts[:, :-1])
        some = open_.any(axis=1)
        rows = np.arange(len(self.m))
        first = self.cuts[rows, np.argmax(open_, axis=1)]
        # argmax of booleans is the first that is true: of a row turned round, the last.
        last = self.cuts[rows, open_.shape[1] - np.argmax(open_[:, ::-1], axis=1)]
        return np.where(some, first, 0), np.where(some, last, 0)

    def settled_in(self, cuts: Ints, truths: Sets) -> NDArray[np.bool_]:
        """Tell which pieces of finer cuts lie in pieces that are settled; their truth is filled in."""
        # the last of the coarse cuts at or before each finer one
        piece = (self.cuts[:, None, :-1] <= cuts[:, :-1, None]).sum(axis=2) - 1
        counts = np.take_along_axis(self.truths, piece, axis=1)
        settled: NDArray[np.bool_] = _size(counts) == 1
        truths[settled] = counts[settled]
        return settled

    def _mass(self, rows: Ints, weight: NDArray[np.float64], share: float, of: NDArray[np.bool_]) -> float:
        row, piece = np.nonzero(of[rows] & (self.cuts[rows, 1:] > self.cuts[rows, :-1]))
        at = rows[row]
        chance = binomial.between(self.cuts[at, piece], self.cuts[at, piece + 1], self.m[at], share)
        return min(float(weight[row] @ chance), 1.0)

    def _any(self, of: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray((of & (self.cuts[:, 1:] > self.cuts[:, :-1])).any(axis=1))


def region(rule: Rule, lines: Lines, n: int, m: Ints, fixed: Mapping[Clause, int]) -> Region:
    """Cut the rows `m`. `fixed` holds the truths that clauses can take whatever the cell.

    Costly lines are asked last, and only in the pieces that the others leave open.
    """
    costly = {text for text, line in lines.items() if _costly(line)}
    once = [clause for clause in dict.fromkeys(clauses(rule)) if clause not in fixed]
    later = dict.fromkeys((clause for clause in once if str(clause.field) in costly), FREE)
    cut = _cut(rule, lines, n, m, {**fixed, **later})
    return _cut(rule, lines, n, m, fixed, cut, tuple(later)) if later else cut


def _cut(
    rule: Rule,
    lines: Lines,
    n: int,
    m: Ints,
    fixed: Mapping[Clause, int],
    before: Region | None = None,
    later: tuple[Clause, ...] = (),
) -> Region:
    """Cut by every clause that is not fixed; `before` by the clauses `later`, where it is not settled."""
    once = [clause for clause in dict.fromkeys(clauses(rule)) if clause not in fixed]
    # The ends b = 0 and b = m may stand out of a line's pattern (`Line`), so each is a piece of its own.
    columns = [np.zeros_like(m), np.minimum(m, 1), m, m + 1] if before is None else list(before.cuts.T)
    within = (np.zeros_like(m), m + 1) if before is None else before.open_stretch()
    looks = {clause: [_Look(*part) for part in _parts(clause, lines[str(clause.field)])] for clause in once}
    for clause in once if before is None else later:
        for look in looks[clause]:
            columns += look.cut(m, within)
    cuts = np.sort(np.clip(np.stack(columns, axis=1), 0, (m + 1)[:, None]), axis=1)
    truths = np.zeros((len(m), cuts.shape[1] - 1), dtype=np.uint8)
    settled = truths > 0 if before is None else before.settled_in(cuts, truths)
    row, piece = np.nonzero((cuts[:, 1:] > cuts[:, :-1]) & ~settled)
    b = cuts[row, piece]
    sets: dict[Clause, Sets] = {
        clause: np.full(len(b), possible, dtype=np.uint8) for clause, possible in fixed.items()
    }
    for clause in once:
        sets[clause] = _join(clause, [look.truths(m, row, b) for look in looks[clause]], len(b))
    truths[row, piece] = combine_sets(rule, sets)
    return Region(n, m, cuts, truths)


def truths_of(clause: Clause, line: Line | EndLines, b: Ints, m: Ints) -> Sets:
    """Return a clause's truth in each cell."""
    truths = [
        compare_sides(side.sides(b, m, limit, LEVELS[operator]), operator)
        for side, limit, operator in _parts(clause, line)
    ]
    return _join(clause, truths, len(b))


def _join(clause: Clause, truths: list[Sets], count: int) -> Sets:
    return join_truths(clause, truths) if truths else np.full(count, FREE, dtype=np.uint8)


@dataclass(eq=False)
class _Look:
    """One comparison of one number: cut first, then asked for the pieces."""

    line: Line
    limit: Fraction
    operator: Operator
    stretches: list[Stretch] = field(default_factory=list)

    def cut(self, m: Ints, within: tuple[Ints, Ints]) -> list[Ints]:
        """Return where the truth of the clause changes, as columns of cuts: b at which every m begins a stretch."""
        levels = LEVELS[self.operator]
        if not self.line.patterned:
            return self.line.changes(m, self.limit)
        stretches = [
            stretch for level in levels for stretch in self.line.stretches(m, within, self.limit, level)
        ]
        # a level is reached all along a stretch or from its turn on: nothing has to be asked again
        self.stretches = stretches if len(levels) == 1 else []
        ends = [stretch.high + 1 for stretch in stretches[:-1]]
        return [stretch.turn for stretch in stretches] + ends

    def truths(self, m: Ints, row: Ints, b: Ints) -> Sets:
        """Return the truths in the cells `b` of the rows numbered `row`."""
        sides = np.full(len(b), UNDEFINED, dtype=np.int8)
        ask = np.ones(len(b), dtype=np.bool_)
        for stretch in self.stretches:
            inside, reached = stretch.find_reached(row, b)
            sides[inside] = np.where(reached[inside], ABOVE, BELOW)
            ask &= ~inside
        sides[ask] = self.line.sides(b[ask], m[row[ask]], self.limit, LEVELS[self.operator])
        return compare_sides(sides, self.operator)


LEVELS: dict[Operator, tuple[int, ...]] = {
    ">=": (0,),
    "<": (0,),
    ">": (1,),
    "<=": (1,),
    "==": (0, 1),
    "!=": (0, 1),
}
"""What each comparison has to know of a side: whether the limit is reached (0), exceeded (1), or both."""


def _parts(clause: Clause, line: Line | EndLines) -> list[tuple[Line, Fraction, Operator]]:
    """Return the comparisons that make up a clause, with the line of the number that each compares."""
    if isinstance(line, EndLines) and isinstance(clause, Comparison):
        return []
    ends = (line.low, line.high) if isinstance(line, EndLines) else (line, line)
    return [(ends[end], limit, operator) for end, limit, operator in comparisons(clause)]


def _costly(line: Line | EndLines) -> bool:
    return line.low.costly if isinstance(line, EndLines) else line.costly


def _size(sets: Sets) -> NDArray[np.int64]:
    """Return how many truth values each set holds, by its three bits."""
    return np.asarray((sets & 1) + (sets >> 1 & 1) + (sets >> 2 & 1), dtype=np.int64)
