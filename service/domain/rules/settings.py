"""A plan with its names looked up, once for all that read it: tests, endpoints, populations, and the rules as trees.

A test of a plan may read another endpoint than its hypothesis': "no worse in quality and cheaper" is one rule. Joined
by `and`, such a rule is an intersection-union test: each part at the full level (Berger 1982, Technometrics 24:295).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from typing_extensions import override

from service.domain.plans.items.suite_items import find_population
from service.domain.plans.plan import Plan, TestUse
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.plans.sections.population import Population
from service.domain.plans.sections.suites import Suite
from service.domain.rules.fields import Shape, shape_of
from service.domain.rules.grammar import parse
from service.domain.rules.rule import All, Clause, Rule, clauses, sentence
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

    within: ResolvedPlan = field(repr=False)
    """The plan in which the names were looked up, with its other hypotheses."""
    index: int
    hypothesis: Hypothesis
    population: Population | None
    """Of a suite the items of its tasks, put together."""
    endpoint: Endpoint | None
    rule: Rule | None
    rule_fault: str | None
    uses: dict[str, Use]
    """By test id: those that the rule or `equivalence` names and the register has."""
    clauses: tuple[Clause, ...] = field(init=False, repr=False)
    """The rule's clauses; none when it cannot be read."""

    def __post_init__(self) -> None:
        """List the clauses once: every reading of the rule asks for them."""
        object.__setattr__(self, "clauses", () if self.rule is None else clauses(self.rule))

    @property
    def plan(self) -> Plan:
        """The plan as it is written."""
        return self.within.plan

    @property
    def path(self) -> str:
        """Where the hypothesis stands in the plan."""
        return f"hypotheses[{self.index}]"

    @property
    def sesoi(self) -> Margin | None:
        """The smallest effect of interest of its endpoint, as the plan states it."""
        return (self.plan.sesoi or {}).get(self.hypothesis.endpoint)

    @property
    def reference(self) -> Fraction | None:
        """The number that its arm is held against, a proportion or score units; None where two arms are compared."""
        reference = self.hypothesis.reference
        return None if reference is None else reference.exact()

    @property
    def suite(self) -> Suite | None:
        """The suite that the hypothesis speaks of; None where it speaks of one population."""
        return self.plan.suite(self.hypothesis.population)

    @property
    def tests(self) -> tuple[str, ...]:
        """The ids of the tests that the rule or `equivalence` names, in order of mention, registered or not."""
        test_ids = [*(clause.field.test for clause in self.clauses), self.hypothesis.equivalence]
        return tuple(dict.fromkeys(name for name in test_ids if name is not None))

    @property
    def clustered(self) -> bool:
        """True where the population's items come in clusters."""
        return self.population is not None and self.population.clusters is not None

    def shape(self, clause: Clause) -> Shape | None:
        """Return what the clause's field holds; None when it names nothing known."""
        if clause.field.test is None:
            return "number"
        use = self.uses.get(clause.field.test)
        return None if use is None else shape_of(use.test.analysis, clause.field.path)

    def use_of(self, clause: Clause) -> Use | None:
        """Return the test that a clause asks; None for `delta` and for names that do not resolve."""
        return self.uses.get(clause.field.test or "")

    def endpoint_of(self, use: Use | None) -> Endpoint | None:
        """Return what a test of the rule reads; that of the hypothesis for `delta`."""
        return use.endpoint if use is not None and use.beside else self.endpoint

    def beside(self, clause: Clause) -> bool:
        """Return True for a clause that speaks of another endpoint than the hypothesis'."""
        use = self.use_of(clause)
        return use is not None and use.beside


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedPlan:
    """A plan and its hypotheses, looked up once: it is passed down, so that nobody looks them up again."""

    plan: Plan
    _known: dict[int, Setting] = field(default_factory=dict, init=False, repr=False)
    """What was asked for. Who words one hypothesis of many asks for that one, and each is looked up once."""

    @override
    def __reduce__(self) -> tuple[Callable[[Plan], ResolvedPlan], tuple[Plan]]:
        """In another process names are looked up there: in its own register of tests."""
        return resolve, (self.plan,)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings of all hypotheses, in the plan's order."""
        return tuple(self._at(index) for index in range(len(self.plan.hypotheses or ())))

    def require(self, hypothesis: str) -> Setting:
        """Return the hypothesis with this id, which the plan has."""
        return self._at([one.id for one in self.plan.hypotheses or ()].index(hypothesis))

    def of(self, hypothesis: str) -> Setting | None:
        """Return the hypothesis with this id; None where the plan has none."""
        return None if self.plan.hypothesis(hypothesis) is None else self.require(hypothesis)

    def _at(self, index: int) -> Setting:
        if index not in self._known:
            self._known[index] = _make_setting(self, index, (self.plan.hypotheses or ())[index])
        return self._known[index]


def resolve(plan: Plan) -> ResolvedPlan:
    """Look up every name of a plan. Names that do not resolve are None, and lint says so."""
    return ResolvedPlan(plan)


def find_registered(use: TestUse) -> StatTest[Any, Any] | None:
    """Return the statistical test a plan names; None when the register has no such name and version."""
    try:
        return registry.find(use.test, use.version)
    except ForelockError:
        return None


def _make_setting(within: ResolvedPlan, index: int, hypothesis: Hypothesis) -> Setting:
    """Make the setting of a hypothesis: its rule, or what is wrong with it, and the tests that it uses."""
    plan, rule, fault = within.plan, None, None
    try:
        rule = parse(hypothesis.rule)
    except InvalidData as invalid:
        fault = "; ".join(
            f"{fault.message} ({fault.fix})" if fault.fix else fault.message for fault in invalid.faults
        )
    test_ids = [] if rule is None else [clause.field.test for clause in clauses(rule)]
    return Setting(
        within=within,
        index=index,
        hypothesis=hypothesis,
        population=find_population(plan, hypothesis.population),
        endpoint=plan.endpoint(hypothesis.endpoint),
        rule=rule,
        rule_fault=fault,
        uses={use.use.id: use for use in _uses(plan, hypothesis, {*test_ids, hypothesis.equivalence})},
    )


def _uses(plan: Plan, hypothesis: Hypothesis, named: set[str | None]) -> Iterator[Use]:
    for index, use in enumerate(plan.tests or ()):
        test = find_registered(use) if use.id in named else None
        if test is None:
            continue
        if use.endpoint in (None, hypothesis.endpoint):
            yield Use(index, use, test)
        else:
            yield Use(index, use, test, plan.endpoint(use.endpoint), beside=True)


@dataclass(frozen=True, slots=True)
class Parts:
    """The conjuncts of a rule by the endpoint they speak of; `own` is None where none speaks of the hypothesis' own."""

    own: Rule | None
    others: Mapping[str, Rule]


def other_endpoints(setting: Setting) -> tuple[str, ...]:
    """Return the ids of the other endpoints that the rule speaks of, in order of mention."""
    uses = (setting.use_of(clause) for clause in setting.clauses)
    endpoints = (use.use.endpoint for use in uses if use is not None and use.beside)
    return tuple(dict.fromkeys(endpoint for endpoint in endpoints if endpoint is not None))


def parts_of(setting: Setting) -> Parts | None:
    """Split the rule by endpoint; None where it cannot be read, or a conjunct speaks of several endpoints."""
    if setting.rule is None:
        return None
    parts: dict[str | None, list[Rule]] = {}
    for part in setting.rule.parts if isinstance(setting.rule, All) else (setting.rule,):
        about = {_endpoint(setting, clause) for clause in clauses(part)}
        if len(about) > 1:
            return None
        parts.setdefault(about.pop(), []).append(part)
    own = parts.pop(None, [])
    return Parts(_join(own) if own else None, {str(name): _join(group) for name, group in parts.items()})


def _endpoint(setting: Setting, clause: Clause) -> str | None:
    use = setting.use_of(clause)
    return use.use.endpoint if use is not None and use.beside else None


def _join(parts: list[Rule]) -> Rule:
    return parts[0] if len(parts) == 1 else All(parts=tuple(parts))


def own_part(setting: Setting, rule: Rule) -> Setting:
    """Return the hypothesis with only this part of its rule, in a plan that has it so."""
    return _change(setting, {"rule": sentence(rule)})


def on_endpoint(setting: Setting, endpoint: str) -> Setting:
    """Return the hypothesis as it stands on another endpoint, under what its rule asks there, in a plan that has it so.

    The rule is kept whole where it is no conjunction by endpoint: what it asks there cannot be told apart.
    """
    parts = parts_of(setting)
    rule = None if parts is None else parts.others.get(endpoint)
    return _change(
        setting,
        {
            "endpoint": endpoint,
            "claim": "superiority",
            "equivalence": None,
            "statement": "what the rule asks of another endpoint",
            "rule": setting.hypothesis.rule if rule is None else sentence(rule),
        },
    )


def _change(setting: Setting, update: Mapping[str, object]) -> Setting:
    plan, hypothesis = setting.plan, setting.hypothesis.model_copy(update=update)
    hypotheses = tuple(hypothesis if one.id == hypothesis.id else one for one in plan.hypotheses or ())
    return resolve(plan.model_copy(update={"hypotheses": hypotheses})).settings[setting.index]
