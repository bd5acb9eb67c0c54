"""Several hypotheses at once: the family's p-values, and what the plan's policy makes of them.

A rule's clause `test.p_value < alpha` holds under a policy when the adjusted p is below alpha. The
family has one p per hypothesis: the largest of its clauses, since a rule that needs all of them holds
only as often as the weakest does. A clause is adjusted by putting its own p in that place. A
hypothesis without a p, because its results break the plan or its test is undefined, counts as 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from service.domain.analyses import JsonObject
from service.domain.deviation_changes import MultiplicityPolicy
from service.domain.fields import Observation, observe
from service.domain.plan import Hypothesis, Plan
from service.domain.rule import All, Clause, Comparison, Rule, clauses
from service.domain.rule_grammar import parse
from service.domain.verdict_parts import FamilyP
from service.stats.multiple_comparisons import Method, MultipleComparisonsRequest, multiple_comparisons

NO_CLAUSE = "the rule has no clause that asks for a small p-value"


def members(plan: Plan) -> tuple[str, ...]:
    """The hypotheses of the family, in its order: those the plan lists, else all on primary endpoints."""
    if plan.multiplicity is not None and plan.multiplicity.family:
        return plan.multiplicity.family
    return tuple(each.id for each in plan.hypotheses or () if not is_secondary(plan, each))


def is_secondary(plan: Plan, hypothesis: Hypothesis) -> bool:
    """True for a hypothesis on a secondary endpoint."""
    endpoint = plan.endpoint(hypothesis.endpoint)
    return endpoint is not None and endpoint.role == "secondary"


def asks_small_p(clause: Clause) -> bool:
    """True for a clause that a small p-value makes true."""
    return (
        isinstance(clause, Comparison)
        and clause.field.test is not None
        and clause.field.path[-1] == "p_value"
        and clause.operator in ("<", "<=")
    )


def p_clauses(rule: Rule) -> tuple[Clause, ...]:
    """The rule's clauses that ask for a small p-value."""
    return tuple(each for each in clauses(rule) if asks_small_p(each))


def needs_all(rule: Rule) -> bool:
    """True when the rule cannot hold unless every clause that mentions a p-value holds."""
    parts = rule.parts if isinstance(rule, All) else (rule,)
    mentioned = [each for each in clauses(rule) if each.field.path[-1] == "p_value"]
    return all(each in parts and asks_small_p(each) for each in mentioned)


@dataclass(frozen=True, slots=True)
class Family:
    """The p-values of a family before adjustment, in its order."""

    policy: MultiplicityPolicy
    p_values: Mapping[str, float | None]
    reasons: Mapping[str, str]
    corners: tuple[Mapping[str, float | None], Mapping[str, float | None]]
    """The least and the most that the p-values may be: drawn ones are known to a range."""

    @classmethod
    def of(cls, plan: Plan, answers: Mapping[str, Mapping[str, JsonObject]]) -> Family:
        """The family of a plan, from the answers of its tests by hypothesis."""
        found: dict[str, float | None] = {}
        least: dict[str, float | None] = {}
        most: dict[str, float | None] = {}
        reasons: dict[str, str] = {}
        for name in members(plan):
            hypothesis = plan.hypothesis(name)
            (p, least[name], most[name]), why = (
                (NO_P, "no such hypothesis")
                if hypothesis is None
                else _p_of(hypothesis, answers.get(name, {}))
            )
            found[name] = p
            if why is not None:
                reasons[name] = why
        policy: MultiplicityPolicy = "none" if plan.multiplicity is None else plan.multiplicity.policy
        return cls(policy, found, reasons, (least, most))

    def corrects(self, hypothesis: str) -> bool:
        """True when the hypothesis' p-values are adjusted before its rule reads them."""
        return self.policy != "none" and hypothesis in self.p_values

    def adjust(
        self,
        hypothesis: str,
        p: float,
        method: Method,
        among: Mapping[str, float | None] | None = None,
    ) -> float:
        """What `p` becomes in that hypothesis' place."""
        with_it = {**(self.p_values if among is None else among), hypothesis: p}
        request = MultipleComparisonsRequest(p_values=list(with_it.values()), method=method)
        return multiple_comparisons(request).adjusted[list(with_it).index(hypothesis)]

    def read(self, hypothesis: str, seen: Observation) -> Observation:
        """An observed p-value of a hypothesis as its rule is to read it."""
        if self.policy == "none" or not self.corrects(hypothesis) or not isinstance(seen.value, float | int):
            return seen
        adjusted = self.adjust(hypothesis, float(seen.value), self.policy)
        if not seen.corners and self.corners[0] == self.corners[1]:  # nothing was drawn
            return replace(seen, value=adjusted, bound=None if seen.bound is None else f"< {adjusted:g}")
        # an adjusted p grows with every p of its family
        ranges = zip(seen.corners or (seen.value, seen.value), self.corners, strict=True)
        corners = tuple(
            self.adjust(hypothesis, float(p), self.policy, among)
            for p, among in ranges
            if isinstance(p, float | int)
        )
        bound = None if seen.bound is None else f"< {adjusted:g}"
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
        )


NO_P = (None, None, None)


def _p_of(
    hypothesis: Hypothesis, answers: Mapping[str, JsonObject]
) -> tuple[tuple[float | None, float | None, float | None], str | None]:
    """The largest p of a hypothesis' p-value clauses with the least and the most it may be, or why there is none."""
    found = []
    for clause in p_clauses(parse(hypothesis.rule)):
        answer = answers.get(clause.field.test or "")
        if answer is None:
            return NO_P, "its tests were not computed"
        seen = observe(answer, clause.field.path)
        if isinstance(seen.value, bool) or not isinstance(seen.value, float | int):
            return NO_P, seen.reason or f"{clause.field} is undefined"
        least, most = seen.corners or (seen.value, seen.value)
        found.append((seen.value, least, most))
    if not found:
        return NO_P, NO_CLAUSE
    value, least, most = (max(float(each) for each in column) for column in zip(*found, strict=True))
    return (value, least, most), None
