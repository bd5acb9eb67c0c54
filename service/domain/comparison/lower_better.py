"""Comparisons of outcomes of which lower ones are better: turned round, compared, and turned back.

Outcomes become their distance from a point that none of them passes, so that higher ones are better, right and wrong
stay 0 and 1, and what has no result counts as the worst there can be where it counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from service.domain.comparison.records import Comparison, ScaleTaken
from service.domain.comparison.request import ArmRows, ComparisonRequest
from service.domain.comparison.suite_records import SuiteFacts
from service.stats.shared.data.score_range import ScoreRange, lies_in_unit
from service.stats.shared.declaring.common import Interval
from service.stats.shared.methods.suites import SuiteTask


def turning_point(request: ComparisonRequest) -> float:
    """Return the greatest score there can be, where that is known; else 0."""
    if request.range is not None:
        return request.range.high
    columns = [
        np.array([value for value in arm.values if value is not None])
        for arm in (request.baseline, request.candidate)
    ]
    return 1.0 if lies_in_unit(*columns) else 0.0


def turn(request: ComparisonRequest, about: float) -> ComparisonRequest:
    """Return the same rows with every outcome as far below the point as it was above, or above as it was below.

    Raises:
        InvalidData: a score outside the declared range.
    """
    declared = request.range
    changes: dict[str, Any] = {}
    for name in ("baseline", "candidate"):
        arm: ArmRows = getattr(request, name)
        known = np.array([value for value in arm.values if value is not None], dtype=np.float64)
        if declared is not None:
            declared.require({name: known})
        values = [None if value is None else about - value for value in arm.values]
        changes[name] = arm.model_copy(update={"values": values})
    if declared is not None:
        changes["range"] = ScoreRange(low=about - declared.high, high=about - declared.low)
    return request.model_copy(update=changes)


def turn_back(answer: Comparison, about: float) -> Comparison:
    """Return the answer in the outcomes as they were sent; its words already speak of these."""

    def level(value: float | None) -> float | None:
        return None if value is None else about - value

    scale, slices = answer.scale, answer.slices
    changes: dict[str, Any] = {
        "delta": _minus(answer.delta),
        "ci": _mirror(answer.ci),
        "baseline_mean": level(answer.baseline_mean),
        "candidate_mean": level(answer.candidate_mean),
        "tests": tuple(
            test.model_copy(update={"ci": None if test.ci is None else _mirror(test.ci)})
            for test in answer.tests
        ),
        "more": tuple(more.model_copy(update={"truth": _minus(more.truth)}) for more in answer.more),
    }
    if scale is not None:
        changes["scale"] = turn_scale(scale, about)
    if slices is not None:
        results = tuple(
            result.model_copy(update={"delta": _minus(result.delta), "ci": _mirror(result.ci)})
            for result in slices.results
        )
        reversal = slices.reversal
        swapped = reversal.model_copy(update={"gains": reversal.losses, "losses": reversal.gains})
        changes["slices"] = slices.model_copy(update={"results": results, "reversal": swapped})
    if answer.suite is not None:
        changes["suite"] = _turn_suite(answer.suite, level)
    if answer.arms is not None:
        changes["arms"] = answer.arms.model_copy(update={"unadjusted": _minus(answer.arms.unadjusted)})
    return answer.model_copy(update=changes)


def turn_scale(scale: ScaleTaken, about: float) -> ScaleTaken:
    """Return a scale on the other side of the point."""
    return scale.model_copy(update={"low": about - scale.high, "high": about - scale.low})


def _turn_suite(suite: SuiteFacts, level: Callable[[float | None], float | None]) -> SuiteFacts:
    """Estimates and levels as they were sent; who lost stays who got worse."""

    def of_task(task: SuiteTask) -> SuiteTask:
        arms = task.arms
        changes: dict[str, Any] = {"estimate": _minus(task.estimate)}
        for name in ("ci", "simultaneous"):
            interval = getattr(task, name)
            changes[name] = None if interval is None else _mirror(interval)
        if arms is not None:
            means = {name: level(getattr(arms, name)) for name in ("baseline_mean", "candidate_mean")}
            changes["arms"] = arms.model_copy(update=means)
        return task.model_copy(update=changes)

    changes: dict[str, Any] = {"tasks": tuple(of_task(task) for task in suite.tasks)}
    changes["item_weighted"] = _minus(suite.item_weighted)
    unlike = suite.heterogeneity
    if unlike is not None and unlike.prediction is not None:
        changes["heterogeneity"] = unlike.model_copy(update={"prediction": _mirror(unlike.prediction)})
    return suite.model_copy(update=changes)


def _mirror(interval: Interval) -> Interval:
    return interval.model_copy(update={"low": _minus(interval.high), "high": _minus(interval.low)})


def _minus(value: float | None) -> float | None:
    """Return a number with the other sign; 0 stays without a minus."""
    return None if value is None else 0.0 - value
