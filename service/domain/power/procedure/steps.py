"""The p-values at which a rule or a family's policy can change its mind: between two of them one is like another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from service.domain.decision.members import p_clauses
from service.domain.rules.feeding import parameter
from service.domain.rules.rule import Comparison
from service.domain.rules.settings import Setting, Use


def alpha_of(use: Use) -> Fraction:
    """Return the level of an equivalence test."""
    return Fraction(repr(float(parameter(use.use, "alpha"))))  # type: ignore[arg-type]


def steps_of(chosen: Sequence[Setting], policy: str, many: int) -> tuple[Fraction, ...]:
    """Return every p-value at which an adjusted one can cross a threshold of the rules."""
    levels = {
        clause.value.exact()
        for setting in chosen
        for clause in p_clauses(setting)
        if isinstance(clause, Comparison)
    }
    for setting in chosen:
        use = setting.uses.get(setting.hypothesis.equivalence or "")
        if use is not None and "alpha" in use.test.request.model_fields:
            levels.add(alpha_of(use))
    ranks = range(1, many + 1)
    shares = {Fraction(1)}
    if policy in ("bonferroni", "holm", "hochberg"):
        shares |= {Fraction(1, k) for k in ranks}
    elif policy == "bh":
        shares |= {Fraction(k, many) for k in ranks}
    elif policy == "by":
        harmonic = sum(Fraction(1, k) for k in ranks)
        shares |= {Fraction(k, many) / harmonic for k in ranks}
    elif policy == "hommel":
        shares |= {Fraction(k, j) for j in ranks for k in range(1, j + 1)}
    crossings = {alpha * share for alpha in levels for share in shares}
    if policy == "max_t":  # 1 - (1 - p)^k = alpha
        crossings |= {
            Fraction(-math.expm1(math.log1p(-float(alpha)) / k))
            for alpha in levels
            if alpha < 1
            for k in ranks
        }
    return tuple(sorted(crossing for crossing in crossings if 0 < crossing < 1))
