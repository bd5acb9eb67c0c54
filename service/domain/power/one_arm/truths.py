"""The truth of a rule about one arm on many data sets at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.power.holding import clause_holds, rule_holds
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.claims.clauses import meaning_of
from service.domain.rules.feeding import fields_of_reference, parameter
from service.domain.rules.labelled import takes_labels
from service.domain.rules.rule import Clause, Comparison
from service.domain.rules.settings import Setting, Use
from service.domain.rules.truth import Sets
from service.stats.shared.declaring.one_arm import OneArmSets
from service.stats.shared.declaring.shows import TIE, Bounded, Covers, Estimate, PValue


def holding(setting: Setting, sets: OneArmSets) -> NDArray[np.bool_] | None:
    """Tell where the rule holds, (T,); None where one of its fields is not known on such data."""
    return rule_holds(setting, lambda clause: _compute_truth(setting, clause, sets))


def _compute_truth(setting: Setting, clause: Clause, sets: OneArmSets) -> Sets | None:
    """Return in which sets a clause holds; None where it is not simulated."""
    use, endpoint = setting.use_of(clause), setting.endpoint
    if use is None or endpoint is None or use.test.plan is None or use.test.plan.of_sets is None:
        return None
    if (sets.labelled is not None) != takes_labels(use.test):
        return None
    of_sets, filled = use.test.plan.of_sets, fields_of_reference(use.test, endpoint, setting.reference)
    return clause_holds(
        setting,
        clause,
        lambda path, limit: of_sets(sets, partial(_parameter, use, filled), path, float(limit)),
        lambda path: TIE if path[-1] in ("low", "high", "mean", "value", "estimate") else 0.0,
    )


def _parameter(use: Use, filled: Mapping[str, Any], name: str) -> Any:
    return filled[name] if name in filled else parameter(use.use, name)


def asks_for_more(setting: Setting) -> bool:
    """Tell whether better data never make the rule false: every clause asks for a bound or p on the claim's side."""
    good = good_direction(setting.endpoint)
    return (
        bool(setting.clauses)
        and "not" not in setting.hypothesis.rule.split()
        and all(_asks_for_more(setting, clause, good) for clause in setting.clauses)
    )


def _asks_for_more(setting: Setting, clause: Clause, good: int) -> bool:
    """Tell whether a clause holds the more easily the better the arm is."""
    use = setting.use_of(clause)
    if use is None or not isinstance(clause, Comparison):
        return False
    meaning, end = meaning_of(use, clause.field.path)
    more = clause.operator in ((">", ">=") if good > 0 else ("<", "<="))
    match meaning:
        case Estimate() | Bounded():
            return more
        case Covers():
            return more and end is not None
        case PValue():
            return clause.field.path[-1] == "p_meets" and clause.operator in ("<", "<=")
        case _:
            return False
