"""Pairs of several tasks as a suite: what carries a comparison of its mean, and what is told of its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from service.domain.comparison.request import SuiteAsked
from service.domain.comparison.suite_records import SuiteFacts
from service.domain.comparison.warning_kinds import TASKS_LACKING
from service.errors import InvalidData
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import StatWarning

MOST_SECONDS = 5.0
"""Longest computation of one suite, of which an answer holds up to three."""
NO_TASKS = "the items were given without tasks"
"""Why an answer has no suite."""
FEWER_DRAWS = 1_000
"""Draws where the usual number would take longer."""


def weigh_suite(
    columns: dict[str, Sequence[float]],
    tasks: Sequence[str],
    clusters: Sequence[str] | None,
    suite: SuiteAsked | None,
    options: dict[str, Any],
) -> registry.Answer[Any]:
    """Return the registered test of a suite on these columns; weights and scales of tasks that are not there stay out.

    Raises:
        InvalidData: what it refuses, with paths below `suite` for weights and scales.
    """
    test, asked = registry.serving("weighted"), suite or SuiteAsked()
    there = set(tasks)
    body: dict[str, Any] = {**columns, "tasks": list(tasks), "estimand": asked.estimand, **options}
    body["weights"] = asked.weights
    if isinstance(asked.weights, dict):
        body["weights"] = {name: weight for name, weight in asked.weights.items() if name in there}
    if asked.rescale is not None:
        scales = {name: scale.model_dump() for name, scale in asked.rescale.items() if name in there}
        body["rescale"] = scales or None
    if clusters is not None:
        body["clusters"] = list(clusters)
    request = test.request.model_validate(body)
    if test.cost(request) > MOST_SECONDS:
        request = test.request.model_validate({**body, "n_resamples": FEWER_DRAWS})
    return test.answer(request, most_seconds=MOST_SECONDS)


def require_known(suite: SuiteAsked | None, tasks: set[str]) -> None:
    """Refuse weights and scales of tasks that no item is of, and weights that lack one.

    Raises:
        InvalidData: with the field.
    """
    if suite is None:
        return
    weights = suite.weights if isinstance(suite.weights, dict) else {}
    for field, by_task in (("weights", weights), ("rescale", suite.rescale or {})):
        strange = sorted(set(by_task) - tasks)
        if strange:
            raise InvalidData.field(
                f"suite.{field}.{strange[0]}",
                "is no task of these items",
                "name the tasks as the items have them",
            )
    lacking = sorted(tasks - set(weights)) if weights else []
    if lacking:
        raise InvalidData.field(
            "suite.weights",
            f"have none of task '{lacking[0]}'",
            "name a weight for every task, or send 'equal'",
        )


def facts_of(analysis: Any, suite: SuiteAsked | None, lacking: Sequence[str]) -> SuiteFacts:
    """Return what an answer says of a suite, from the suite's analysis."""
    weights = "equal" if suite is None else suite.weights
    return SuiteFacts(
        weights=weights if isinstance(weights, str) else "named",
        estimand=analysis.estimand,
        n_tasks=analysis.n_tasks,
        n_spanning=analysis.n_spanning,
        item_weighted=analysis.item_weighted,
        tasks=analysis.tasks,
        losses=analysis.losses,
        heterogeneity=analysis.heterogeneity,
        critical_value=analysis.critical_value,
        lacking=tuple(lacking),
    )


def reasons_of(analysis: Any) -> dict[str, str]:
    """Return the reasons of the nulls among a suite's facts, by their paths in the answer."""
    computed = ("tasks", "losses", "heterogeneity")
    return {f"suite.{path}": why for path, why in analysis.reasons.items() if path.startswith(computed)}


def lacking_warning(lacking: Sequence[str], *, arms: int) -> tuple[StatWarning, ...]:
    """Return what a task without any result leaves of a suite."""
    if not lacking:
        return ()
    tasks = ", ".join(f"'{name}'" for name in lacking[:3]) + (", ..." if len(lacking) > 3 else "")
    where = "in both arms" if arms == 2 else "of the arm"
    return (TASKS_LACKING(count=len(lacking), where=where, names=tasks),)


def task_losses(facts: SuiteFacts) -> list[str]:
    """Return the tasks that are shown to have lost, or to have lost more than the margin."""
    if facts.losses is None:
        return []
    return [
        task.name
        for task in facts.tasks
        if task.arms is not None and (task.arms.lost or task.arms.standing == "fail")
    ]


def heaviest(facts: SuiteFacts) -> tuple[str, float] | None:
    """Return the task whose error is most of the suite's, and its share of the variance; clusters' ties left out."""
    parts = {task.name: (task.weight * task.se) ** 2 for task in facts.tasks if task.se is not None}
    total = sum(parts.values())
    if facts.estimand == "new_tasks" or not total or len(parts) < 2:
        return None
    name = max(parts, key=lambda part: parts[part])
    return name, parts[name] / total
