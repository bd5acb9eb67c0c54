"""Where a rule holds on many data sets at once, from the truths of its clauses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.domain.rules.truth import TRUE, Sets, combine_sets


def rule_holds(setting: Setting, truths: Callable[[Clause], Sets | None]) -> NDArray[np.bool_] | None:
    """Where the rule holds, (D,); None where there is no rule, or `truths` does not know one of its clauses."""
    if setting.rule is None:
        return None
    known: dict[Clause, Sets] = {}
    for clause in dict.fromkeys(setting.clauses):
        truth = truths(clause)
        if truth is None:
            return None
        known[clause] = truth
    return np.asarray(combine_sets(setting.rule, known) == TRUE)
