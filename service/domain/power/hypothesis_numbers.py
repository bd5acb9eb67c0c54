"""What lint works out of a hypothesis: on its part of the plan alone, once it can be read, and kept a while."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from service.domain.checks.rule import rule_findings
from service.domain.checks.stopping import sequential_findings
from service.domain.checks.tests import parameter_findings, use_findings
from service.domain.decision.members import members
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import GroupSequential, Multiplicity, Plan
from service.domain.recent import Recent
from service.domain.rules.feeding import parameter
from service.domain.rules.settings import Setting, resolve
from service.errors import InvalidData

REMEMBERED = 512
"""Answers of all kinds together, two or three of a hypothesis; each takes about 20 KB."""

NOT_READY = "the plan is not complete here"

P = ParamSpec("P")
R = TypeVar("R")
Work = Callable[Concatenate[Plan, Mapping[str, ManifestFacts], Setting, P], R]

_known: Recent[bytes, tuple[Any]] = Recent(REMEMBERED)


def compute_on_part(
    work: Work[P, R],
    plan: Plan,
    facts: Mapping[str, ManifestFacts],
    together: set[str],
    name: str,
    *args: P.args,
    **kwargs: P.kwargs,
) -> R:
    """Return what `work` answers of a hypothesis, given only the part of the plan that decides `together` with it.

    The same part has the same answer, so that answers are cached by the part and the arguments.
    """
    part = _part(plan, together)
    known = {
        population.id: facts[population.id] for population in part.populations or () if population.id in facts
    }
    texts = [(key, facts.model_dump_json()) for key, facts in sorted(known.items())]
    question = (work.__qualname__, part.canonical_text(), texts, name, args, sorted(kwargs.items()))
    key = hashlib.sha256(repr(question).encode("utf-8", "surrogatepass")).digest()
    numbers = _known.get(key)
    if numbers is None:
        setting = resolve(part).require(name)
        numbers = (work(part, known, setting, *args, **kwargs),)
        _known.add(key, numbers, 1)
    return cast("R", numbers[0])


def _part(plan: Plan, together: set[str]) -> Plan:
    """Return the plan with these hypotheses and their populations; its family keeps all its members."""
    hypotheses = tuple(hypothesis for hypothesis in plan.hypotheses or () if hypothesis.id in together)
    populations = {task for hypothesis in hypotheses for task in plan.tasks(hypothesis.population)}
    return plan.model_copy(
        update={
            "hypotheses": hypotheses,
            "populations": tuple(
                population for population in plan.populations or () if population.id in populations
            ),
            "multiplicity": Multiplicity(
                policy=plan.multiplicity.policy if plan.multiplicity else "none", family=members(plan)
            ),
            "thresholds": None,
            "title": None,
            "results_due": None,
            "embargo_until": None,
        }
    )


def ready(plan: Plan, setting: Setting) -> bool:
    """Tell whether a hypothesis can be judged as it stands: neither its rule nor a test of it has an error."""
    sesoi, endpoint = (plan.sesoi or {}).get(setting.hypothesis.endpoint), setting.endpoint
    if setting.rule is None or setting.population is None or endpoint is None or endpoint.kind == "counts":
        return False
    if not {clause.field.test for clause in setting.clauses} - {None} <= set(setting.uses):
        return False
    by_looks = any(parameter(use.use, "method") == "group_sequential" for use in setting.uses.values())
    if by_looks and not isinstance(plan.stopping, GroupSequential):
        return False
    findings = (
        *rule_findings(setting),
        *parameter_findings(plan),
        *use_findings(plan, setting),
        *sequential_findings(plan, setting),
    )
    if any(finding.severity == "error" for finding in findings):
        return False
    if sesoi is not None:
        try:
            sesoi.for_endpoint(binary=endpoint.kind == "binary")
        except InvalidData:
            return False
    return True
