"""The least p-values of a family, and the least that its policy makes of each.

Every policy's adjusted p grows with each p of the family, so the policy itself, run on the least p of every
member, gives a bound that no results go below. The equivalence tests beside the rules are left at 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from service.domain.decision.family import Family, two_places
from service.domain.decision.members import members, p_clauses
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import MultiplicityPolicy, Plan
from service.domain.power.attainable.least_p import least_p, size_of
from service.domain.rules.settings import Setting

ROUNDING = Fraction(1, 10**12)
"""What is taken off a float, so that a bound is never above what it bounds."""


@dataclass(frozen=True)
class LeastFamily:
    """A family before any result; `more` clusters or items are added to every population."""

    plan: Plan
    settings: Mapping[str, Setting]
    facts: Mapping[str, ManifestFacts]
    policy: MultiplicityPolicy
    more: int = 0

    @classmethod
    def of(
        cls, plan: Plan, settings: tuple[Setting, ...], facts: Mapping[str, ManifestFacts]
    ) -> LeastFamily | None:
        """Return the family of a plan; None where nothing is corrected."""
        if plan.multiplicity is None or plan.multiplicity.policy == "none":
            return None
        return cls(
            plan, {setting.hypothesis.id: setting for setting in settings}, facts, plan.multiplicity.policy
        )

    def grow(self, more: int) -> LeastFamily:
        """Return this family with more clusters or items in every population."""
        return replace(self, more=more)

    def under(self, policy: MultiplicityPolicy) -> LeastFamily:
        """Return this family under another policy."""
        return replace(self, policy=policy)

    @property
    def other_policies(self) -> tuple[MultiplicityPolicy, ...]:
        """Policies that hold the same error rate over the family and may ask for less."""
        return tuple(policy for policy in ("fixed_sequence",) if policy != self.policy)

    @cached_property
    def family(self) -> Family:
        """The least p of every member of the family."""
        names = members(self.plan)
        fallbacks = {name: np.zeros((1, 1)) for name in names if self._names_equivalence(name)}
        least = np.array([[[self._least(name) for name in names]]])
        return Family(self.policy, names, least, fallbacks, two_places(self.plan))

    def adjust(self, hypothesis: str, least: Fraction, why: str) -> tuple[Fraction, str]:
        """Return a least p of a hypothesis by the policy, and why."""
        if self.policy == "none" or hypothesis not in self.family.names or least == 0:
            return least, why
        if self.policy == "max_t":  # members that are as one cost nothing
            return least, why
        adjusted = float(self.family.adjust(hypothesis, np.array([[float(least)]]))[0, 0])
        bound = Fraction(adjusted) * (1 - ROUNDING)
        if bound <= least:
            return least, why
        size = len(self.family.names)
        return (
            bound,
            f"{why}, and `{self.policy}` over {size} hypotheses makes it at least {float(bound):.4g}",
        )

    def _names_equivalence(self, name: str) -> bool:
        setting = self.settings.get(name)
        return setting is not None and setting.hypothesis.equivalence is not None

    def _least(self, name: str) -> float:
        """Return the least p of a member: that of its p-value clauses which is largest at its least."""
        setting = self.settings.get(name)
        if setting is None or setting.population is None:
            return 0.0
        size = size_of(setting.population, self.facts).grow(self.more)
        uses = [setting.uses.get(p_clause.field.test or "") for p_clause in p_clauses(setting)]
        return max(
            (float(least_p(use, size, setting.population)[0]) for use in uses if use is not None), default=0.0
        )
