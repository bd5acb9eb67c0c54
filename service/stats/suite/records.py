"""What the test of a suite answers: its mean, its tasks, and how they differ."""

from __future__ import annotations

from pydantic import Field

from service.stats.shared.data.suites import SuiteEstimand
from service.stats.shared.declaring.common import Analysis, Interval
from service.stats.shared.declaring.fields import ClusterCount, ItemCount
from service.stats.shared.methods.suites import Heterogeneity, Losses, SuiteTask


class SuiteAnalysis(Analysis):
    """The mean of a suite, and every task beside it."""

    estimate: float = Field(
        description="The suite's mean: its tasks' means (of two arms, their differences) under the weights."
    )
    ci: Interval | None = Field(description="Of the suite's mean, at 1 - alpha; `method` names it.")
    every: Interval | None = Field(
        description="Of every task: each lies above `low`, and each below `high`, with chance alpha / 2 of error each. "
        "The outermost of the tasks' own ends (intersection-union: no correction is needed)."
    )
    se: float | None = Field(description="Its standard error.")
    df: float | None = Field(description="Its degrees of freedom, Satterthwaite's.")
    p_value: float | None = Field(
        description="Two-sided, of no difference: the interval turned around. Of two arms."
    )
    p_above: float | None = Field(
        description="One-sided p of H0: the suite's mean is at most the threshold. The interval turned around."
    )
    p_below: float | None = Field(description="The same of H0: it is at least the threshold.")
    item_weighted: float = Field(
        description="The mean over all items whatever their task: another quantity, and not the suite's."
    )
    baseline_mean: float | None = Field(description="The baseline's mean of the suite, of two arms.")
    candidate_mean: float | None = Field(description="The candidate's.")
    tasks: tuple[SuiteTask, ...] = Field(description="By first appearance.")
    losses: Losses | None = Field(description="Of two arms.")
    heterogeneity: Heterogeneity | None = Field(description="Whether the tasks are alike.")
    critical_value: float = Field(
        description="What the simultaneous intervals are made with, on the scale of the normal law."
    )
    estimand: SuiteEstimand
    paired: bool = Field(description="Two arms on the same items, so that estimates are differences.")
    binary: bool = Field(description="Every outcome is 0 or 1 and no task is rescaled: estimates are shares.")
    n: ItemCount
    n_tasks: int = Field(description="Tasks, a count.")
    n_clusters: ClusterCount
    n_spanning: int = Field(description="Clusters with items of several tasks, a count.")
