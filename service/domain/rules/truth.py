"""Whether a rule holds: exact where it can be, three-valued where it cannot be told, on one data set or on many.

A verdict reads one data set, power some thousands, enumeration every cell of two counts: all of them ask here which
numbers a clause compares with which limits, and how these comparisons are joined. A field that is undefined makes its
clause unknown, and Kleene's strong logic carries that up.

Sets say which truths are possible: true, false and unknown. A field that cannot be worked out leaves its clause free.
Parts are combined as if they varied on their own, so a set may be too large and never too small: what it rules out is
ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.rule import All, AnyOf, Clause, Comparison, Excludes, Is, Not, Operator, Rule
from service.stats.shared.declaring.cell_lines import ABOVE, BELOW, EQUAL, UNDEFINED, Sides
from service.stats.shared.declaring.shows import TIE

Sets = NDArray[np.uint8]

TRUE, FALSE, UNKNOWN = 1, 2, 4
FREE = TRUE | FALSE | UNKNOWN

SIDES = (BELOW, EQUAL, ABOVE, UNDEFINED)

HOLDING: Mapping[Operator, tuple[int, ...]] = {
    ">=": (EQUAL, ABOVE),
    ">": (ABOVE,),
    "<=": (BELOW, EQUAL),
    "<": (BELOW,),
    "==": (EQUAL,),
    "!=": (BELOW, ABOVE),
}
"""The sides of its threshold on which a field makes a comparison true."""

TRUTH_BY_SIDE: Mapping[Operator, Sets] = {
    operator: np.array(
        [UNKNOWN if side == UNDEFINED else TRUE if side in holding else FALSE for side in SIDES],
        dtype=np.uint8,
    )
    for operator, holding in HOLDING.items()
}
"""The same as a table from `BELOW` on: looking up many sides costs less than asking of every one."""


def combine_sets(rule: Rule, sets: Mapping[Clause, Sets]) -> Sets:
    """Return the truths the whole rule can take, from those of its clauses."""
    match rule:
        case All():
            return _conjunction([combine_sets(part, sets) for part in rule.parts])
        case AnyOf():
            return _negation(_conjunction([_negation(combine_sets(part, sets)) for part in rule.parts]))
        case Not():
            return _negation(combine_sets(rule.part, sets))
        case _:
            return sets[rule]


def compare_sides(sides: Sides, operator: Operator) -> Sets:
    """Return the truth of `field operator threshold` from the side the field lies on."""
    return TRUTH_BY_SIDE[operator][sides - BELOW]


def both(left: Sets, right: Sets) -> Sets:
    """Return the truth of `left and right`; unknown where neither side decides."""
    return _conjunction([left, right])


def either(left: Sets, right: Sets) -> Sets:
    """Return the truth of `left or right`; unknown where neither side decides."""
    return _negation(_conjunction([_negation(left), _negation(right)]))


def _conjunction(parts: list[Sets]) -> Sets:
    """False beats unknown, unknown beats true."""
    truths = parts[0]
    for part in parts[1:]:
        # A bit stands for a truth that is possible: true of both makes true, false of either false, and unknown of one
        # makes unknown unless the other is false.
        true = truths & part & TRUE
        false = (truths | part) & FALSE
        unknown_left = (truths & UNKNOWN) * (part & (TRUE | UNKNOWN) != 0)
        unknown_right = (part & UNKNOWN) * (truths & TRUE)
        truths = (true | false | unknown_left | unknown_right).astype(np.uint8)
    return truths


def _negation(part: Sets) -> Sets:
    # TRUE (1) and FALSE (2) change places, UNKNOWN (4) stays.
    return ((part & UNKNOWN) | (part & TRUE) << 1 | (part & FALSE) >> 1).astype(np.uint8)


Column = NDArray[Any]
"""A field on D data sets, shape (D,): floats with NaN where it is undefined, or exact numbers as objects."""
Value = Column | tuple[Column, Column]
"""A field on all data sets; of an interval, both of its ends."""

INTERVALS = {"comparison": (False,), "is": (False,), "excludes": (True,), "within": (False, True)}
"""By kind of clause: whether it is about an interval, a single number, or either."""

LOW: Literal[0] = 0
HIGH: Literal[1] = 1
HALF = Fraction(1, 2)


class Compared(NamedTuple):
    """One comparison of one number."""

    end: Literal[0, 1]
    """Of an interval, `LOW` or `HIGH`; a single number stands for both."""
    limit: Fraction
    operator: Operator


def comparisons(clause: Clause) -> tuple[Compared, ...]:
    """Return the comparisons of single numbers that make up a clause; a truth counts as 0 or 1."""
    if isinstance(clause, Comparison):
        return (Compared(LOW, clause.value.exact(), clause.operator),)
    if isinstance(clause, Excludes):
        limit = clause.value.exact()
        return Compared(LOW, limit, ">"), Compared(HIGH, limit, "<")
    if isinstance(clause, Is):
        return (Compared(LOW, HALF, ">" if clause.value else "<"),)
    low, high = clause.low.exact(), clause.high.exact()
    if clause.closed:
        return Compared(LOW, low, ">="), Compared(HIGH, high, "<=")
    return Compared(LOW, low, ">"), Compared(HIGH, high, "<")


def join_truths(clause: Clause, truths: Sequence[Sets]) -> Sets:
    """Return the truth of a clause from that of its comparisons: an interval excludes a value above it or below it."""
    return reduce(either if isinstance(clause, Excludes) else both, truths)


def clause_truths(clause: Clause, value: Value) -> Sets:
    """Return the truth of a clause on every data set.

    Args:
        clause: of a rule.
        value: its field, shape (D,), or both ends of its interval.

    Returns:
        Shape (D,): unknown where the field is undefined, or of another shape than the clause compares.
    """
    interval = isinstance(value, tuple)
    ends = value if isinstance(value, tuple) else (value, value)
    if interval not in INTERVALS[clause.kind]:
        return np.full(len(ends[0]), UNKNOWN, dtype=np.uint8)
    # differences and interval ends are sums of floats; p-values and counts are compared as they are
    tie = TIE if interval or clause.field.path[-1] in ("delta", "low", "high") else 0.0
    return join_truths(
        clause,
        [
            compare_sides(sides_of(ends[end], limit, tie), operator)
            for end, limit, operator in comparisons(clause)
        ],
    )


def sides_of(value: Column, limit: Fraction, tie: float) -> Sides:
    """Return on which side of a limit numbers lie: exact numbers exactly, floats within `tie` of it count as equal."""
    if value.dtype == object:
        sides = [
            UNDEFINED if number is None else ABOVE if number > limit else BELOW if number < limit else EQUAL
            for number in value
        ]
        return np.array(sides, dtype=np.int8)
    with np.errstate(invalid="ignore"):  # NaN is told apart below
        gap = value - float(limit)
        side = np.where(np.abs(gap) <= tie, EQUAL, np.where(gap > 0, ABOVE, BELOW))
    return np.where(np.isnan(value), UNDEFINED, side).astype(np.int8)


Truth = bool | None
"""True, false, or unknown."""

TRUTH_OF: Mapping[int, Truth] = {TRUE: True, FALSE: False, UNKNOWN: None}
"""By its set, where one truth alone is possible."""
SET_OF: Mapping[Truth, int] = {truth: code for code, truth in TRUTH_OF.items()}


@dataclass(frozen=True, slots=True)
class Ends:
    """An observed interval. None is undefined, an infinity is unbounded."""

    low: float | None
    high: float | None


Observed = Fraction | float | bool | Ends | None
"""What a field turned out to be; None is undefined."""


def combine(rule: Rule, truth_of: Mapping[Clause, Truth]) -> Truth:
    """Combine by Kleene's strong logic over the truth of the clauses; a clause that is not listed is unknown."""
    match rule:
        case All() | AnyOf() | Not():
            return carry_up(rule, lambda part: combine(part, truth_of))
        case _:
            return truth_of.get(rule)


def carry_up(rule: All | AnyOf | Not, truth: Callable[[Rule], Truth]) -> Truth:
    """Return a compound rule's truth from that of its parts."""
    match rule:
        case All():
            return conjunction([truth(part) for part in rule.parts])
        case AnyOf():
            return disjunction([truth(part) for part in rule.parts])
        case Not():
            return negation(truth(rule.part))


def conjunction(truths: list[Truth]) -> Truth:
    """Let false beat unknown, and unknown beat true."""
    if False in truths:
        return False
    return None if None in truths else True


def disjunction(truths: list[Truth]) -> Truth:
    """Let true beat unknown, and unknown beat false."""
    return negation(conjunction([negation(truth) for truth in truths]))


def negation(truth: Truth) -> Truth:
    """Return a truth's opposite; that of what is not known is not known (Kleene's logic of three values)."""
    return None if truth is None else not truth


def holds(clause: Clause, observed: Observed) -> Truth:
    """Return the truth of one clause; unknown when what it needs is undefined or of another shape."""
    if observed is None or isinstance(observed, bool) != isinstance(clause, Is):
        return None
    return TRUTH_OF[int(clause_truths(clause, as_value([observed]))[0])]


def as_value(observed: Sequence[Observed]) -> Value:
    """Return what one field was observed to be, several times: exact numbers stay exact, an undefined one is NaN."""
    if any(isinstance(value, Ends) for value in observed):
        ends = [value if isinstance(value, Ends) else Ends(None, None) for value in observed]
        return _floats([end.low for end in ends]), _floats([end.high for end in ends])
    if all(isinstance(value, (Fraction, int)) and not isinstance(value, bool) for value in observed):
        return np.array(observed, dtype=object)
    return _floats(observed)


def _floats(values: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def holds_throughout(clause: Clause, observed: Observed, corners: Sequence[Observed]) -> Truth:
    """Return the truth of one clause, unknown where it is not the same all over what was observed may be."""
    truth = holds(clause, observed)
    return truth if all(holds(clause, corner) is truth for corner in corners) else None
