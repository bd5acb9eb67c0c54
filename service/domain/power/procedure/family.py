"""The family of a plan on simulated data: what its policy makes of p-values, and which fallbacks it lets speak.

As `family.Family`, for many data sets at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.plan import MultiplicityPolicy, Plan
from service.domain.power.enumerated.truth_sets import Sets
from service.domain.power.procedure.data import Side
from service.domain.power.procedure.evidence import Bools, Evidence, Fallback, Floats, alpha_of
from service.domain.power.procedure.fields import clause_truths
from service.domain.rules.claims.margins import fallback_is_wider
from service.domain.rules.rule import Clause, Comparison
from service.domain.rules.settings import Setting
from service.domain.verdicts.family import (
    CLOSED,
    asks_small_p,
    members,
    p_clauses,
    places,
    two_places,
    why_uncorrected,
)
from service.kernels.effects.multiplicity import ADJUST, independent_max_t

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Shares:
    """The family of a plan on simulated data: p-values (T, m), a hypothesis without a p counting as 1."""

    policy: MultiplicityPolicy
    names: tuple[str, ...]
    p: Floats
    steps: tuple[Fraction, ...]
    fallbacks: Mapping[str, Fallback | None]
    two_places: frozenset[str]
    wider: frozenset[str]
    """Whose equivalence test decides nothing, its margin being wider than the SESOI without a reason."""
    data: Ints
    """Which data each hypothesis sees, (m,): under `max_t` the same are alike, and others independent."""

    @classmethod
    def of(cls, plan: Plan, chosen: Sequence[Setting], evidence: Mapping[str, Evidence]) -> Shares:
        """From what each hypothesis shows."""
        policy: MultiplicityPolicy = "none" if plan.multiplicity is None else plan.multiplicity.policy
        names = members(plan) if policy != "none" else ()
        steps = steps_of(chosen, policy, places(plan))
        columns = []
        for name in names:
            setting = next((each for each in chosen if each.hypothesis.id == name), None)
            columns.append(None if setting is None else _largest(setting, evidence[name], steps))
        many = max((len(column) for column in columns if column is not None), default=0)
        p = np.ones((many, len(names)))
        for at, column in enumerate(columns):
            if column is not None:
                p[:, at] = np.where(np.isnan(column), 1.0, column)
        shown = {each.hypothesis.id: evidence[each.hypothesis.id].fallback(steps) for each in chosen}
        wider = frozenset(each.hypothesis.id for each in chosen if fallback_is_wider(plan, each.hypothesis))
        return cls(policy, names, p, steps, shown, two_places(plan), wider, _data(plan, names))

    def truths(self, name: str, clause: Clause, evidence: Evidence, side: Side) -> Sets | None:
        """A clause's truth, on the adjusted p where the policy adjusts it."""
        if name not in self.names or not asks_small_p(clause) or not isinstance(clause, Comparison):
            return evidence.truths(clause, side)
        p = evidence.p_value(clause, self.steps, side)
        if p is None:
            return None
        return clause_truths(clause, np.where(np.isnan(p), np.nan, self._adjusted(name, p)))

    def _adjusted(self, name: str, p: Floats, *, fallback: bool = False) -> Floats:
        """What p-values become in the place of that hypothesis, or of its fallback."""
        at = self.names.index(name)
        columns = self.p.copy()
        extra: list[Floats] = []
        for index, each in enumerate(self.names):
            if self.policy not in CLOSED:
                continue
            shown = self.fallbacks.get(each)
            if each in self.two_places:
                if fallback and each == name:
                    at = len(self.names) + len(extra)
                extra.append(np.ones(len(p)) if shown is None else shown.p)
            elif shown is not None and each != name:
                columns[:, index] = np.maximum(columns[:, index], shown.p)
        both = np.column_stack([columns, *extra])
        both[:, at] = p
        both = np.where(np.isnan(both), 1.0, both)
        if self.policy == "max_t":
            return np.asarray(independent_max_t(both, self.data)[:, at])
        return np.asarray(ADJUST[self.policy](both)[:, at])

    def equivalent(self, name: str) -> Bools | None:
        """Whether the fallback may say `equivalent` where the rule is false; None where it may not."""
        if name in self.wider:
            return None
        own, shared = self.fallbacks.get(name), len(self.names) + len(self.two_places)
        if own is None or name not in self.names or shared == 1:
            return None if own is None else own.holds
        if why_uncorrected(self.policy, shared) is not None:
            return None
        adjusted = self._adjusted(name, own.p, fallback=True)
        return np.asarray(own.holds & (adjusted < float(own.alpha)))


def _data(plan: Plan, names: Sequence[str]) -> Ints:
    """As `Procedure` draws them: the same population, arms and endpoint see the same data."""
    keys = []
    for name in names:
        each = plan.hypothesis(name)
        keys.append(each and (each.population, each.baseline, each.candidate, each.endpoint))
    first = {key: at for at, key in reversed(list(enumerate(keys)))}
    return np.array([first[key] for key in keys], dtype=np.intp)


def _largest(setting: Setting, evidence: Evidence, steps: Sequence[Fraction]) -> Floats | None:
    """The family's p of a hypothesis: the largest of its clauses' and fillings; None where one is not simulated."""
    asked = () if setting.rule is None else p_clauses(setting.rule)
    if any(setting.beside(each) for each in asked):
        return None  # these data are of its own endpoint alone
    found = [evidence.p_value(each, steps, side) for each in asked for side in evidence.sides]
    known = [each for each in found if each is not None]
    return np.asarray(np.maximum.reduce(known)) if found and len(known) == len(found) else None


def steps_of(chosen: Sequence[Setting], policy: str, many: int) -> tuple[Fraction, ...]:
    """Every p-value at which an adjusted one can cross a threshold of the rules."""
    asked = {
        clause.value.exact()
        for setting in chosen
        if setting.rule is not None
        for clause in p_clauses(setting.rule)
        if isinstance(clause, Comparison)
    }
    for setting in chosen:
        use = setting.uses.get(setting.hypothesis.equivalence or "")
        if use is not None and "alpha" in use.test.request.model_fields:
            asked.add(alpha_of(use))
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
    found = {alpha * share for alpha in asked for share in shares}
    if policy == "max_t":  # 1 - (1 - p)^k = alpha
        found |= {
            Fraction(-math.expm1(math.log1p(-float(each)) / k)) for each in asked if each < 1 for k in ranks
        }
    return tuple(sorted(each for each in found if 0 < each < 1))
