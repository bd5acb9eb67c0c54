"""Several hypotheses at once: the family's p-values, and what the plan's policy makes of them.

A rule's clause `test.p_value < alpha` holds under a policy when the adjusted p is below alpha. The
family has one p per hypothesis: the largest of its clauses, since a rule that needs all of them holds
only as often as the weakest does. A clause is adjusted by putting its own p in that place. A
hypothesis without a p, because its results break the plan or its test is undefined, counts as 1.

Where a hypothesis names an equivalence test for when its rule is false, two statements may be made of it, and
both belong to the family. Closed testing with Bonferroni's test of every intersection (Marcus, Peritz &
Gabriel 1976, Biometrika 63:655) needs a share only for nulls that can be true together (Shaffer 1986, J Am
Stat Assoc 81:826). "Not better" (delta <= 0) and "different by the margin" (|delta| >= margin) are both true
only of a candidate worse by the margin, and there a test that finds it better rejects "worse by the
margin" all the more: the two need one share (Morikawa & Yoshida 1995, J Biopharm Stat 5:297). So a
hypothesis of superiority or non-inferiority keeps one place, and holds it with the larger of its two
p-values while another hypothesis is adjusted: Holm's steps go on only past hypotheses of which nothing is
left that could be true. Other claims take two places. Step-up methods, false discovery rates and fixed
sequences have no such argument here: statements in opposite directions are not positively dependent, a
statement left unmade changes the share of false ones, and a sequence goes on past what it has not tested. There
the equivalence test is not corrected, and is no outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.domain.decision.evidence import Bools, Evidence, Fallback, Floats
from service.domain.decision.members import asks_small_p, members, p_clauses
from service.domain.plans.plan import MultiplicityPolicy, Plan
from service.domain.rules.claims.margins import fallback_is_wider
from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.kernels.multiplicity.corrections import ADJUST, independent_max_t
from service.stats.shared.data.pairs import P_FLOOR
from service.words import say

CLOSED = ("bonferroni", "holm")
"""Policies that cover both statements about a hypothesis."""

ONE_PLACE = ("superiority", "non_inferiority")
"""Claims whose null is not true together with that of equivalence, but where one share serves both."""


@dataclass(frozen=True, eq=False)
class Family:
    """The p-values of a family before adjustment, in its order; m hypotheses."""

    policy: MultiplicityPolicy
    names: tuple[str, ...]
    p: Floats
    """(C, D, m); NaN where a hypothesis has none."""
    fallbacks: Mapping[str, Floats] = field(default_factory=dict)
    """Of the equivalence tests that hypotheses name for when their rule is false, (C, D) each."""
    two_places: frozenset[str] = frozenset()
    """Hypotheses whose two statements can both be false."""
    joint: Floats | None = None
    """Under `max_t`: what the members' shared signs make of their p-values, (C, 1, m)."""
    data: NDArray[np.intp] | None = None
    """Under `max_t` on simulated data: a number for the data that each member sees, (m,); others are independent."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        evidence: Mapping[str, Evidence],
        *,
        policy: MultiplicityPolicy | None = None,
        data: NDArray[np.intp] | None = None,
    ) -> Family:
        """Return the family of a plan from what its hypotheses show, by id; `policy` in the place of the plan's."""
        policy = policy or policy_of(plan)
        # Simulated p-values are dear, and nobody asks for them where none is corrected.
        names = members(plan) if policy != "none" else ()
        nothing, columns = np.full((1, 1), np.nan), []
        for name in names:
            # A rule that needs all of its clauses holds only as often as the weakest does: the largest p of them, in
            # every filling; NaN where one is undefined, or not known here.
            clauses = p_clauses(evidence[name].setting) if name in evidence else ()
            ps = [
                evidence[name].p_value(clause, at) for clause in clauses for at in range(evidence[name].ways)
            ]
            known = [p for p in ps if p is not None]
            columns.append(np.maximum.reduce(known) if known and len(known) == len(ps) else nothing)
        p = np.broadcast_arrays(nothing, *columns)[1:]
        fallbacks = {name: evidence[name].fallback for name in names if policy in CLOSED and name in evidence}
        return cls(
            policy,
            names,
            np.stack(p, axis=-1) if p else np.ones((1, 1, 0)),
            {name: fallback.p for name, fallback in fallbacks.items() if fallback is not None},
            two_places(plan),
            data=data,
        )

    def corrects(self, hypothesis: str, clause: Clause) -> bool:
        """Tell whether the rule of a hypothesis reads the p-value that a clause asks for adjusted."""
        return self.policy != "none" and hypothesis in self.names and asks_small_p(clause)

    def adjust(self, hypothesis: str, p: Floats, *, equivalence: bool = False) -> Floats:
        """Return what p-values (C, D) become in the place of the hypothesis, or of its equivalence test; NaN stays."""
        if self.policy == "none":
            return p
        if self.policy == "max_t" and self.joint is not None:
            # a clause's own p may be larger than that of the member's signs, and then it counts
            adjusted = np.maximum(p, self.joint[..., self.names.index(hypothesis)])
        else:
            places, at = self._places(hypothesis, p, equivalence=equivalence)
            adjusted = self._correct(places)[..., at]
        # No p of 0: below the floor a number only says that it is smaller.
        return np.where(np.isnan(p), np.nan, np.maximum(adjusted, P_FLOOR))

    def _correct(self, places: Floats) -> Floats:
        known = np.where(np.isnan(places), 1.0, places)
        if self.policy != "max_t":
            return np.asarray(ADJUST[self.policy](known))
        if self.data is None:  # members that share no signs
            return np.asarray(ADJUST["holm"](known))
        rows = known.reshape(-1, known.shape[-1])
        return independent_max_t(rows, self.data).reshape(known.shape)

    def _places(self, name_of_p: str, p: Floats, *, equivalence: bool) -> tuple[Floats, int]:
        """Return the p-value in every place of the family, (C, D, places), and which of them is asked for."""
        shape = np.broadcast_shapes(p.shape, self.p.shape[:-1])
        columns = [np.broadcast_to(self.p[..., at], shape) for at in range(len(self.names))]
        place = self.names.index(name_of_p)
        for at, name in enumerate(self.names if self.policy in CLOSED else ()):
            other = self.fallbacks.get(name)
            if name in self.two_places:
                if equivalence and name == name_of_p:
                    place = len(columns)
                columns.append(np.broadcast_to(np.ones(()) if other is None else other, shape))
            elif other is not None and name != name_of_p:
                columns[at] = np.maximum(columns[at], other)  # NaN, which counts as 1, where either is
        # Last: the p that is asked for stands in its place, whatever the family had there.
        columns[place] = np.broadcast_to(p, shape)
        return np.stack(columns, axis=-1), place

    def why_uncovered(self, hypothesis: str) -> str | None:
        """Say why the equivalence test of a hypothesis cannot decide its outcome; None when it can."""
        return why_uncorrected(self.policy, self._statements) if hypothesis in self.names else None

    def corrects_equivalence(self, hypothesis: str) -> bool:
        """Tell whether more than one statement may be made in the family and the policy covers them all."""
        return self._statements > 1 and hypothesis in self.names and self.policy in CLOSED

    @property
    def _statements(self) -> int:
        return len(self.names) + len(self.two_places)

    def shows_equivalence(self, setting: Setting, fallback: Fallback) -> Bools:
        """Where the equivalence test beside the rule decides: it counts, and finds equivalence once corrected, (D,)."""
        name = setting.hypothesis.id
        if fallback_is_wider(setting) or self.why_uncovered(name) is not None:
            return np.zeros_like(fallback.holds)
        if not self.corrects_equivalence(name):
            return fallback.holds
        # The p itself; its range is in what the fallback `holds`.
        adjusted = self.adjust(name, fallback.p, equivalence=True)[0]
        return np.asarray(fallback.holds & (adjusted < fallback.alpha))


def policy_of(plan: Plan) -> MultiplicityPolicy:
    """Return what the plan does about several hypotheses."""
    return "none" if plan.multiplicity is None else plan.multiplicity.policy


def two_places(plan: Plan) -> frozenset[str]:
    """The hypotheses of the family that may be said to be two things, neither of which excludes the other's error."""
    hypotheses = (plan.hypothesis(name) for name in members(plan))
    return frozenset(
        hypothesis.id
        for hypothesis in hypotheses
        if hypothesis and hypothesis.equivalence is not None and hypothesis.claim not in ONE_PLACE
    )


def places(plan: Plan) -> int:
    """Return how many statements the plan's policy shares the error among."""
    return len(members(plan)) + (len(two_places(plan)) if policy_of(plan) in CLOSED else 0)


def why_uncorrected(policy: MultiplicityPolicy, places: int) -> str | None:
    """Say why a policy does not cover equivalence tests asked where rules are false; None where it does."""
    if policy == "none" or policy in CLOSED or places <= 1:
        return None
    return say("reasons.policy_does_not_correct", policy=policy)
