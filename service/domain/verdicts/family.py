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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from service.domain.plans.plan import Hypothesis, MultiplicityPolicy, Plan
from service.domain.rules.fields import Observation, observe
from service.domain.rules.grammar import parse
from service.domain.verdicts.analyses import Analyses, JsonObject
from service.domain.verdicts.joint import JointP
from service.domain.verdicts.members import asks_small_p, is_secondary, members, needs_all, p_clauses
from service.domain.verdicts.parts import FamilyP
from service.kernels.effects import multiplicity
from service.stats.shared.data.pairs import floored
from service.stats.shared.declaring.sentences import bound_text
from service.words import say

__all__ = [
    "CLOSED",
    "Family",
    "asks_small_p",
    "is_secondary",
    "largest_tost_p",
    "members",
    "needs_all",
    "p_clauses",
    "places",
    "two_places",
    "why_uncorrected",
]

CLOSED = ("bonferroni", "holm")
"""Policies that cover both statements about a hypothesis."""

ONE_PLACE = ("superiority", "non_inferiority")
"""Claims whose null is not true together with that of equivalence, but where one share serves both."""

NO_CLAUSE = "the rule has no clause that asks for a small p-value"


Statement = Literal["rule", "equivalence"]


@dataclass(frozen=True, slots=True)
class Family:
    """The p-values of a family before adjustment, in its order."""

    policy: MultiplicityPolicy
    p_values: Mapping[str, float | None]
    reasons: Mapping[str, str]
    equivalence: Mapping[str, float | None] = field(default_factory=dict)
    """Of the equivalence tests that hypotheses name for when their rule is false."""
    two_places: frozenset[str] = frozenset()
    """Hypotheses whose two statements can both be false."""
    joint: JointP | None = None
    """Of `max_t`: what the members' shared signs make of their p-values."""
    corners: tuple[Family, Family] | None = None
    """The same with the least and with the most that drawn p-values may be; None where nothing is drawn."""

    @classmethod
    def of(cls, plan: Plan, analyses: Analyses) -> Family:
        """The family of a plan, from the answers of its tests."""
        found: dict[str, _Span | None] = {}
        reasons: dict[str, str] = {}
        equivalence: dict[str, _Span | None] = {}
        for name in members(plan):
            hypothesis = plan.hypothesis(name)
            if hypothesis is None:
                found[name], reasons[name] = None, say("reasons.unknown_hypothesis")
                continue
            seen = [_p_of(hypothesis, answers) for _, answers in analyses.of_rule(hypothesis)]
            found[name] = _largest([p for p, _ in seen])
            why = next((why for p, why in seen if p is None), None)
            if why is not None:
                reasons[name] = why
            if hypothesis.equivalence is not None:
                equivalence[name] = _tost(each for _, each in analyses.of_fallback(hypothesis))
        policy: MultiplicityPolicy = "none" if plan.multiplicity is None else plan.multiplicity.policy
        value, least, most = (
            cls(
                policy,
                _at(corner, found),
                reasons,
                _at(corner, equivalence),
                two_places(plan),
                None if analyses.joint is None else analyses.joint.at(corner),
            )
            for corner in range(3)
        )
        return value if least == most else replace(value, corners=(least, most))

    def corrects(self, hypothesis: str) -> bool:
        """True when the hypothesis' p-values are adjusted before its rule reads them."""
        return self.policy != "none" and hypothesis in self.p_values

    def corrects_equivalence(self, hypothesis: str) -> bool:
        """True when more than one statement may be made in the family and the policy covers them all."""
        several = len(self.p_values) + len(self.two_places) > 1
        return several and hypothesis in self.p_values and self.policy in CLOSED

    def why_no_equivalence(self, hypothesis: str) -> str | None:
        """Why the equivalence test of a hypothesis cannot decide its outcome; None when it can."""
        places = len(self.p_values) + len(self.two_places)
        return why_uncorrected(self.policy, places) if hypothesis in self.p_values else None

    @property
    def by(self) -> MultiplicityPolicy:
        """The policy that adjusts: Holm's where members that `max_t` needs share no signs."""
        return "holm" if self.policy == "max_t" and not self._shares_signs else self.policy

    @property
    def _shares_signs(self) -> bool:
        return self.joint is not None and self.joint.adjusted is not None

    def adjust(
        self, hypothesis: str, p: float, method: MultiplicityPolicy, statement: Statement = "rule"
    ) -> float:
        """What `p` becomes in the place of that statement about that hypothesis."""
        if method == "none":
            return p
        if method == "max_t":
            if self.joint is not None and self.joint.adjusted is not None:
                return floored(max(p, self.joint.adjusted[hypothesis]), "adjusted", {})
            method = "holm"
        places = self._places(method, hypothesis)
        second = statement == "equivalence" and (hypothesis, "equivalence") in places
        own: tuple[str, Statement] = (hypothesis, "equivalence" if second else "rule")
        places[own] = p
        p_values = np.array([1.0 if each is None else each for each in places.values()])
        adjusted = float(multiplicity.ADJUST[method](p_values)[list(places).index(own)])
        return floored(adjusted, "adjusted", {})

    def _places(self, method: MultiplicityPolicy, asked: str) -> dict[tuple[str, Statement], float | None]:
        """The p-value in every place of the family, in its order; a null counts as 1."""
        found: dict[tuple[str, Statement], float | None] = {}
        for name, p in self.p_values.items():
            found[name, "rule"] = p
            if method not in CLOSED or name not in self.equivalence:
                continue
            other = self.equivalence[name]
            if name in self.two_places:
                found[name, "equivalence"] = other
            elif name != asked:
                found[name, "rule"] = None if p is None or other is None else max(p, other)
        return found

    def read(self, hypothesis: str, seen: Observation) -> Observation:
        """An observed p-value of a hypothesis as its rule is to read it."""
        if self.policy == "none" or not self.corrects(hypothesis) or not isinstance(seen.value, float | int):
            return seen
        adjusted = self.adjust(hypothesis, float(seen.value), self.policy)
        bound = None if seen.bound is None else bound_text(adjusted)
        if not seen.corners and self.corners is None:
            return replace(seen, value=adjusted, bound=bound)
        # an adjusted p grows with every p of its family
        ends = seen.corners or (seen.value, seen.value)
        corners = tuple(
            family.adjust(hypothesis, float(p), self.policy)
            for family, p in zip(self.corners or (self, self), ends, strict=True)
            if isinstance(p, float | int)
        )
        return replace(seen, value=adjusted, bound=bound, corners=corners)

    def member(self, hypothesis: str) -> FamilyP | None:
        """How a hypothesis stands in the family; None outside it."""
        if hypothesis not in self.p_values:
            return None
        p = self.p_values[hypothesis]
        return FamilyP(
            policy=self.policy,
            size=len(self.p_values),
            p_value=p,
            adjusted=p if p is None or self.policy == "none" else self.adjust(hypothesis, p, self.policy),
            holm=None if p is None else self.adjust(hypothesis, p, "holm"),
            reason=self.reasons.get(hypothesis),
            joint=None if self.joint is None else self.joint.shared,
        )


def two_places(plan: Plan) -> frozenset[str]:
    """The hypotheses of the family that may be said to be two things, neither of which excludes the other's error."""
    named = (plan.hypothesis(name) for name in members(plan))
    return frozenset(
        each.id for each in named if each and each.equivalence is not None and each.claim not in ONE_PLACE
    )


def places(plan: Plan) -> int:
    """How many statements the plan's policy shares the error among."""
    closed = plan.multiplicity is not None and plan.multiplicity.policy in CLOSED
    return len(members(plan)) + (len(two_places(plan)) if closed else 0)


def why_uncorrected(policy: MultiplicityPolicy, places: int) -> str | None:
    """Why a policy does not cover equivalence tests asked where rules are false; None where it does."""
    if policy == "none" or policy in CLOSED or places <= 1:
        return None
    return f"the policy `{policy}` does not correct it; `holm` and `bonferroni` do"


def largest_tost_p(answers: Iterable[JsonObject]) -> float | None:
    """The largest p of two one-sided tests, over both sides and all answers; None where one has no such p-values."""
    found = _tost(answers)
    return None if found is None else found[0]


_Span = tuple[float, float, float]
"""A p-value, and the least and the most it may be where it is drawn."""


def _tost(answers: Iterable[JsonObject]) -> _Span | None:
    return _largest(
        [_number(observe(answer, (name,))) for answer in answers for name in ("p_lower", "p_upper")]
    )


def _p_of(hypothesis: Hypothesis, answers: Mapping[str, JsonObject]) -> tuple[_Span | None, str | None]:
    """The largest p of a hypothesis' p-value clauses, or why there is none."""
    found: list[_Span | None] = []
    for clause in p_clauses(parse(hypothesis.rule)):
        answer = answers.get(clause.field.test or "")
        if answer is None:
            return None, "its tests were not computed"
        seen = observe(answer, clause.field.path)
        p = _number(seen)
        if p is None:
            return None, seen.reason or say("reasons.undefined", field=str(clause.field))
        found.append(p)
    return (_largest(found), None) if found else (None, NO_CLAUSE)


def _number(seen: Observation) -> _Span | None:
    value = seen.value
    if isinstance(value, bool) or not isinstance(value, float | int):
        return None
    least, most = [float(corner) for corner in seen.corners if isinstance(corner, float | int)] or (
        value,
        value,
    )
    return float(value), float(least), float(most)


def _largest(found: Sequence[_Span | None]) -> _Span | None:
    """Corner by corner; None where there is none, or one is not known."""
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    value, least, most = (max(each[corner] for each in known) for corner in range(3))
    return value, least, most


def _at(corner: int, spans: Mapping[str, _Span | None]) -> dict[str, float | None]:
    return {name: None if span is None else span[corner] for name, span in spans.items()}
