"""The truth of a clause on many data sets at once, and the comparisons that it consists of.

A verdict reads one data set, power some thousands, enumeration every cell of two counts: all of them ask here which
numbers a clause compares with which limits, and how these comparisons are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.rule import Clause, Comparison, Excludes, Is, Operator
from service.domain.rules.truth_sets import UNKNOWN, Sets, both, compared, either
from service.stats.shared.declaring.cell_lines import ABOVE, BELOW, EQUAL, UNDEFINED, Sides
from service.stats.shared.declaring.shows import TIE

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
    """The comparisons of single numbers that make up a clause; a truth counts as 0 or 1."""
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
    """The truth of a clause from that of its comparisons: an interval excludes a value above it or below it."""
    return reduce(either if isinstance(clause, Excludes) else both, truths)


def clause_truths(clause: Clause, value: Value) -> Sets:
    """The truth of a clause on every data set.

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
        [compared(sides_of(ends[end], limit, tie), operator) for end, limit, operator in comparisons(clause)],
    )


def sides_of(value: Column, limit: Fraction, tie: float) -> Sides:
    """On which side of a limit numbers lie: exact numbers exactly, floats within `tie` of it count as equal."""
    if value.dtype == object:
        sides = [
            UNDEFINED if each is None else ABOVE if each > limit else BELOW if each < limit else EQUAL
            for each in value
        ]
        return np.array(sides, dtype=np.int8)
    with np.errstate(invalid="ignore"):  # NaN is told apart below
        gap = value - float(limit)
        side = np.where(np.abs(gap) <= tie, EQUAL, np.where(gap > 0, ABOVE, BELOW))
    return np.where(np.isnan(value), UNDEFINED, side).astype(np.int8)
