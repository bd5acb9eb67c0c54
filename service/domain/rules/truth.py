"""Whether a rule holds: exact where it can be, three-valued where it cannot be told.

A field that is undefined makes its clause unknown, and Kleene's strong logic carries that up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from service.domain.rules.rule import (
    All,
    AnyOf,
    Clause,
    Comparison,
    Excludes,
    FieldName,
    Is,
    Not,
    Operator,
    Rule,
    Within,
    clauses,
)
from service.stats.shared.declaring import shows

TIE = shows.TIE
"""A float interval end or difference this close to a threshold counts as equal to it."""

Truth = bool | None
"""True, false, or unknown."""


@dataclass(frozen=True, slots=True)
class Ends:
    """An observed interval. None is undefined, an infinity is unbounded."""

    low: float | None
    high: float | None


Observed = Fraction | float | bool | Ends | None
"""What a field turned out to be; None is undefined."""


def combine(rule: Rule, truth_of: Mapping[Clause, Truth]) -> Truth:
    """Kleene's strong logic over the truth of the clauses; a clause that is not listed is unknown."""
    match rule:
        case All() | AnyOf() | Not():
            return carried_up(rule, lambda part: combine(part, truth_of))
        case _:
            return truth_of.get(rule)


def carried_up(rule: All | AnyOf | Not, truth: Callable[[Rule], Truth]) -> Truth:
    """A compound rule's truth from that of its parts."""
    match rule:
        case All():
            return conjunction([truth(part) for part in rule.parts])
        case AnyOf():
            return disjunction([truth(part) for part in rule.parts])
        case Not():
            return negation(truth(rule.part))


def conjunction(truths: list[Truth]) -> Truth:
    """False beats unknown, unknown beats true."""
    if False in truths:
        return False
    return None if None in truths else True


def disjunction(truths: list[Truth]) -> Truth:
    """True beats unknown, unknown beats false."""
    return negation(conjunction([negation(truth) for truth in truths]))


def negation(truth: Truth) -> Truth:
    """Unknown stays unknown."""
    return None if truth is None else not truth


def evaluate(rule: Rule, fields: Mapping[str, Observed]) -> Truth:
    """The rule's truth, from what its fields turned out to be, by their text (`mcnemar.p_value`)."""
    return combine(rule, {clause: holds(clause, fields.get(str(clause.field))) for clause in clauses(rule)})


def holds(clause: Clause, observed: Observed) -> Truth:
    """The truth of one clause; unknown when what it needs is undefined or of another shape."""
    if observed is None or isinstance(observed, bool) != isinstance(clause, Is):
        return None
    match clause:
        case Is():
            return observed is clause.value
        case Comparison():
            if isinstance(observed, Ends):
                return None
            return _compare(clause.operator, _side(observed, clause.value.exact(), _tie(clause.field)))
        case Excludes():
            return _excludes(clause, observed)
        case Within():
            ends = observed if isinstance(observed, Ends) else None
            tie = TIE if ends else _tie(clause.field)
            low, high = (ends.low, ends.high) if ends else (observed, observed)
            inside = (0, 1) if clause.closed else (1,)
            return conjunction(
                [
                    None if low is None else _side(low, clause.low.exact(), tie) in inside,
                    None if high is None else -_side(high, clause.high.exact(), tie) in inside,
                ]
            )


def told(clause: Clause, observed: Observed, corners: Sequence[Observed]) -> Truth:
    """The truth of one clause, unknown where it is not the same all over what was observed may be."""
    truth = holds(clause, observed)
    return truth if all(holds(clause, corner) is truth for corner in corners) else None


def _excludes(clause: Excludes, observed: Observed) -> Truth:
    if not isinstance(observed, Ends):
        return None
    value = clause.value.exact()
    above = None if observed.low is None else _side(observed.low, value, TIE) > 0
    below = None if observed.high is None else _side(observed.high, value, TIE) < 0
    return disjunction([above, below])


def _tie(field: FieldName) -> float:
    """Differences and interval ends come from floating point and tie; p-values and counts compare plainly."""
    return TIE if field.path[-1] in ("delta", "low", "high") else 0.0


def _side(observed: object, threshold: Fraction, tie: float) -> int:
    """-1, 0 or 1: below, equal or above. Fractions compare exactly, floats as floats."""
    if isinstance(observed, (Fraction, int)):
        return (observed > threshold) - (observed < threshold)
    assert isinstance(observed, float)  # noqa: S101
    distance = observed - float(threshold)
    return 0 if abs(distance) <= tie else 1 if distance > 0 else -1


def _compare(operator: Operator, side: int) -> bool:
    match operator:
        case ">=":
            return side >= 0
        case ">":
            return side > 0
        case "<=":
            return side <= 0
        case "<":
            return side < 0
        case "==":
            return side == 0
        case "!=":
            return side != 0
