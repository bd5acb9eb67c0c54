"""Whether a rule holds: exact where it can be, three-valued where it cannot be told.

A field that is undefined makes its clause unknown, and Kleene's strong logic carries that up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.clause_truths import Value, clause_truths
from service.domain.rules.rule import All, AnyOf, Clause, Is, Not, Rule
from service.domain.rules.truth_sets import FALSE, TRUE, UNKNOWN
from service.stats.shared.declaring import shows

TIE = shows.TIE
"""A float interval end or difference this close to a threshold counts as equal to it."""

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


def holds(clause: Clause, observed: Observed) -> Truth:
    """The truth of one clause; unknown when what it needs is undefined or of another shape."""
    if observed is None or isinstance(observed, bool) != isinstance(clause, Is):
        return None
    return TRUTH_OF[int(clause_truths(clause, as_value([observed]))[0])]


def as_value(observed: Sequence[Observed]) -> Value:
    """What one field was observed to be, several times: exact numbers stay exact, an undefined one is NaN."""
    if any(isinstance(each, Ends) for each in observed):
        ends = [each if isinstance(each, Ends) else Ends(None, None) for each in observed]
        return _floats([end.low for end in ends]), _floats([end.high for end in ends])
    if all(isinstance(each, (Fraction, int)) and not isinstance(each, bool) for each in observed):
        return np.array(observed, dtype=object)
    return _floats(observed)


def _floats(values: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def told(clause: Clause, observed: Observed, corners: Sequence[Observed]) -> Truth:
    """The truth of one clause, unknown where it is not the same all over what was observed may be."""
    truth = holds(clause, observed)
    return truth if all(holds(clause, corner) is truth for corner in corners) else None
