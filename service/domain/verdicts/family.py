"""The family of a verdict: its p-values with the range of those that are drawn, and how a hypothesis stands in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from service.domain.decision.evidence import Floats, largest_p
from service.domain.decision.family import Family
from service.domain.decision.members import members
from service.domain.plans.plan import Plan
from service.domain.verdicts.joint import JointFamily
from service.domain.verdicts.observed import ObservedEvidence
from service.domain.verdicts.parts import FamilyP


@dataclass(frozen=True, slots=True)
class ObservedFamily:
    """The family under the plan's policy, and under Holm's, which every verdict tells beside it."""

    plan: Plan
    evidence: Mapping[str, ObservedEvidence]
    """By hypothesis."""
    corrected: Family
    holm: Family
    joint: JointFamily | None

    @classmethod
    def of(
        cls, plan: Plan, evidence: Mapping[str, ObservedEvidence], joint: JointFamily | None
    ) -> ObservedFamily:
        """From what every hypothesis shows; `joint`: what the members' shared signs make of it under `max_t`."""
        corrected = Family.of(plan, evidence, joint=_adjusted_by_signs(plan, joint))
        holm = corrected if corrected.policy == "holm" else Family.of(plan, evidence, policy="holm")
        return cls(plan, evidence, corrected, holm, joint)

    def member(self, hypothesis: str) -> FamilyP | None:
        """How a hypothesis stands in the family; None outside it."""
        if hypothesis not in self.holm.names:
            return None
        own = self.evidence[hypothesis]
        column = largest_p(own)
        p = math.nan if column is None else float(column[0, 0])
        known = not math.isnan(p)
        # (C, D) of one number on one data set.
        alone = np.array([[p]])
        adjusted = self.corrected.adjust(hypothesis, alone) if known else alone
        return FamilyP(
            policy=self.corrected.policy,
            size=len(self.holm.names),
            p_value=p if known else None,
            adjusted=float(adjusted[0, 0]) if known else None,
            holm=float(self.holm.adjust(hypothesis, alone)[0, 0]) if known else None,
            reason=own.why_no_p(),
            joint=None if self.joint is None else self.joint.shared,
        )


def _adjusted_by_signs(plan: Plan, joint: JointFamily | None) -> Floats | None:
    """As found, at the least and at the most, (3, 1, m); None where the members share no signs."""
    if joint is None or joint.adjusted is None:
        return None
    return np.array([[[corner[name] for name in members(plan)]] for corner in joint.adjusted])
