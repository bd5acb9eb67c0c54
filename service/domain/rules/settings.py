"""A plan with its names looked up, once for all that read it: tests, endpoints, populations, and the rules as trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from service.domain.plans.plan import Endpoint, Hypothesis, Plan, Population, TestUse
from service.domain.rules.fields import Shape, shape_of
from service.domain.rules.grammar import parse
from service.domain.rules.rule import Clause, Rule, clauses
from service.errors import ForelockError, InvalidData
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Margin
from service.stats.shared.declaring.registry import StatTest


@dataclass(frozen=True, slots=True)
class Use:
    """A test a hypothesis is judged by, and its registration."""

    index: int
    use: TestUse
    test: StatTest[Any, Any]
    endpoint: Endpoint | None = None
    """What it reads, where that is another endpoint than the hypothesis'."""
    beside: bool = False
    """It reads another endpoint than the hypothesis': it says nothing of the hypothesis' effect."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Setting:
    """A hypothesis with what its names stand for; None where a name or the rule does not resolve."""

    plan: Plan = field(repr=False)
    """In which the names were looked up."""
    index: int
    hypothesis: Hypothesis
    population: Population | None
    endpoint: Endpoint | None
    rule: Rule | None
    rule_fault: str | None
    uses: dict[str, Use]
    """By test id: those that the rule or `equivalence` names and the register has."""

    @property
    def path(self) -> str:
        """Where the hypothesis stands in the plan."""
        return f"hypotheses[{self.index}]"

    @property
    def sesoi(self) -> Margin | None:
        """The smallest effect of interest of its endpoint, as the plan states it."""
        return (self.plan.sesoi or {}).get(self.hypothesis.endpoint)

    @property
    def tests(self) -> tuple[str, ...]:
        """The ids of the tests that the rule or `equivalence` names, in order of mention, registered or not."""
        named = [*(clause.field.test for clause in self.clauses), self.hypothesis.equivalence]
        return tuple(dict.fromkeys(each for each in named if each is not None))

    @property
    def clustered(self) -> bool:
        """True where the population's items come in clusters."""
        return self.population is not None and self.population.clusters is not None

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The rule's clauses; none when it cannot be read."""
        return () if self.rule is None else clauses(self.rule)

    def shape(self, clause: Clause) -> Shape | None:
        """What the clause's field holds; None when it names nothing known."""
        if clause.field.test is None:
            return "number"
        use = self.uses.get(clause.field.test)
        return None if use is None else shape_of(use.test.analysis, clause.field.path)

    def use_of(self, clause: Clause) -> Use | None:
        """The test that a clause asks; None for `delta` and for names that do not resolve."""
        return self.uses.get(clause.field.test or "")

    def endpoint_of(self, use: Use | None) -> Endpoint | None:
        """What a test of the rule reads; that of the hypothesis for `delta`."""
        return use.endpoint if use is not None and use.beside else self.endpoint

    def beside(self, clause: Clause) -> bool:
        """True for a clause that speaks of another endpoint than the hypothesis'."""
        use = self.use_of(clause)
        return use is not None and use.beside


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedPlan:
    """A plan and its hypotheses, looked up."""

    plan: Plan
    settings: tuple[Setting, ...]
    """In the plan's order."""

    def of(self, hypothesis: str) -> Setting | None:
        """The hypothesis with this id; None where the plan has none."""
        return next((setting for setting in self.settings if setting.hypothesis.id == hypothesis), None)


def resolve(plan: Plan) -> ResolvedPlan:
    """Look up every name of a plan. Names that do not resolve are None, and lint says so."""
    return ResolvedPlan(plan, settings(plan))


def settings(plan: Plan) -> tuple[Setting, ...]:
    """Every hypothesis of the plan, looked up."""
    return tuple(_setting(plan, index, each) for index, each in enumerate(plan.hypotheses or ()))


def registered(use: TestUse) -> StatTest[Any, Any] | None:
    """The statistical test a plan names; None when the register has no such name and version."""
    try:
        return registry.find(use.test, use.version)
    except ForelockError:
        return None


def _setting(plan: Plan, index: int, hypothesis: Hypothesis) -> Setting:
    rule, fault = None, None
    try:
        rule = parse(hypothesis.rule)
    except InvalidData as invalid:
        fault = "; ".join(
            f"{fault.message} ({fault.fix})" if fault.fix else fault.message for fault in invalid.faults
        )
    named = [] if rule is None else [clause.field.test for clause in clauses(rule)]
    return Setting(
        plan=plan,
        index=index,
        hypothesis=hypothesis,
        population=plan.population(hypothesis.population),
        endpoint=plan.endpoint(hypothesis.endpoint),
        rule=rule,
        rule_fault=fault,
        uses={use.use.id: use for use in _uses(plan, hypothesis, {*named, hypothesis.equivalence})},
    )


def _uses(plan: Plan, hypothesis: Hypothesis, named: set[str | None]) -> Iterator[Use]:
    for index, use in enumerate(plan.tests or ()):
        test = registered(use) if use.id in named else None
        if test is None:
            continue
        if use.endpoint in (None, hypothesis.endpoint):
            yield Use(index, use, test)
        else:
            yield Use(index, use, test, plan.endpoint(use.endpoint), beside=True)
