"""Lint of suites: their tasks, weights and scales, and what a claim about one needs of its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.lint.names import check_name
from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.manifest import ManifestFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.suites import Suite
from service.domain.rules.settings import Setting
from service.stats.shared.declaring.common import MAX_ITEMS
from service.words import say

FEW_TASKS = 10
"""Tasks below which a claim about tasks like these gets a warning."""
FEW_UNITS = 10
"""Items, or clusters, of one task below which its own spread is hardly known."""


def suite_findings(plan: Plan, facts: Mapping[str, ManifestFacts]) -> Iterator[Finding]:
    """Yield findings of every suite of the plan."""
    for index, suite in enumerate(plan.suites or ()):
        path = f"suites[{index}]"
        yield from _check_names(plan, suite, path)
        yield from _check_numbers(suite, path)
        yield from _check_sizes(plan, suite, facts, path)
        yield from _check_spanning(plan, suite, path)


def _check_names(plan: Plan, suite: Suite, path: str) -> Iterator[Finding]:
    """Yield errors of a suite's tasks that are no populations, or weights of none of its tasks."""
    known = {population.id for population in plan.populations or ()}
    if suite.id in known:
        yield error("SUITE", f"{path}.id", say("findings.suite_named_twice", name=suite.id))
    for name in dict.fromkeys(name for name in suite.populations if suite.populations.count(name) > 1):
        yield error("SUITE", f"{path}.populations", say("findings.suite_task_twice", name=name))
    for name in suite.populations:
        yield from check_name("population", name, known, f"{path}.populations")


def _check_numbers(suite: Suite, path: str) -> Iterator[Finding]:
    """Yield errors of weights that are not those of the suite's tasks, and of scales upside down or of no task."""
    weights = suite.weights if isinstance(suite.weights, dict) else {}
    for field, by_task in (("weights", weights), ("rescale", suite.rescale or {})):
        for name in by_task:
            if name not in suite.populations:
                yield error("SUITE", f"{path}.{field}.{name}", say("findings.suite_no_task", name=name))
    for name in suite.populations if weights else ():
        if name not in weights:
            yield error("SUITE", f"{path}.weights", say("findings.suite_no_weight", name=name))
    for name, scale in (suite.rescale or {}).items():
        if scale.ceiling < scale.floor:
            yield error("SUITE", f"{path}.rescale.{name}", say("findings.suite_scale_turned", name=name))


def _check_spanning(plan: Plan, suite: Suite, path: str) -> Iterator[Finding]:
    """Yield a warning of clusters that tasks may share, which the verdict knows of and power does not."""
    tasks = [task for name in suite.populations if (task := plan.population(name)) is not None]
    keys = [task.clusters.key for task in tasks if task.clusters is not None]
    for key in dict.fromkeys(key for key in keys if keys.count(key) > 1):
        yield warning("SPANNING_CLUSTERS", f"{path}.populations", say("findings.suite_spanning", key=key))


def _check_sizes(
    plan: Plan, suite: Suite, facts: Mapping[str, ManifestFacts], path: str
) -> Iterator[Finding]:
    """Yield errors and warnings of suites with too few tasks or items."""
    tasks = [task for name in suite.populations if (task := plan.population(name)) is not None]
    if sum(task.n for task in tasks) > MAX_ITEMS:
        yield error("SUITE", f"{path}.populations", say("findings.suite_too_large", most=MAX_ITEMS))
    if suite.estimand == "new_tasks":
        if len(suite.populations) < FEW_TASKS:
            yield warning(
                "SMALL_SUITE",
                f"{path}.estimand",
                say("findings.suite_few_tasks", count=len(suite.populations)),
            )
        return
    for task in tasks:
        known = facts.get(task.id)
        units = task.n if task.clusters is None else (known.n_clusters if known else None) or task.clusters.n
        unit = "items" if task.clusters is None else "clusters"
        noun = say(f"findings.{unit}")
        if units < 2:
            yield error(
                "SUITE", f"{path}.populations", say("findings.suite_lone_task", name=task.id, unit=noun)
            )
        elif units < FEW_UNITS and task.clusters is None:  # few clusters are told of every population
            yield warning(
                "SMALL_SUITE",
                f"{path}.populations",
                say("findings.suite_small_task", name=task.id, count=units, unit=noun),
            )


def suite_use_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield errors of what a claim about a suite does not go with, and of a claim about every task without one."""
    hypothesis, suite = setting.hypothesis, setting.suite
    every = hypothesis.about == "every_task"
    if suite is None:
        if every:
            message = say("findings.every_task_of_none", name=hypothesis.id)
            yield error("ABOUT_DIFFERS", f"{setting.path}.about", message)
        return
    if plan.stopping is not None and plan.stopping.kind != "fixed_n":
        yield error("NOT_YET_SUPPORTED", "stopping", say("findings.suite_looks", name=hypothesis.id))
    if every and suite.estimand == "new_tasks":
        message = say("findings.every_new_task", name=hypothesis.id)
        yield error("ESTIMAND", f"{setting.path}.about", message)
    if plan.slices is not None and hypothesis.id in (plan.slices.hypotheses or ()):
        yield error("SUITE", "slices.hypotheses", say("findings.suite_sliced", name=hypothesis.id))
