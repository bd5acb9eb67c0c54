"""The clause that makes a rule assert its claim, in the rule's own words and units."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from service.domain.checks.rule import rule_findings
from service.domain.checks.stopping import sequential_findings
from service.domain.checks.tests import use_findings
from service.domain.plans.findings import Finding
from service.domain.plans.plan import Plan, TestUse
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.claims.assertion import states
from service.domain.rules.claims.claim import WANTED, Gap, Target
from service.domain.rules.claims.clauses import Reader, denying, weighs_clusters
from service.domain.rules.claims.margins import own_margin
from service.domain.rules.claims.words import level, quantity, write_number
from service.domain.rules.feeding import of_these_items, parameter, takes_clusters
from service.domain.rules.grammar import parse
from service.domain.rules.rule import All, Rule, sentence
from service.domain.rules.settings import Setting, find_registered, resolve
from service.errors import InvalidData
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.registry import StatTest
from service.stats.shared.declaring.shows import ABOVE_ZERO, Bounded, Bounds, Covers, PValue
from service.stats.shared.declaring.shows import Finding as Found


@dataclass(frozen=True, slots=True)
class Mended:
    """A clause to add (None: none is needed), the rule with it, and the test it needs (None: the plan has it)."""

    clause: str | None
    rule: str
    test: str | None = None


def mend(plan: Plan, setting: Setting, gap: Gap, kept: Rule | None) -> Mended | None:
    """Return the first clause that makes what is kept of the rule assert the claim, free of faults."""
    if kept is not None and kept != setting.rule and _asserts(plan, setting, sentence(kept), None):
        return Mended(None, sentence(kept))
    for clause, test in _candidates(plan, setting, gap):
        try:
            rule = _with(kept, parse(clause))
        except (InvalidData, ValueError):
            continue
        if _asserts(plan, setting, rule, test):
            return Mended(clause, rule, None if test is None else json.dumps(test.model_dump(mode="json")))
    return None


def _asserts(plan: Plan, setting: Setting, rule: str, test: TestUse | None) -> bool:
    """Tell whether a rule, with the plan's tests and one more, asserts the claim and has no fault."""
    tests = (*(plan.tests or ()), *([] if test is None else [test]))
    hypothesis = setting.hypothesis.model_copy(update={"rule": rule})
    changed = plan.model_copy(update={"hypotheses": (hypothesis,), "tests": tests})
    (new,) = resolve(changed).settings
    if new.rule is None or any(rule_finding.severity == "error" for rule_finding in rule_findings(new)):
        return False
    target, held = Target.of(new), states(new.rule, Reader.of(new))
    if not held or any(target.gap(facts) is not None for facts in held):
        return False
    return _errors(changed, new) <= _errors(plan, setting)


def _errors(plan: Plan, setting: Setting) -> set[str]:
    """Faults of a plan's tests and looks by code, which no clause brings in or takes away."""
    return {of_test.code for of_test in _of_tests(plan, setting) if of_test.severity == "error"}


def _of_tests(plan: Plan, setting: Setting) -> Iterator[Finding]:
    yield from use_findings(plan, setting)
    yield from sequential_findings(plan, setting)


def _with(rule: Rule | None, clause: Rule) -> str:
    if rule is None:
        return sentence(clause)
    parts = rule.parts if isinstance(rule, All) else (rule,)
    more = clause.parts if isinstance(clause, All) else (clause,)
    return sentence(All(parts=(*parts, *(part for part in more if part not in parts))))


def _candidates(plan: Plan, setting: Setting, gap: Gap) -> Iterator[tuple[str, TestUse | None]]:
    """Clauses in order of preference: of the rule's tests, of the plan's, of one to be added."""
    endpoint, target = setting.endpoint, Target.of(setting)
    if endpoint is None:
        return
    if setting.reference is not None:
        yield from _of_one_arm(plan, setting, target, endpoint)
        return
    sized = target.size is not None
    least = target.good * (target.size or Fraction(0))
    estimate = f"{'>' if target.good == 1 else '<'}{'=' if sized else ''} {quantity(endpoint, least) if sized else 0}"
    sided = _list_sided(setting, target)
    estimates = ["delta", *(f"{name}.delta" for name in _by_cluster(setting))]
    if gap != "bound":
        yield from ((f"{field} {estimate}", None) for field in estimates if gap != "opposite")
        yield from ((clause, None) for clause in sided)
        yield from ((f"{clause} and {field} {estimate}", None) for clause in sided for field in estimates)
        return
    for bound, test in _list_bounds(plan, setting, target):
        yield bound, test
        if sized:
            yield from ((f"{bound} and {field} {estimate}", test) for field in estimates)
        yield from ((f"{bound} and {clause}", test) for clause in sided)


def _of_one_arm(
    plan: Plan, setting: Setting, target: Target, endpoint: Endpoint
) -> Iterator[tuple[str, TestUse | None]]:
    """List clauses that bound what a claim about one arm speaks of by its reference, the rule's tests first."""
    uses = sorted(plan.tests or (), key=lambda use: use.id not in setting.uses)
    known = [(use, test) for use in uses if (test := find_registered(use)) is not None]
    taken = {use.id for use in uses}
    new = [
        (TestUse(id=test.name.replace("-", "_"), test=test.name, version=test.version), test)
        for test in registry.latest().values()
        if test.name.replace("-", "_") not in taken
    ]
    end, operator = ("low", ">=") if target.good == 1 else ("high", "<=")
    reference = level(endpoint, setting.reference or Fraction(0))
    for use, test in (*known, *new):
        if not _fits(test, setting):
            continue
        for path, meaning in ({} if test.plan is None else test.plan.shows).items():
            if isinstance(meaning, Covers) and "*" not in path:
                yield f"{use.id}.{path}.{end} {operator} {reference}", None if use.id in taken else use
            elif isinstance(meaning, Bounded) and meaning.side == target.good:
                yield f"{use.id}.{path} {operator} {reference}", None if use.id in taken else use


def _list_sided(setting: Setting, target: Target) -> list[str]:
    """Return the intervals of tests whose side the observed difference does not tell, on the side of the claim."""
    wanted = WANTED[target.claim] or ABOVE_ZERO
    if target.good == -1:
        wanted = tuple(((-1 if side == 1 else 1), -k) for side, k in wanted)
    reader, margin = Reader.of(setting), target.margin or Fraction(0)
    blamed = {clause.field.test for clause in denying(setting, target, reader)}
    assert setting.endpoint is not None  # noqa: S101 - callers have one
    by_test = [
        next(_list_interval_clauses(use.use, use.test, wanted, margin, setting.endpoint), None)
        for name, use in setting.uses.items()
        if name in blamed
    ]
    clauses = [clause for clause in by_test if clause is not None]
    return [" and ".join(clauses)] if clauses else []


def _by_cluster(setting: Setting) -> Iterator[str]:
    for name, use in setting.uses.items():
        if any(clause.field.test == name and weighs_clusters(use, clause) for clause in setting.clauses):
            yield name


def _list_bounds(plan: Plan, setting: Setting, target: Target) -> Iterator[tuple[str, TestUse | None]]:
    """List clauses that would show a claim, those of tests the plan has first; beside them a test to be added."""
    endpoint = setting.endpoint
    assert endpoint is not None  # noqa: S101 - callers have one
    wanted = WANTED[target.claim] or (() if target.bearing is None else ABOVE_ZERO)
    if target.good == -1:
        wanted = tuple(((-1 if side == 1 else 1), -k) for side, k in wanted)
    uses = sorted(plan.tests or (), key=lambda use: use.id not in setting.uses)
    fit = [(use, test) for use in uses if (test := find_registered(use)) is not None and _fits(test, setting)]
    for use, test in fit:
        yield from ((clause, None) for clause in _tests_of(use, test, wanted))
    for use, test in fit:
        margin = (
            own_margin(use, target.sesoi) or target.margin or (Fraction(0) if wanted == ABOVE_ZERO else None)
        )
        if margin is not None:
            yield from (
                (clause, None) for clause in _list_interval_clauses(use, test, wanted, margin, endpoint)
            )
    taken = {use.id for use in uses}
    for test in registry.latest().values():
        if _fits(test, setting) and test.name.replace("-", "_") not in taken:
            use = TestUse(id=test.name.replace("-", "_"), test=test.name, version=test.version)
            yield from ((clause, use) for clause in _tests_of(use, test, wanted))


def _fits(test: StatTest[Any, Any], setting: Setting) -> bool:
    """Tell whether the test can judge the endpoint, and sees the clusters where there are any."""
    endpoint, population = setting.endpoint, setting.population
    if test.plan is None or endpoint is None or population is None:
        return False
    clustered = population.clusters is not None
    if test.plan.positive and not endpoint.positive:
        return False
    if test.plan.arms not in ("either", 2 if setting.reference is None else 1):
        return False
    if test.plan.tasks != (setting.suite is not None):
        return False
    these = endpoint.estimand == "these_items"
    if of_these_items(test) != these and (these is False or setting.reference is None):
        return False
    return endpoint.collapsed_kind in test.plan.endpoints and takes_clusters(test, population) == clustered


def _tests_of(use: TestUse, test: StatTest[Any, Any], wanted: Bounds) -> Iterator[str]:
    shows = {} if test.plan is None else test.plan.shows
    for path, meaning in shows.items():
        if isinstance(meaning, Found) and meaning.ways == (wanted,):
            yield f"{use.id}.{path} is true"
    for path, meaning in shows.items():
        if isinstance(meaning, PValue) and meaning.ways(lambda name: parameter(use, name)) == (wanted,):
            yield f"{use.id}.{path} < {write_number(Fraction(str(parameter(use, 'alpha'))))}"


def _list_interval_clauses(
    use: TestUse, test: StatTest[Any, Any], wanted: Bounds, margin: Fraction, endpoint: Endpoint
) -> Iterator[str]:
    """List clauses by which a test's intervals show the wanted bounds at a margin."""
    shows = {} if test.plan is None else test.plan.shows
    for path, meaning in shows.items():
        if isinstance(meaning, Covers) and meaning.origin is None and "*" not in path:
            parts = [
                f"{use.id}.{path}.{'low >' if side == 1 else 'high <'} {quantity(endpoint, k * margin)}"
                for side, k in wanted
            ]
            yield " and ".join(parts)
