"""Each arm on the items that a hypothesis is judged on: its mean with an interval, its spread and its ends."""

from __future__ import annotations

from itertools import compress
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.domain.plans.items.suite_items import Tasks
from service.domain.rules.settings import Setting
from service.domain.verdicts.outcomes import PlanViolatedError, Rows
from service.domain.verdicts.pairs import Paired, pair_up
from service.domain.verdicts.worst_case import extremes
from service.kernels.numeric.binomial import clopper_pearson
from service.kernels.numeric.clusters import cluster_sums, codes_of, robust_errors
from service.kernels.numeric.moments import moments
from service.kernels.numeric.t_distribution import t_quantile
from service.kernels.suites.design import Design
from service.records import Record
from service.stats.shared.methods.weighing import Weighed

LEVEL = 0.95


class ArmSummary(Record):
    """One arm in numbers, in the unit of its endpoint: proportions where it is binary."""

    arm: str
    n: int = Field(description="Items.")
    n_clusters: int | None = Field(description="Null where items are independent.")
    mean: float
    sd: float | None = Field(description="Over items, ddof 1; null for one item.")
    median: float
    min: float
    max: float
    low: float | None = Field(description="Of the interval of the mean; null where there is none.")
    high: float | None
    level: float = LEVEL
    method: Literal["clopper_pearson", "t", "cr2_t", "furthest"] | None = Field(
        description="Null without an interval: of one item, one cluster, or values that are all equal."
    )


def arm_summaries(setting: Setting, rows: Rows) -> tuple[ArmSummary, ...]:
    """Return the arms on the items of the verdict; none where the results break the plan or no item is left.

    Clusters widen the intervals where the population has them. Both arms answer the same items: how far apart they
    are is told by the interval of the difference, not by whether these overlap.
    """
    try:
        paired = pair_up(setting, rows)
    except PlanViolatedError:
        return ()
    if paired.n == 0:
        return ()
    codes, arms = _codes(paired), setting.hypothesis.arms
    columns = (paired.baseline, paired.candidate)[-len(arms) :]
    if paired.tasks is not None:
        if paired.tasks.lacking:
            return ()
        return tuple(
            _of_suite(name, values, codes, paired, paired.tasks)
            for name, values in zip(arms, columns, strict=True)
        )
    return tuple(
        summary_of(name, values, codes, binary=paired.endpoint.collapsed_kind == "binary")
        for name, values in zip(arms, columns, strict=True)
    )


def summary_of(
    arm: str, values: NDArray[np.float64], codes: NDArray[np.int64] | None, *, binary: bool
) -> ArmSummary:
    """One column in numbers.

    Args:
        values: one per item, shape (n,), n at least 1.
        codes: number of each item's cluster, shape (n,); None where items are independent.
        binary: values are 0 and 1, and items independent: Clopper-Pearson instead of t.

    Example:
        75, 76, 74, 77, 95: mean 79.4, SD 8.79 and, by t on 4 degrees of freedom, 68.5 to 90.3.
    """
    summary = moments(values)
    method: Literal["clopper_pearson", "t", "cr2_t"] | None = None
    ends: tuple[float | None, float | None] = (None, None)
    if codes is not None:
        # Around the mean: residuals' sums by cluster, whose mean is 0.
        groups = cluster_sums(values - summary.mean, codes)
        if groups.n_clusters > 1 and (error := robust_errors(groups)["cr2"]).se > 0:
            method, ends = "cr2_t", _around(summary.mean, error.se, error.df)
    elif binary:
        method, ends = "clopper_pearson", clopper_pearson(int(values.sum()), summary.n, LEVEL)
    elif summary.sd:
        method, ends = "t", _around(summary.mean, summary.sd / summary.n**0.5, summary.n - 1)
    return ArmSummary(
        arm=arm,
        n=summary.n,
        n_clusters=None if codes is None else int(codes.max()) + 1,
        mean=summary.mean,
        sd=summary.sd,
        median=float(np.median(values)),
        min=float(values.min()),
        max=float(values.max()),
        low=ends[0],
        high=ends[1],
        method=method,
    )


def _of_suite(
    arm: str, values: NDArray[np.float64], codes: NDArray[np.int64] | None, paired: Paired, tasks: Tasks
) -> ArmSummary:
    """The arm's mean of the tasks under their weights; its other numbers are over all items, on the suite's scale."""
    column = tasks.rescale(values)
    ends = extremes(paired.endpoint)
    low, high = (
        np.full(len(tasks.names), np.nan)
        if ends is None
        else np.array([(end - float(floor)) / float(length) for floor, length in tasks.scales])
        for end in ((np.nan, np.nan) if ends is None else (ends.low, ends.high))
    )
    units = np.arange(len(column)) if codes is None else codes
    weights = np.array([float(weight) for weight in tasks.weights])
    weighed = Weighed(Design(tasks.codes, units), column, weights, low, high, paired=False)
    bounds = weighed.bounds
    around = (None, None) if bounds is None else bounds.ends((1 - LEVEL) / 2)
    return ArmSummary(
        arm=arm,
        n=len(column),
        n_clusters=None if codes is None else int(codes.max()) + 1,
        mean=weighed.mean,
        sd=None,
        median=float(np.median(column)),
        min=float(column.min()),
        max=float(column.max()),
        low=around[0],
        high=around[1],
        method=None if bounds is None else bounds.method,
    )


def _around(mean: float, se: float, df: float) -> tuple[float, float]:
    half = t_quantile((1 + LEVEL) / 2, df) * se
    return mean - half, mean + half


def _codes(paired: Paired) -> NDArray[np.int64] | None:
    clusters = paired.manifest.clusters
    if paired.population.clusters is None or clusters is None:
        return None
    return codes_of(list(compress(clusters, paired.kept.tolist())))
