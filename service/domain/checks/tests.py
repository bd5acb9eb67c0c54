"""Lint of tests: whether each one a hypothesis names can judge its endpoint with its parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from service.domain.checks.resamples import resample_findings
from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.feeding import (
    build_request,
    design_of,
    margin_for,
    of_one_arm,
    of_tasks,
    of_these_items,
    parameter,
    parameters_model,
    read_parameters,
    suite_design,
    takes_clusters,
    takes_runs,
)
from service.domain.rules.fields import shape_of
from service.domain.rules.labelled import Labels, of_people, takes_labels
from service.domain.rules.settings import Setting, Use, find_registered
from service.errors import Fault, InvalidData
from service.stats.shared.data.score_range import ScoreRange
from service.stats.shared.declaring import registry
from service.words import say

TRIAL_ITEMS, TRIAL_CLUSTERS, TRIAL_SECONDS = 48, 12, 0.05


def use_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield findings of the tests that one hypothesis names."""
    for test_id, use in setting.uses.items():
        where = f"{setting.path}.{'rule' if _is_in_rule(setting, test_id) else 'equivalence'}"
        fits = [
            *_check_other_endpoint(plan, setting, use),
            *_check_arms(setting, use, where),
            *_check_tasks(setting, use, where),
            *_check_endpoint(setting, use, where),
            *_check_runs(setting, use, where),
            *_check_amounts(setting, use, where),
            *_check_range(setting, use, where),
            *_check_labels(plan, setting, use, where),
            *resample_findings(setting, use),
        ]
        yield from fits
        yield from _check_clusters(setting, use, where)
        if not fits and not any(_check_parameters(use)):
            yield from _try(plan, setting, use)
    equivalence = setting.uses.get(setting.hypothesis.equivalence or "")
    if equivalence is not None and shape_of(equivalence.test.analysis, ("equivalent",)) != "truth":
        yield error(
            "TEST_ENDPOINT",
            f"{setting.path}.equivalence",
            say("findings.not_equivalence", test=equivalence.test.name),
        )


def parameter_findings(plan: Plan) -> Iterator[Finding]:
    """Yield errors of parameters that their tests do not take, whether or not a rule names the test."""
    for index, use in enumerate(plan.tests or ()):
        test = find_registered(use)
        if test is not None:
            yield from _check_parameters(Use(index, use, test))


def _is_in_rule(setting: Setting, test_id: str) -> bool:
    return any(clause.field.test == test_id for clause in setting.clauses)


def _check_parameters(use: Use) -> Iterator[Finding]:
    """Yield an error for every parameter that the test does not have or does not take with this value."""
    try:
        read_parameters(use.use)
    except ValidationError as invalid:
        known = ", ".join(parameters_model(use.use.test, use.use.version).model_fields)
        for fault in invalid.errors(include_input=False, include_url=False):
            path = ".".join((f"tests[{use.index}].parameters", *map(str, fault["loc"])))
            message = fault["msg"]
            if fault["type"] == "extra_forbidden":
                message = say("findings.unknown_parameter", test=use.use.test, known=known)
            yield error("TEST_PARAMETERS", path, message)


def _check_arms(setting: Setting, use: Use, where: str) -> Iterator[Finding]:
    """Yield errors of a test of one arm behind a claim about two, and the other way round."""
    if use.test.plan is None or use.test.plan.arms in ("either", 2 if setting.reference is None else 1):
        return
    key = "takes_one_arm" if use.test.plan.arms == 1 else "compares_two_arms"
    instead = " or ".join(f"'{test.name}'" for test in registry.latest().values() if of_one_arm(test))
    message = say(f"findings.{key}", test=use.test.name, name=setting.hypothesis.id, instead=instead)
    yield error("TEST_ARMS", where, message)


def _check_tasks(setting: Setting, use: Use, where: str) -> Iterator[Finding]:
    """Yield errors of a test of tasks without a suite, of another test of one, and of fields told of two arms alone."""
    plan_use, suite = use.test.plan, setting.suite
    if plan_use is None:
        return
    if plan_use.tasks != (suite is not None):
        key = "takes_no_tasks" if suite is not None else "takes_tasks"
        instead = " or ".join(f"'{test.name}'" for test in registry.latest().values() if of_tasks(test))
        message = say(f"findings.{key}", test=use.test.name, name=setting.hypothesis.id, instead=instead)
        yield error("TEST_SUITE", where, message)
    own_clauses = [clause for clause in setting.clauses if clause.field.test == use.use.id]
    for clause in own_clauses if setting.reference is not None else ():
        if clause.field.path[0] in plan_use.of_two_arms:
            message = say("findings.told_of_two_arms", field=str(clause.field), name=setting.hypothesis.id)
            yield error("TEST_ARMS", where, message)


def _check_endpoint(setting: Setting, use: Use, where: str) -> Iterator[Finding]:
    """Find out whether the test takes values of its endpoint's kind, and as many of an item as there are."""
    endpoint, plan_use = setting.endpoint_of(use), use.test.plan
    if plan_use is None:
        yield error("TEST_ENDPOINT", where, say("findings.not_in_plans", test=use.test.name))
    elif (
        endpoint is not None
        and endpoint.kind != "counts"
        and (endpoint.kind if takes_runs(use.test) else endpoint.collapsed_kind) not in plan_use.endpoints
    ):
        kinds = " or ".join(sorted(plan_use.endpoints))
        if endpoint.kind in plan_use.endpoints:
            yield error(
                "REPLICATES",
                where,
                say(
                    "findings.takes_one_value",
                    test=use.test.name,
                    kind=endpoint.kind,
                    endpoint=endpoint.id,
                    replicates=endpoint.replicates,
                ),
            )
        else:
            yield error(
                "TEST_ENDPOINT",
                where,
                say(
                    "findings.judges_other_kind",
                    test=use.test.name,
                    kinds=kinds,
                    endpoint=endpoint.id,
                    kind=endpoint.kind,
                ),
            )


def _check_runs(setting: Setting, use: Use, where: str) -> Iterator[Finding]:
    """Yield errors of a test that reads every run, behind a hypothesis that does not."""
    endpoint = setting.endpoint_of(use)
    if endpoint is None or not takes_runs(use.test) or endpoint.kind == "counts":
        return
    if endpoint.replicates == 1:
        yield error("REPLICATES", where, say("findings.reads_runs", test=use.test.name, endpoint=endpoint.id))
    elif endpoint.collapse not in (None, "mean") and not of_one_arm(use.test):
        yield error(
            "REPLICATES",
            where,
            say(
                "findings.collapses_otherwise",
                test=use.test.name,
                endpoint=endpoint.id,
                collapse=endpoint.collapse,
            ),
        )


def _check_amounts(setting: Setting, use: Use, where: str) -> Iterator[Finding]:
    """Yield errors of a ratio of an endpoint that is no amount."""
    endpoint, plan_use = setting.endpoint_of(use), use.test.plan
    if endpoint is None or plan_use is None or not plan_use.positive or endpoint.positive:
        return
    yield error(
        "TEST_ENDPOINT", where, say("findings.amounts_not_positive", test=use.test.name, endpoint=endpoint.id)
    )


def _check_range(setting: Setting, use: Use, where: str) -> Iterator[Finding]:
    """Yield errors of bounds that know of unseen losses, where the endpoint does not say how large one can be."""
    endpoint, plan_use = setting.endpoint_of(use), use.test.plan
    if endpoint is None or plan_use is None or endpoint.kind != "continuous" or endpoint.bounds is not None:
        return
    if plan_use.takes_range(lambda name: parameter(use.use, name)):
        yield error("BOUNDS", where, say("findings.needs_bounds", test=use.test.name, endpoint=endpoint.id))


def _check_labels(plan: Plan, setting: Setting, use: Use, where: str) -> Iterator[Finding]:
    """Yield errors of a test that corrects a judge, where the plan draws no items for people's labels."""
    endpoint = setting.endpoint_of(use)
    if endpoint is None or not takes_labels(use.test) or of_people(plan, use, endpoint.id):
        return
    yield error("LABELS", where, say("findings.needs_labels", test=use.test.name, endpoint=endpoint.id))


def _check_other_endpoint(plan: Plan, setting: Setting, use: Use) -> Iterator[Finding]:
    """Yield errors of a test's own endpoint, which the plan lacks or does not measure on the population."""
    name, path = use.use.endpoint, f"tests[{use.index}].endpoint"
    if name is None or not use.beside:
        return
    if use.endpoint is None:
        known = ", ".join(f"'{endpoint.id}'" for endpoint in plan.endpoints or ()) or "none"
        yield error(
            "UNKNOWN_NAME",
            path,
            say("findings.unknown_name", noun=say("findings.endpoint"), name=name, known=known),
        )
    elif setting.population is not None and not plan.measures(use.endpoint, setting.population.id):
        yield error(
            "UNKNOWN_NAME", path, say("findings.not_measured", name=name, population=setting.population.id)
        )
    if use.use.id == setting.hypothesis.equivalence:
        yield error(
            "TEST_ENDPOINT",
            f"{setting.path}.equivalence",
            say(
                "findings.another_endpoint", test=use.use.id, name=name, endpoint=setting.hypothesis.endpoint
            ),
        )


def _check_clusters(setting: Setting, use: Use, where: str) -> Iterator[Finding]:
    """Find out whether the test needs clusters that the population lacks, or passes over those it has."""
    population, plan_use = setting.population, use.test.plan
    if population is None or plan_use is None:
        return
    if plan_use.clusters == "required" and population.clusters is None:
        yield error(
            "TEST_NEEDS_CLUSTERS",
            where,
            say("findings.needs_clusters", test=use.test.name, population=population.id),
        )
    if plan_use.clusters == "never" and population.clusters is not None:
        yield warning(
            "CLUSTERS_IGNORED",
            where,
            say(
                "findings.takes_items_as_independent",
                test=use.test.name,
                population=population.id,
                key=population.clusters.key,
            ),
        )


def _try(plan: Plan, setting: Setting, use: Use) -> Iterator[Finding]:
    """Ask the test once on made-up data: a refusal that names a parameter would come back at judging."""
    endpoint = setting.endpoint_of(use)
    if endpoint is None or setting.population is None or endpoint.kind == "counts":
        return
    binary = endpoint.collapsed_kind == "binary"
    step = 1.0 if binary else 0.375
    sesoi = (plan.sesoi or {}).get(endpoint.id)
    try:
        request = build_request(
            use.test,
            use.use,
            baseline=_trial_baseline(use, endpoint, step),
            candidate=_trial_candidate(use, endpoint, step, binary=binary),
            clusters=[str(item % TRIAL_CLUSTERS) for item in range(TRIAL_ITEMS)]
            if takes_clusters(use.test, setting.population)
            else None,
            design=_trial_design(plan, use, endpoint, setting),
            one_arm=setting.reference is not None,
            margin=None
            if sesoi is None
            else margin_for(
                sesoi, endpoint, binary and (setting.suite is None or setting.suite.rescale is None)
            ),
            labels=_trial_labels(step) if takes_labels(use.test) else None,
        )
        if use.test.cost(request) < TRIAL_SECONDS:
            use.test.compute(request)
    except InvalidData as refused:
        yield from _list_refusals(use, refused.faults)
    except ValidationError as refused:
        yield from _list_refusals(
            use,
            [
                Fault(".".join(map(str, error["loc"])), error["msg"], "")
                for error in refused.errors(include_url=False)
            ],
        )


def _trial_baseline(use: Use, endpoint: Endpoint, step: float) -> list[Any]:
    """Return the baseline's made-up values, or runs of every item where the test reads them."""
    values = [step * (item % 2) for item in range(TRIAL_ITEMS)]
    return [[value] * endpoint.runs for value in values] if of_these_items(use.test) else values


def _trial_candidate(use: Use, endpoint: Endpoint, step: float, *, binary: bool) -> list[Any]:
    """Return the candidate's made-up values, or runs of every item where the test reads them."""
    if of_one_arm(use.test) and endpoint.counts_runs:
        return [[float(item % 2)] * endpoint.runs for item in range(TRIAL_ITEMS)]
    values = [step * (item // 2 % 2 if binary else item % 5) for item in range(TRIAL_ITEMS)]
    if (of_one_arm(use.test) and takes_runs(use.test)) or of_these_items(use.test):
        return [[min(value, 1.0)] * endpoint.runs for value in values]
    return values


def _trial_labels(step: float) -> Labels:
    """People's labels of every other of the made-up items."""
    asked = [item % 2 == 0 for item in range(TRIAL_ITEMS)]
    before, after = (
        [step * (item // every % 2) if one else math.nan for item, one in enumerate(asked)]
        for every in (4, 6)
    )
    return before, after


def _trial_design(plan: Plan, use: Use, endpoint: Endpoint, setting: Setting) -> dict[str, Any]:
    """Return the plan's design at the size of the made-up data, whose scores run from 0 to 1.5."""
    population = setting.population
    assert population is not None  # noqa: S101 - callers have one
    clusters = population.clusters and population.clusters.model_copy(update={"n": TRIAL_CLUSTERS})
    small = population.model_copy(update={"n": TRIAL_ITEMS, "clusters": clusters})
    design = design_of(
        plan, use.test, use.use, endpoint, small, TRIAL_ITEMS // TRIAL_CLUSTERS, setting.reference
    )
    if setting.suite is not None:
        tasks = setting.suite.populations
        labels = [tasks[item % len(tasks)] for item in range(TRIAL_ITEMS)]
        sizes = dict.fromkeys(tasks, TRIAL_ITEMS)
        design |= suite_design(use.test, setting.suite, sizes, labels, setting.reference)
    if "bound" in design:
        design["bound"] = max(design["bound"], 2.0)
    if "range" in design:
        low, high = min(design["range"].low, 0.0), max(design["range"].high, 1.5)
        design["range"] = ScoreRange(low=low, high=high)
    if "looks" in design and len(set(design["looks"])) < len(design["looks"]):
        design["looks"] = design["looks"][-1:]
    return design


def _list_refusals(use: Use, faults: tuple[Fault, ...] | list[Fault]) -> Iterator[Finding]:
    about = {*parameters_model(use.use.test, use.use.version).model_fields, "clusters"}
    for fault in faults:
        name = fault.path.split(".")[0]
        if name in about:
            way_out = f": {fault.fix}" if fault.fix else ""
            yield error(
                "TEST_PARAMETERS", f"tests[{use.index}].parameters.{name}", f"{fault.message}{way_out}"
            )
