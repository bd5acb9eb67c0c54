"""Several arms over several tasks: what a leaderboard is asked of a suite, and what it tells of the tasks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of
from service.kernels.suites.design import Design
from service.kernels.suites.many_arms import MOST_TABLE, SuiteArms
from service.kernels.suites.rare import Bounds
from service.records import Record
from service.stats.shared.data.score_range import UNIT, lies_in_unit
from service.stats.shared.data.suites import MOST_TASKS, Rescale, Weights
from service.stats.shared.declaring.common import Labels, Request
from service.stats.shared.methods.standings import Standings
from service.stats.shared.methods.weighing import Weighed, find_seen_ends

Floats = NDArray[np.float64]
NO_TASKS = "no tasks were named, so all items count alike"
LONE_TASK = "a task lies in a single cluster or has a single item"


class OfTasks(Request):
    """The tasks of the items, and what each counts."""

    tasks: Labels | None = Field(
        None,
        description="Task of each item, a label per item, same order: arms stand by the weighted mean of the tasks.",
    )
    weights: Weights = "equal"
    rescale: Rescale = None


class BoardTask(Record):
    """One task of the suite."""

    name: str = Field(description="As sent.")
    weight: float = Field(description="Its share of the suite, a proportion.")
    n: int = Field(description="Its items, a count.")
    means: tuple[float, ...] = Field(
        description="Mean of every arm over its own items of the task, in the order of `arms`; rescaled where the "
        "task is. Nothing is tested here."
    )


class BoardSuite(Record):
    """What arms were ranked by, and how each did in every task."""

    n_spanning: int = Field(description="Clusters with items of several tasks, a count.")
    tasks: tuple[BoardTask, ...] = Field(description="By first appearance.")

    @classmethod
    def of(cls, board: Standings, names: list[str]) -> BoardSuite:
        """Return the tasks of these names, with the arms' means in the order of the board."""
        units = board.units
        assert isinstance(units, SuiteArms)  # noqa: S101 - tasks make them
        means = units.task_means[:, board.order] * board.size * board.sign + 0.0
        counts = np.bincount(units.tasks, minlength=len(names))
        tasks = (
            BoardTask(name=name, weight=float(weight), n=int(n), means=tuple(row.tolist()))
            for name, weight, n, row in zip(names, units.weights, counts, means, strict=True)
        )
        return cls(n_spanning=units.spanning, tasks=tuple(tasks))


def require_tasks(
    request: OfTasks, names: list[str], sent: Floats, kept: NDArray[np.intp], arms: list[str]
) -> None:
    """Refuse weights of no tasks, names that are none, too many of them, and an arm that lacks a whole task.

    Args:
        names: the tasks of the items that are compared.
        sent: outcomes (items, k), NaN where there is none.
        kept: the items that are compared.
    """
    if request.tasks is None:
        if request.weights != "equal" or request.rescale is not None:
            field = "rescale" if request.weights == "equal" else "weights"
            raise InvalidData.field(field, "is of a suite", "send the task of each item in `tasks`")
        return
    if len(names) > MOST_TASKS or len(names) * len(arms) ** 2 / 2 > MOST_TABLE:
        raise InvalidData.field(
            "tasks", f"are {len(names)}: too many beside {len(arms)} arms", "send fewer tasks, or fewer arms"
        )
    given: dict[str, Mapping[str, object]] = {
        "weights": request.weights if isinstance(request.weights, dict) else {},
        "rescale": request.rescale or {},
    }
    everywhere = {str(task) for task in request.tasks}
    for field, by_name in given.items():
        strange = next((name for name in by_name if name not in everywhere), None)
        if strange is not None:
            raise InvalidData.field(
                f"{field}.{strange}", "is no task of these items", "name the tasks as `tasks` has them"
            )
    lacking = next(
        (name for name in names if isinstance(request.weights, dict) and name not in request.weights), None
    )
    if lacking is not None:
        raise InvalidData.field(
            "weights", f"have none of task '{lacking}'", "name a weight for every task, or send 'equal'"
        )
    own = np.array([str(request.tasks[item]) for item in kept])
    for name in names:
        absent = np.isnan(sent[kept][own == name]).all(axis=0)
        if absent.any():
            arm = arms[int(np.flatnonzero(absent)[0])]
            raise InvalidData.field(
                f"arms.{arm}",
                f"has no outcome in task '{name}', so it has no mean of the suite",
                "leave the arm out, or the task",
            )


def scale_outcomes(request: OfTasks, labels: list[str], columns: Floats) -> Floats:
    """Scale outcomes (n, k) of items of these tasks, each between what its task is measured between."""
    scales = [(request.rescale or {}).get(name) for name in labels]
    floor = np.array([0.0 if scale is None else scale.floor for scale in scales])[:, None]
    length = np.array([1.0 if scale is None else scale.length for scale in scales])[:, None]
    with np.errstate(over="ignore"):
        return np.asarray((columns - floor) / length)


def shares(request: OfTasks, names: list[str], counts: Floats) -> Floats:
    """Return the tasks' weights, which sum to 1, of tasks with so many items. Shape (T,)."""
    if request.weights == "equal":
        return np.full(len(names), 1 / len(names))
    if isinstance(request.weights, dict):
        counts = np.array([request.weights[name] for name in names])
    return np.asarray(counts / counts.sum())


def bounds_of(
    raw: Floats, first: int, tasks: NDArray[np.int64], codes: NDArray[np.int64] | None, weights: Floats
) -> Bounds | None:
    """Bound one arm's mean of the suite from its own items; scores of all arms tell what scores can be.

    `raw`: outcomes (n, k), NaN where there is none; `first`: the arm's column.
    """
    has = ~np.isnan(raw[:, first])
    values, (low, high, seen) = raw[has, first], ends_of(raw, tasks)
    units = np.arange(len(values)) if codes is None else codes_of(codes[has].tolist())
    return Weighed(Design(tasks[has], units), values, weights, low, high, paired=False, seen=seen).bounds


def ends_of(raw: Floats, tasks: NDArray[np.int64]) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Return what every task's scores lie between, NaN unless all lie in 0 to 1, and were seen to lie between. (T,)."""
    scale = UNIT if lies_in_unit(raw[~np.isnan(raw)]) else None
    seen = find_seen_ends(tasks, list(raw.T))
    low, high = (np.full(len(seen[0]), np.nan if scale is None else end) for end in (0.0, 1.0))
    return low, high, seen
