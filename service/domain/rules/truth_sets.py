"""Which truths a part of a rule can take, for many cells at once: sets of true, false and unknown.

A field that cannot be worked out leaves its clause free. Parts are combined as if they varied on their
own, so a set may be too large and never too small: what it rules out is ruled out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.rule import All, AnyOf, Clause, Not, Operator, Rule
from service.stats.shared.declaring.cell_lines import ABOVE, BELOW, EQUAL, UNDEFINED, Sides

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
    """The truths the whole rule can take, from those of its clauses."""
    match rule:
        case All():
            return _conjunction([combine_sets(part, sets) for part in rule.parts])
        case AnyOf():
            return _negation(_conjunction([_negation(combine_sets(part, sets)) for part in rule.parts]))
        case Not():
            return _negation(combine_sets(rule.part, sets))
        case _:
            return sets[rule]


def compared(sides: Sides, operator: Operator) -> Sets:
    """The truth of `field operator threshold` from the side the field lies on."""
    return TRUTH_BY_SIDE[operator][sides - BELOW]


def both(left: Sets, right: Sets) -> Sets:
    """Of `left and right`."""
    return _conjunction([left, right])


def either(left: Sets, right: Sets) -> Sets:
    """Of `left or right`."""
    return _negation(_conjunction([_negation(left), _negation(right)]))


def _conjunction(parts: list[Sets]) -> Sets:
    """False beats unknown, unknown beats true."""
    truths = parts[0]
    for part in parts[1:]:
        true = truths & part & TRUE
        false = (truths | part) & FALSE
        unknown_left = (truths & UNKNOWN) * (part & (TRUE | UNKNOWN) != 0)
        unknown_right = (part & UNKNOWN) * (truths & TRUE)
        truths = (true | false | unknown_left | unknown_right).astype(np.uint8)
    return truths


def _negation(part: Sets) -> Sets:
    return ((part & UNKNOWN) | (part & TRUE) << 1 | (part & FALSE) >> 1).astype(np.uint8)
