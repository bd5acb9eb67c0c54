"""What is missing, wrong or risky in a plan, said before it is locked.

Errors block the lock. Warnings are acknowledged by code and kept in the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.checks.assumptions import amounts_findings, assumed_findings, assumption_findings
from service.domain.checks.claim import claim_findings, contradiction_findings
from service.domain.checks.imports import import_findings
from service.domain.checks.populations import population_findings
from service.domain.checks.rule import rule_findings
from service.domain.checks.stopping import sequential_findings, stopping_findings
from service.domain.checks.tests import parameter_findings, use_findings
from service.domain.checks.words import word_findings
from service.domain.lint.level import level_findings
from service.domain.lint.policies import (
    endpoint_findings,
    judge_findings,
    missing_findings,
    multiplicity_findings,
    other_missing_findings,
)
from service.domain.lint.power import power_findings
from service.domain.lint.slices import slice_findings
from service.domain.nearest import nearest
from service.domain.plans.findings import Finding, error
from service.domain.plans.plan import Endpoint, Plan
from service.domain.plans.population import ManifestFacts
from service.domain.power.attainability import attainability_findings
from service.domain.power.least_family import LeastFamily
from service.domain.rules.settings import Setting, registered, settings
from service.domain.rules.truth import TIE
from service.errors import InvalidData
from service.stats.shared.declaring import registry

__all__ = ["Finding", "lint"]

LEAST_SIZE = 1e-6
"""A smallest effect of interest below this would be told from 0 with ties that are a thousandth of it, or more."""


def lint(plan: Plan, facts: Mapping[str, ManifestFacts]) -> tuple[Finding, ...]:
    """Every finding, errors first. `facts` are those of the manifests, by population id."""
    looked_up = settings(plan)
    findings = [
        *_sections(plan),
        *_names(plan),
        *_not_yet(plan),
        *_scales(plan),
        *endpoint_findings(plan),
        *stopping_findings(plan),
        *population_findings(plan, facts),
        *parameter_findings(plan),
        *assumption_findings(plan),
        *amounts_findings(plan),
        *import_findings(plan),
    ]
    family = LeastFamily.of(plan, looked_up, facts)
    for setting in looked_up:
        findings += _hypothesis_names(plan, setting)
        findings += use_findings(plan, setting)
        findings += rule_findings(setting)
        findings += claim_findings(plan, setting)
        findings += missing_findings(plan, setting)
        findings += other_missing_findings(plan, setting)
        findings += multiplicity_findings(plan, setting)
        findings += judge_findings(plan, setting)
        findings += sequential_findings(plan, setting)
        findings += assumed_findings(plan, setting)
        attained = list(attainability_findings(setting, facts, family))
        if not any(each.severity == "error" for each in attained):
            attained += power_findings(plan, facts, setting)
        findings += attained
        if not any(each.code == "RULE_NEVER_PASSES" for each in attained):
            findings += contradiction_findings(setting)
        findings += word_findings(setting)
    findings += level_findings(plan, facts, looked_up)
    findings += slice_findings(plan, facts, looked_up)
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda finding: finding.severity != "error"))


SECTIONS = {
    "title": "give the plan a title",
    "populations": "describe at least one population: id, dataset, n, clusters or independence",
    "hypotheses": "state at least one hypothesis with its population, arms, endpoint and rule",
    "endpoints": "name what is measured, one of them with role 'primary'",
    "tests": "list the statistical tests that rules name: id, test, version, parameters",
    "sesoi": "give every primary endpoint its smallest effect of interest, e.g. {'value': 2, 'unit': 'pp'}",
    "thresholds": "list tuned thresholds, or send [] to say that there are none",
    "stopping": "say when the results are looked at, e.g. {'kind': 'fixed_n'}",
    "missing": "say what a result that is not ok does: 'fail', 'exclude_pair' or 'worst_case'",
    "multiplicity": "say what is done about several hypotheses, e.g. {'policy': 'none', 'family': [...]}",
}


def _sections(plan: Plan) -> Iterator[Finding]:
    for name, way_out in SECTIONS.items():
        value = getattr(plan, name)
        if value is None or (value == () and name != "thresholds"):
            yield error("MISSING_SECTION", name, f"the plan has no {name}: {way_out}")
    if plan.endpoints and not any(endpoint.role == "primary" for endpoint in plan.endpoints):
        yield error("MISSING_SECTION", "endpoints", "no endpoint is primary: give one of them role 'primary'")
    for endpoint in plan.endpoints or ():
        if endpoint.role == "primary" and plan.sesoi is not None and endpoint.id not in plan.sesoi:
            yield error(
                "MISSING_SECTION",
                f"sesoi.{endpoint.id}",
                f"the primary endpoint '{endpoint.id}' has no smallest effect size of interest: add one",
            )


def _names(plan: Plan) -> Iterator[Finding]:
    populations = {population.id for population in plan.populations or ()}
    endpoints = {endpoint.id for endpoint in plan.endpoints or ()}
    hypotheses = {hypothesis.id for hypothesis in plan.hypotheses or ()}
    for index, endpoint in enumerate(plan.endpoints or ()):
        for name in endpoint.populations or ():
            yield from _known("population", name, populations, f"endpoints[{index}].populations")
    for name in plan.sesoi or {}:
        yield from _known("endpoint", name, endpoints, f"sesoi.{name}")
    for index, threshold in enumerate(plan.thresholds or ()):
        if threshold.population is not None:
            yield from _known(
                "population", threshold.population, populations, f"thresholds[{index}].population"
            )
    for name in plan.multiplicity.family if plan.multiplicity else ():
        yield from _known("hypothesis", name, hypotheses, "multiplicity.family")
    for index, use in enumerate(plan.tests or ()):
        if registered(use) is None:
            versions = [str(each.version) for each in registry.every() if each.name == use.test]
            has = (
                f"versions {', '.join(versions)}" if versions else f"the tests {', '.join(registry.latest())}"
            )
            path = f"tests[{index}].{'version' if versions else 'test'}"
            message = f"there is no statistical test '{use.test}' version {use.version}; there are {has}"
            yield error("UNKNOWN_NAME", path, message)


def _hypothesis_names(plan: Plan, setting: Setting) -> Iterator[Finding]:
    hypothesis = setting.hypothesis
    populations = {population.id for population in plan.populations or ()}
    endpoints = {endpoint.id for endpoint in plan.endpoints or ()}
    tests = {test.id for test in plan.tests or ()}
    yield from _known("population", hypothesis.population, populations, f"{setting.path}.population")
    yield from _known("endpoint", hypothesis.endpoint, endpoints, f"{setting.path}.endpoint")
    for name in dict.fromkeys(clause.field.test for clause in setting.clauses):
        if name is not None:
            yield from _known("test", name, tests, f"{setting.path}.rule")
    if hypothesis.equivalence is not None:
        yield from _known("test", hypothesis.equivalence, tests, f"{setting.path}.equivalence")
    if hypothesis.baseline == hypothesis.candidate:
        yield error(
            "SAME_ARM",
            f"{setting.path}.candidate",
            f"'{hypothesis.candidate}' is compared with itself: name two arms",
        )
    if setting.endpoint and setting.population and not setting.endpoint.measured_on(setting.population.id):
        yield error(
            "UNKNOWN_NAME",
            f"{setting.path}.endpoint",
            f"endpoint '{setting.endpoint.id}' is not measured on '{setting.population.id}': "
            "add it to the endpoint's populations",
        )


def _known(noun: str, name: str, known: set[str], path: str) -> Iterator[Finding]:
    if name not in known:
        names = ", ".join(f"'{each}'" for each in sorted(known)) or "none"
        meant = nearest(name, known)
        if meant is None:
            yield error("UNKNOWN_NAME", path, f"the plan has no {noun} '{name}'; it has {names}")
        else:
            yield error(
                "UNKNOWN_NAME",
                path,
                f"the plan has no {noun} '{name}': did you mean '{meant}'? It has {names}",
            )


def _not_yet(plan: Plan) -> Iterator[Finding]:
    def refuse(path: str, what: str, works: str) -> Finding:
        return error("NOT_YET_SUPPORTED", path, f"{what} cannot be judged yet: {works}")

    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.kind == "counts":
            yield refuse(f"endpoints[{index}].kind", "a counts endpoint", "use 'binary' or 'continuous'")


def _scales(plan: Plan) -> Iterator[Finding]:
    """Units and collapses that do not go with their endpoint."""
    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.kind == "continuous" and endpoint.collapse == "majority":
            message = (
                "a majority needs outcomes of 0 and 1: collapse a continuous endpoint by 'mean' or 'first'"
            )
            yield error("COLLAPSE", f"endpoints[{index}].collapse", message)
    for index, endpoint in enumerate(plan.endpoints or ()):
        yield from _repeats(endpoint, f"endpoints[{index}]")
    for name, margin in (plan.sesoi or {}).items():
        of = plan.endpoint(name)
        if of is None or of.kind == "counts":
            continue
        try:
            margin.for_endpoint(binary=of.kind == "binary", path=f"sesoi.{name}")
        except InvalidData as invalid:
            for fault in invalid.faults:
                yield error("UNIT", fault.path, f"{fault.message}: {fault.fix}")
            continue
        if of.collapsed_kind == "continuous" and 0 < margin.exact() < LEAST_SIZE:
            message = f"is below {LEAST_SIZE:g}, and rules take differences closer than {TIE:g} as equal"
            yield error("UNIT", f"sesoi.{name}", f"{message}: measure '{name}' in a smaller unit")


def _repeats(endpoint: Endpoint, path: str) -> Iterator[Finding]:
    """Runs, judgements and attempts that do not go together."""
    runs = endpoint.judgements is not None
    if endpoint.judgements is not None and endpoint.replicates % endpoint.judgements:
        yield error(
            "REPLICATES",
            f"{path}.judgements",
            f"{endpoint.replicates} replicates are no whole number of runs with {endpoint.judgements} judgements each",
        )
    if endpoint.collapse == "any_of_k":
        if endpoint.kind != "binary" or endpoint.k is None or endpoint.k > endpoint.replicates or runs:
            yield error(
                "COLLAPSE",
                f"{path}.k",
                f"pass@k is of a binary endpoint whose replicates are attempts: declare `k` up to the "
                f"{endpoint.replicates} of '{endpoint.id}', and no judgements",
            )
    elif endpoint.k is not None:
        yield error(
            "COLLAPSE", f"{path}.k", "`k` belongs to the collapse 'any_of_k': leave it out, or collapse so"
        )
