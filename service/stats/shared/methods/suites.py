"""What is told of the tasks of a suite beside their mean."""

from __future__ import annotations

from pydantic import Field

from service.records import Record
from service.stats.shared.declaring.common import Interval
from service.stats.shared.declaring.fields import ClusterCount, ItemCount
from service.stats.shared.methods.slice_records import Standing


class TaskArms(Record):
    """A task of two arms: which is ahead there, beyond chance over all tasks."""

    baseline_mean: float = Field(description="The baseline's mean of the task, rescaled where the task is.")
    candidate_mean: float = Field(description="The candidate's.")
    p_lost: float = Field(
        description="One-sided p of H0: the candidate is not behind. Stepwise over all tasks (family-wise)."
    )
    p_gained: float = Field(description="The same of H0: it is not ahead.")
    lost: bool = Field(description="Shown to be behind: `p_lost` is below alpha / 2.")
    gained: bool = Field(description="Shown to be ahead: `p_gained` is below alpha / 2.")
    standing: Standing | None = Field(
        description="Against the margin: `pass`: shown to lose less; `fail`: shown to lose more, by Holm over tasks."
    )


class SuiteTask(Record):
    """One task of the suite: its weight, its mean and the interval of that."""

    name: str = Field(description="As sent.")
    weight: float = Field(description="Its share of the suite, a proportion.")
    n: ItemCount
    n_clusters: ClusterCount
    estimate: float = Field(description="Mean, or mean difference of two arms; rescaled where the task is.")
    se: float | None = Field(description="Its standard error, CR2 with clusters.")
    df: float | None = Field(description="Its degrees of freedom.")
    ci: Interval | None = Field(description="Of this task alone, at 1 - alpha.")
    simultaneous: Interval | None = Field(
        description="One of all tasks at once: with chance 1 - alpha all hold."
    )
    arms: TaskArms | None = Field(description="Of two arms.")


class NoneLoses(Record):
    """Whether no task loses more than the margin."""

    margin: float = Field(description="What a task may lose, a proportion or score units.")
    outcome: Standing = Field(
        description="`pass`: shown of every task (intersection-union: no correction is needed); `fail`: a task is "
        "shown to lose more, by Holm over the tasks; `cannot_tell`: neither."
    )
    p_value: float | None = Field(
        description="The largest of the tasks' p of a loss of the margin, one-sided."
    )


class Losses(Record):
    """What the tasks of two arms say beside their mean."""

    lost: tuple[str, ...] = Field(description="Tasks shown to have lost, family-wise.")
    gained: tuple[str, ...] = Field(description="Tasks shown to have gained, family-wise.")
    none_loses: NoneLoses | None = Field(description="Where a margin was given.")


class Heterogeneity(Record):
    """Whether tasks are alike, and how far another one may be off."""

    q: float = Field(description="Cochran's Q, a chi-square of `df` if tasks are alike and independent.")
    df: int = Field(description="Tasks less one, a count.")
    p_value: float | None = Field(
        description="Of H0: all tasks have one true value. Welch's; where clusters span tasks, by their signs."
    )
    i2: float = Field(description="Share of the tasks' spread that is no noise, a proportion.")
    tau: float = Field(description="SD of the tasks' true values (DerSimonian and Laird), score units.")
    prediction: Interval | None = Field(description="Where the true value of another such task would lie.")
