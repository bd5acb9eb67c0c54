"""Plans about suites, and outcomes of their tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.verdicts.outcomes import MISSING, Cell, Outcomes
from tests.domain import sample

SIZES = {"large": 1000, "middle": 100, "small": 50}


def population(name: str, n: int) -> dict[str, Any]:
    return {"id": name, "dataset": f"{name} 1.0", "n": n, "independence": "drawn one by one"}


def suite_plan(changes: dict[str, Any] | None = None, sizes: dict[str, int] | None = None) -> Plan:
    """The sample plan on a suite of three tasks, each of which counts alike."""
    sizes = SIZES if sizes is None else sizes
    return sample.plan(
        {
            "populations": [population(name, n) for name, n in sizes.items()],
            "suites": [{"id": "bench", "populations": list(sizes)}],
            "hypotheses.0.population": "bench",
            "hypotheses.0.statement": "C2 is more often right than C1, over the tasks",
            "hypotheses.0.rule": "suite.ci.low > 0",
            "tests": [{"id": "suite", "test": "suite", "version": 1}],
            **(changes or {}),
        }
    )


def manifests(plan: Plan, clusters: dict[str, list[str]] | None = None) -> dict[str, Manifest]:
    """Items that are numbered anew in every task."""
    return {
        one.id: Manifest.create([f"q{at}" for at in range(one.n)], (clusters or {}).get(one.id))
        for one in plan.populations or ()
    }


def facts(plan: Plan) -> dict[str, Any]:
    return {name: manifest.facts() for name, manifest in manifests(plan).items()}


def by_counts(plan: Plan, counts: dict[str, tuple[int, int]]) -> dict[str, dict[str, Any]]:
    """Outcomes by task and arm: how many items each arm is right on, the same first ones."""
    values: dict[str, dict[str, Any]] = {}
    for one in plan.populations or ():
        arms = plan.arms(one.id)
        values[one.id] = {
            arm: (np.arange(one.n) < right).astype(float)
            for arm, right in zip(arms, counts[one.id], strict=True)
        }
    return values


def outcomes(plan: Plan, values: dict[str, dict[str, Any]], lacking: tuple[str, ...] = ()) -> Outcomes:
    """One result per item; those of the tasks that are `lacking` are missing."""
    cells = {}
    for key in Outcomes.empty(plan).cells:
        column = np.asarray(values[key[0]][key[1]], dtype=float)[:, None]
        status = np.full(column.shape, MISSING if key[0] in lacking else 0, dtype=np.uint8)
        cells[key] = Cell(np.where(status == 0, column, np.nan), status)
    return Outcomes(cells)


def verdict(plan: Plan, outcomes: Outcomes, items: dict[str, Manifest] | None = None) -> Any:
    """The verdict of a plan's hypotheses."""
    items = manifests(plan) if items is None else items
    return sample.judged(plan, items, outcomes)
