"""The tasks of a suite, each and beside one another: their intervals, which of them lost, and how they differ."""

from __future__ import annotations

import numpy as np
from scipy import special

from service.kernels.suites.heterogeneity import unlike
from service.kernels.suites.rare import LEAST_P
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring.common import Interval
from service.stats.shared.methods.slice_records import Standing
from service.stats.shared.methods.slicing import overall, standings
from service.stats.shared.methods.suites import Heterogeneity, Losses, NoneLoses, SuiteTask, TaskArms
from service.stats.suite.working import Working


def judge_losses(
    working: Working, reasons: dict[str, str], floors: dict[str, str]
) -> tuple[Losses | None, list[TaskArms | None]]:
    """Return which tasks lost and gained, with p adjusted over all tasks, and where each stands against the margin.

    Returns:
        What is said of all tasks, and of each task its two arms in the order of the request's names; None of one arm.
    """
    request, weighed, tail = working.request, working.weighed, working.tail
    names = request.names
    if not request.paired:
        return None, [None] * len(names)
    bounds = weighed.task_bounds
    lost, gained = (
        working.joint.adjust(
            np.array(
                [
                    1.0 if bound is None else (bound.p_below(0.0) if side else bound.p_above(0.0))
                    for bound in bounds
                ]
            )
        )
        for side in (1, 0)
    )
    margin = None if request.margin is None else float(request.margin.for_endpoint(binary=request.points))
    places: list[tuple[Standing, float | None, float | None]] = []
    none_loses = None
    if margin is None:
        reasons |= dict.fromkeys(("losses.none_loses", "tasks.arms.standing"), "no margin was given")
    else:
        p = [None if bound is None else bound.p_above(-margin) for bound in bounds]
        p_loss = [None if bound is None else bound.p_below(-margin) for bound in bounds]
        places = list(standings(p, p_loss, tail))
        known = [value for value in p if value is not None]
        worst = max(known) if len(known) == len(p) else None
        if worst is None:
            reasons["losses.none_loses.p_value"] = "some task has no interval"
        none_loses = NoneLoses(
            margin=margin,
            outcome=overall([standing for standing, _, _ in standings(p, p_loss, tail)]),
            p_value=apply_floor(worst, "losses.none_loses.p_value", floors, LEAST_P),
        )
    before, after = (request.design.means(request.arms[name]) for name in ("baseline", "candidate"))
    arms = [
        TaskArms(
            baseline_mean=float(before[at]),
            candidate_mean=float(after[at]),
            p_lost=apply_floor(float(lost[at]), f"tasks.{at}.arms.p_lost", floors, LEAST_P),
            p_gained=apply_floor(float(gained[at]), f"tasks.{at}.arms.p_gained", floors, LEAST_P),
            lost=bool(lost[at] < tail),
            gained=bool(gained[at] < tail),
            standing=places[at][0] if places else None,
        )
        for at in range(len(names))
    ]
    behind = tuple(name for name, one in zip(names, arms, strict=True) if one.lost)
    ahead = tuple(name for name, one in zip(names, arms, strict=True) if one.gained)
    return Losses(lost=behind, gained=ahead, none_loses=none_loses), [*arms]


def describe_task(
    working: Working, at: int, arms: list[TaskArms | None], reasons: dict[str, str]
) -> SuiteTask:
    """Return one task with its interval alone and its interval beside all others; `at`: its place among the names.

    What it lacks is written to `reasons`.
    """
    request, weighed = working.request, working.weighed
    bounds = weighed.task_bounds[at]
    own = simultaneous = None
    if bounds is None:
        why = "a single cluster or item says nothing of others"
        why = why if at in weighed.lone else "nothing varies, and no range is known of the scores"
        reasons |= {f"tasks.{at}.{name}": why for name in ("se", "df", "ci", "simultaneous")}
    else:
        level = 1 - request.alpha
        own, simultaneous = (
            Interval(low=low, high=high, level=level, method=bounds.method)
            for low, high in (bounds.ends(working.tail), bounds.ends(float(special.ndtr(-working.critical))))
        )
    return SuiteTask(
        name=request.names[at],
        weight=float(request.share[at]),
        n=int(request.design.items[at]),
        n_clusters=None if request.clusters is None else int(request.design.units_of_task[at]),
        estimate=float(weighed.means[at]),
        se=None if bounds is None else bounds.se * bounds.unit,
        df=None if bounds is None else bounds.df,
        ci=own,
        simultaneous=simultaneous,
        arms=arms[at],
    )


def bound_every_task(tasks: tuple[SuiteTask, ...], level: float, reasons: dict[str, str]) -> Interval | None:
    """Bound all tasks: from the least lower end to the greatest upper end of their own intervals.

    It misses below only where the interval of the truly least task does, and above likewise, so that no correction is
    needed (intersection-union, Berger 1982). None, with its reason, where some task has no interval.
    """
    known = [task.ci for task in tasks if task.ci is not None]
    lows = [interval.low for interval in known if interval.low is not None]
    highs = [interval.high for interval in known if interval.high is not None]
    if len(lows) < len(tasks) or len(highs) < len(tasks):
        reasons["every"] = "some task has no interval"
        return None
    return Interval(low=min(lows), high=max(highs), level=level, method="intersection_union")


def compare_tasks(working: Working, reasons: dict[str, str], floors: dict[str, str]) -> Heterogeneity | None:
    """Tell whether the tasks are alike, by Cochran's Q, and where another task would lie.

    None, with its reason, of a single task, and where a task has no error to be weighed by.
    """
    request, weighed = working.request, working.weighed
    if len(request.names) < 2 or weighed.lone or not np.all(weighed.variances > 0):
        why = (
            "there is a single task"
            if len(request.names) < 2
            else "some task has no error to be compared with"
        )
        reasons["heterogeneity"] = why
        return None
    unit, design = weighed.unit, request.design
    unlike_tasks = unlike(
        weighed.means / unit, design.covariances(weighed.scores), design.task_df, working.joint.signed
    )
    if unlike_tasks is None:
        reasons["heterogeneity"] = "some task has no error to be compared with"
        return None
    if unlike_tasks.p is None:
        reasons["heterogeneity.p_value"] = (
            "clusters span tasks, and there are too many of both to draw their signs"
        )
    ends = unlike_tasks.prediction(1 - request.alpha)
    low, high = request.ends[0] / unit, request.ends[1] / unit
    # No task's true value lies beyond what its scores can be, nor a difference beyond the length of that.
    if ends is not None and np.isfinite(low).all():
        least, most = float(low.min()), float(high.max())
        reach = (least - most, most - least) if request.paired else (least, most)
        ends = max(ends[0], reach[0]), min(ends[1], reach[1])
    if ends is None:
        reasons["heterogeneity.prediction"] = "two tasks say nothing of how far tasks spread"
    return Heterogeneity(
        q=unlike_tasks.q,
        df=unlike_tasks.df,
        p_value=apply_floor(unlike_tasks.p, "heterogeneity.p_value", floors),
        i2=unlike_tasks.i2,
        tau=float(np.sqrt(unlike_tasks.tau2)) * unit,
        prediction=None
        if ends is None
        else Interval(low=ends[0] * unit, high=ends[1] * unit, level=1 - request.alpha, method="prediction"),
    )
