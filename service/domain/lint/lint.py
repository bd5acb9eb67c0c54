"""What is missing, wrong or risky in a plan, said before it is locked.

Errors block the lock. Warnings are acknowledged by code and kept in the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.checks.claim import claim_findings, contradiction_findings
from service.domain.checks.rule import rule_findings
from service.domain.checks.stopping import sequential_findings, stopping_findings
from service.domain.checks.tests import parameter_findings, use_findings
from service.domain.lint.about import about_findings
from service.domain.lint.arms import arm_findings
from service.domain.lint.assumptions import (
    amounts_findings,
    assumption_findings,
    hypothesis_assumption_findings,
)
from service.domain.lint.criteria import criterion_findings
from service.domain.lint.estimand import estimand_findings, items_findings
from service.domain.lint.imports import import_findings
from service.domain.lint.labels import label_findings, label_use_findings
from service.domain.lint.level import level_findings
from service.domain.lint.names import check_name
from service.domain.lint.policies import (
    endpoint_findings,
    judge_findings,
    missing_findings,
    multiplicity_findings,
    other_missing_findings,
)
from service.domain.lint.populations import population_findings
from service.domain.lint.power import power_findings
from service.domain.lint.prose import vague_findings
from service.domain.lint.reference import reference_findings
from service.domain.lint.slices import slice_findings
from service.domain.lint.suites import suite_findings, suite_use_findings
from service.domain.lint.tried import tried_findings
from service.domain.plans.findings import Finding, error
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.power.attainable.attainability import attainability_findings
from service.domain.power.attainable.least_family import LeastFamily
from service.domain.rules.settings import Setting, find_registered, resolve
from service.errors import InvalidData
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.shows import TIE
from service.words import say

LEAST_SIZE = 1e-6
"""A smallest effect of interest below this would be told from 0 with ties that are a thousandth of it, or more."""


def lint(plan: Plan, facts: Mapping[str, ManifestFacts]) -> tuple[Finding, ...]:
    """List every finding on a plan, errors first. `facts` are those of the manifests, by population id."""
    looked_up = resolve(plan).settings
    findings = [
        *_check_sections(plan),
        *_check_names(plan),
        *_refuse_unsupported(plan),
        *_check_scales(plan),
        *endpoint_findings(plan),
        *items_findings(plan),
        *label_findings(plan),
        *stopping_findings(plan),
        *population_findings(plan, facts),
        *suite_findings(plan, facts),
        *parameter_findings(plan),
        *assumption_findings(plan),
        *amounts_findings(plan),
        *import_findings(plan),
        *arm_findings(plan),
        *criterion_findings(plan),
        *tried_findings(plan),
    ]
    family = LeastFamily.of(plan, looked_up, facts)
    for setting in looked_up:
        findings += _check_hypothesis_names(plan, setting)
        findings += suite_use_findings(plan, setting)
        findings += use_findings(plan, setting)
        findings += rule_findings(setting)
        findings += claim_findings(plan, setting)
        findings += about_findings(setting)
        findings += estimand_findings(setting)
        findings += reference_findings(setting)
        findings += missing_findings(plan, setting)
        findings += other_missing_findings(plan, setting)
        findings += multiplicity_findings(plan, setting)
        findings += judge_findings(plan, setting)
        findings += label_use_findings(setting)
        findings += sequential_findings(plan, setting)
        findings += hypothesis_assumption_findings(plan, setting)
        attained = list(attainability_findings(setting, facts, family))
        if not any(finding.severity == "error" for finding in attained):
            attained += power_findings(plan, facts, setting)
        findings += attained
        if not any(finding.code == "RULE_NEVER_PASSES" for finding in attained):
            findings += contradiction_findings(setting)
        findings += vague_findings(setting)
    findings += level_findings(plan, facts, looked_up)
    findings += slice_findings(plan, facts, looked_up)
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda finding: finding.severity != "error"))


SECTIONS = (
    "title", "populations", "hypotheses", "endpoints", "tests", "sesoi", "thresholds", "stopping", "missing",
    "multiplicity",
)  # fmt: skip


def _check_sections(plan: Plan) -> Iterator[Finding]:
    """Yield errors of sections that a plan has to have and that are not there."""
    for name in SECTIONS:
        value = getattr(plan, name)
        if value is None or (value == () and name != "thresholds"):
            yield error("MISSING_SECTION", name, say(f"findings.section_{name}"))
    if plan.endpoints and not any(endpoint.role == "primary" for endpoint in plan.endpoints):
        yield error("MISSING_SECTION", "endpoints", say("findings.no_primary"))
    for endpoint in plan.endpoints or ():
        if endpoint.role == "primary" and plan.sesoi is not None and endpoint.id not in plan.sesoi:
            yield error("MISSING_SECTION", f"sesoi.{endpoint.id}", say("findings.no_sesoi", name=endpoint.id))


def _check_names(plan: Plan) -> Iterator[Finding]:
    """Yield errors of names outside hypotheses that nothing in the plan, or no registered test, has."""
    populations = {population.id for population in plan.populations or ()}
    endpoints = {endpoint.id for endpoint in plan.endpoints or ()}
    hypotheses = {hypothesis.id for hypothesis in plan.hypotheses or ()}
    for index, endpoint in enumerate(plan.endpoints or ()):
        for name in endpoint.populations or ():
            yield from check_name("population", name, populations, f"endpoints[{index}].populations")
    for name in plan.sesoi or {}:
        yield from check_name("endpoint", name, endpoints, f"sesoi.{name}")
    for index, threshold in enumerate(plan.thresholds or ()):
        if threshold.population is not None:
            yield from check_name(
                "population", threshold.population, populations, f"thresholds[{index}].population"
            )
    for name in plan.multiplicity.family if plan.multiplicity else ():
        yield from check_name("hypothesis", name, hypotheses, "multiplicity.family")
    for index, use in enumerate(plan.tests or ()):
        if find_registered(use) is None:
            versions = [str(test.version) for test in registry.every() if test.name == use.test]
            has = (
                f"versions {', '.join(versions)}" if versions else f"the tests {', '.join(registry.latest())}"
            )
            path = f"tests[{index}].{'version' if versions else 'test'}"
            message = say("findings.unknown_test", test=use.test, version=use.version, has=has)
            yield error("UNKNOWN_NAME", path, message)


def _check_hypothesis_names(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield errors of names in a hypothesis and its rule that nothing in the plan has."""
    hypothesis = setting.hypothesis
    populations = {population.id for population in plan.populations or ()}
    endpoints = {endpoint.id for endpoint in plan.endpoints or ()}
    tests = {test.id for test in plan.tests or ()}
    populations |= {suite.id for suite in plan.suites or ()}
    yield from check_name("population", hypothesis.population, populations, f"{setting.path}.population")
    yield from check_name("endpoint", hypothesis.endpoint, endpoints, f"{setting.path}.endpoint")
    for name in dict.fromkeys(clause.field.test for clause in setting.clauses):
        if name is not None:
            yield from check_name("test", name, tests, f"{setting.path}.rule")
    if hypothesis.equivalence is not None:
        yield from check_name("test", hypothesis.equivalence, tests, f"{setting.path}.equivalence")
    if len(set(hypothesis.arms)) < len(hypothesis.arms):
        yield error(
            "SAME_ARM", f"{setting.path}.candidate", say("findings.same_arm", arm=hypothesis.candidate)
        )
    if setting.endpoint and setting.population and not plan.measures(setting.endpoint, setting.population.id):
        yield error(
            "UNKNOWN_NAME",
            f"{setting.path}.endpoint",
            say("findings.not_measured", name=setting.endpoint.id, population=setting.population.id),
        )


def _refuse_unsupported(plan: Plan) -> Iterator[Finding]:
    """Yield errors of what a plan may say and nothing judges yet: endpoints that are counts."""

    def refuse(path: str, what: str, works: str) -> Finding:
        return error("NOT_YET_SUPPORTED", path, say("findings.not_yet_supported", what=what, works=works))

    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.kind == "counts":
            yield refuse(
                f"endpoints[{index}].kind", say("findings.counts_endpoint"), say("findings.use_other_kind")
            )


def _check_scales(plan: Plan) -> Iterator[Finding]:
    """Yield errors of units and collapses that do not go with their endpoint."""
    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.kind == "continuous" and endpoint.collapse == "majority":
            yield error("COLLAPSE", f"endpoints[{index}].collapse", say("findings.majority_of_scores"))
    for index, endpoint in enumerate(plan.endpoints or ()):
        yield from _check_repeats(endpoint, f"endpoints[{index}]")
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


def _check_repeats(endpoint: Endpoint, path: str) -> Iterator[Finding]:
    """Yield errors of an endpoint's runs, judgements and attempts that do not go together."""
    runs = endpoint.judgements is not None
    if endpoint.judgements is not None and endpoint.replicates % endpoint.judgements:
        yield error(
            "REPLICATES",
            f"{path}.judgements",
            say("findings.no_whole_runs", replicates=endpoint.replicates, judgements=endpoint.judgements),
        )
    if endpoint.collapse in ("any_of_k", "all_of_k"):
        if endpoint.kind != "binary" or endpoint.k is None or endpoint.k > endpoint.replicates or runs:
            yield error(
                "COLLAPSE",
                f"{path}.k",
                say(
                    "findings.attempts_without_k",
                    collapse=endpoint.collapse,
                    replicates=endpoint.replicates,
                    endpoint=endpoint.id,
                ),
            )
    elif endpoint.k is not None:
        yield error("COLLAPSE", f"{path}.k", say("findings.k_alone"))
