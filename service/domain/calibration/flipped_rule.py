"""One rule under flips: what it states, whether counts of discordant items decide it, and then all flips at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from service.domain.calibration.case import Case
from service.domain.decision.members import asks_small_p
from service.domain.power.enumerated.enumerated_rule import EnumeratedRule
from service.domain.rules.feeding import parameter, read_parameters
from service.domain.rules.rule import All, Clause, Comparison, Excludes, clauses
from service.domain.rules.settings import Setting
from service.domain.rules.truth import TRUE
from service.domain.verdicts.outcomes import OK
from service.domain.verdicts.stopping import is_sequential
from service.errors import ForelockError
from service.kernels.numeric import binomial


def by_counts(case: Case, setting: Setting) -> EnumeratedRule | None:
    """Return the rule over all counts of discordant items, where these alone decide it; else None.

    Two flips with as many wins of the candidate then have the same answer, and one judgement does for both.
    """
    endpoint, hypothesis = setting.endpoint, setting.hypothesis
    if setting.rule is None or endpoint is None or setting.population is None or is_sequential(case.plan):
        return None
    if endpoint.kind != "binary" or endpoint.replicates > 1:
        return None
    lacking = any(np.any(cell.statuses != OK) for cell in case.arms(hypothesis))
    if lacking and case.plan.missing not in (None, "exclude_pair"):
        return None  # what is missing is filled by arm, or breaks the plan
    try:  # a draft may have parameters that no test takes
        for use in setting.uses.values():
            read_parameters(use.use)
        rule = EnumeratedRule(setting, (case.plan.sesoi or {}).get(endpoint.id))
        return None if rule.unknown else rule
    except (ForelockError, ValueError):
        return None


def discordant(case: Case, setting: Setting) -> tuple[np.ndarray, np.ndarray, int]:
    """Return where items tell the arms apart, which of them the candidate wins, and all items judged."""
    before, after = case.arms(setting.hypothesis)
    complete = np.all((before.statuses == OK) & (after.statuses == OK), axis=1)
    difference = np.where(complete, after.values[:, 0] - before.values[:, 0], 0.0)
    where = np.flatnonzero(difference)
    return where, difference[where] > 0, int(complete.sum())


def over_all_flips(case: Case, setting: Setting, rule: EnumeratedRule) -> float | None:
    """Return the chance that the rule holds when every item's labels are flipped by a fair coin, exactly.

    The candidate then wins Binomial(m, 1/2) of the m discordant items. None where items do not flip alone.
    """
    if setting.population is None or setting.population.clusters is not None:
        return None
    where, _, n = discordant(case, setting)
    if n == 0:
        return 0.0
    m = np.array([len(where)], dtype=np.int64)
    region = rule.on(n, m)
    pieces = region.cuts[0, 1:] > region.cuts[0, :-1]
    truths = region.truths[0]
    if any(int(truth) & TRUE and int(truth) != TRUE for truth in truths[pieces]):
        return None
    held = pieces & (truths == TRUE)
    chance = binomial.between(region.cuts[0, :-1][held], region.cuts[0, 1:][held], m[0], 0.5)
    return min(float(chance.sum()), 1.0)


def nominal_alpha(setting: Setting) -> float | None:
    """Return the least alpha among the clauses that all have to hold; None where the rule states none."""
    rule = setting.rule
    if rule is None:
        return None
    parts = rule.parts if isinstance(rule, All) else (rule,)
    stated = [
        alpha
        for clause in clauses(rule)
        if clause in parts and (alpha := _alpha(setting, clause)) is not None
    ]
    return float(min(stated)) if stated else None


def _alpha(setting: Setting, clause: Clause) -> Fraction | None:
    if isinstance(clause, Comparison) and asks_small_p(clause):
        return clause.value.exact()
    use = setting.uses.get(clause.field.test or "")
    if isinstance(clause, Excludes) and use is not None and clause.field.path[-1] == "ci":
        level = parameter(use.use, "level")
        return 1 - Fraction(str(level)) if isinstance(level, float) and 0 < level < 1 else None
    return None
