"""Where a rule holds on many data sets at once, from the truths of its clauses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.domain.rules.truth import (
    HIGH,
    TRUE,
    Sets,
    combine_sets,
    compare_sides,
    comparisons,
    join_truths,
    sides_of,
)
from service.stats.shared.declaring.shows import Path


def rule_holds(setting: Setting, truths: Callable[[Clause], Sets | None]) -> NDArray[np.bool_] | None:
    """Tell where the rule holds, (D,); None where there is no rule, or `truths` does not know one of its clauses."""
    if setting.rule is None:
        return None
    known: dict[Clause, Sets] = {}
    for clause in dict.fromkeys(setting.clauses):
        truth = truths(clause)
        if truth is None:
            return None
        known[clause] = truth
    return np.asarray(combine_sets(setting.rule, known) == TRUE)


def clause_holds(
    setting: Setting,
    clause: Clause,
    values: Callable[[Path, Fraction], NDArray[np.float64] | None],
    tie: Callable[[Path], float],
) -> Sets | None:
    """Return a clause's truth on D data sets, (D,), from the `values` (D,) of its field; None where not known.

    Of an interval both ends are asked for, by `low` and `high` after the field's path, each against its own limit.
    `tie`: how close a value is to its limit when it counts as equal.
    """
    sides: list[Sets] = []
    whole = setting.shape(clause) == "interval"
    for end, limit, operator in comparisons(clause):
        path = (*clause.field.path, "high" if end == HIGH else "low") if whole else clause.field.path
        value = values(path, limit)
        if value is None:
            return None
        sides.append(compare_sides(sides_of(value, limit, tie(path)), operator))
    return join_truths(clause, sides)
