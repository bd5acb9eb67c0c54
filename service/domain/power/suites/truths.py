"""The truth of a rule about a suite on many data sets at once."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from service.domain.power.holding import clause_holds, rule_holds
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.claims.clauses import meaning_of
from service.domain.rules.feeding import parameter
from service.domain.rules.rule import AnyOf, Clause, Comparison, Not, Rule
from service.domain.rules.settings import Setting
from service.domain.rules.truth import Sets
from service.stats.shared.declaring.shows import TIE, Covers, Estimate, Path, PValue
from service.stats.shared.declaring.suite_sets import SuiteSets


def holding(setting: Setting, sets: SuiteSets) -> NDArray[np.bool_] | None:
    """Tell where the rule holds, (D,); None where one of its fields is not known on such data."""
    return rule_holds(setting, lambda clause: _compute_truth(setting, clause, sets))


def _compute_truth(setting: Setting, clause: Clause, sets: SuiteSets) -> Sets | None:
    """Return in which sets a clause holds; None where it is not simulated."""
    use = setting.use_of(clause)

    def values(path: Path, limit: Fraction) -> NDArray[np.float64] | None:
        if clause.field.test is None:
            return sets.sets.means - sets.threshold
        if use is None or use.beside or use.test.plan is None or use.test.plan.of_tasks is None:
            return None
        return use.test.plan.of_tasks(sets, partial(parameter, use.use), path, float(limit))

    is_p = use is not None and isinstance(meaning_of(use, clause.field.path)[0], PValue)
    return clause_holds(setting, clause, values, lambda _path: 0.0 if is_p else TIE)


def asks_for_more(setting: Setting) -> bool:
    """Tell whether better data never make the rule false: every clause asks for a bound, or a small p, on its side."""
    good = good_direction(setting.endpoint)
    return setting.rule is not None and _asks_for_more(setting, setting.rule, good)


def _asks_for_more(setting: Setting, rule: Rule, good: int) -> bool:
    """Tell whether every clause of a rule holds the more easily the better the candidate is."""
    if isinstance(rule, Not | AnyOf):
        return False
    if not isinstance(rule, Comparison):
        return hasattr(rule, "parts") and all(_asks_for_more(setting, part, good) for part in rule.parts)
    use = setting.use_of(rule)
    more = rule.operator in ((">", ">=") if good > 0 else ("<", "<="))
    if rule.field.test is None:
        return more
    meaning, end = (None, None) if use is None else meaning_of(use, rule.field.path)
    match meaning:
        case Estimate():
            return more
        case Covers():
            return more and end is not None
        case PValue():
            one_sided = rule.field.path[-1] == ("p_above" if good > 0 else "p_below")
            return one_sided and rule.operator in ("<", "<=")
        case _:
            return False
