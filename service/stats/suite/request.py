"""What a suite is asked with: outcomes of one arm or of two, each item's task, weights and scales."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of
from service.kernels.numeric.moments import paired_differences
from service.kernels.suites.design import Design
from service.stats.shared.data.score_range import UNIT, RangeField, lies_in_unit
from service.stats.shared.data.suites import MOST_TASKS, Rescale, SuiteEstimand, Weights
from service.stats.shared.declaring.columns import (
    is_binary,
    require_arms,
    require_equal_lengths,
    require_size,
    require_two_clusters,
)
from service.stats.shared.declaring.common import Column, Finite, Labels, Margin, Proportion, Request
from service.stats.shared.declaring.fields import Clusters, DrawSeed
from service.stats.shared.methods.resampling import DEFAULT_DRAWS, first_seed

Floats = NDArray[np.float64]


class SuiteRequest(Request):
    """Items of several tasks, each with one outcome of one arm or with those of two."""

    elsewhere: ClassVar = {"arms": "leaderboard"}

    tasks: Labels = Field(description="Task of each item, a label per item, same order.")
    values: Column | None = Field(None, description="One arm's outcome of each item; or send two arms.")
    baseline: Column | None = Field(None, description="Baseline arm, one value per item, same order.")
    candidate: Column | None = Field(None, description="Candidate arm, one value per item, same order.")
    clusters: Clusters = None
    weights: Weights = "equal"
    rescale: Rescale = None
    estimand: SuiteEstimand = "these_tasks"
    range: RangeField = None
    margin: Margin | None = Field(
        None,
        description="How much a task may lose, for `losses.none_loses`; of two arms. Of rescaled tasks unit 'score'.",
    )
    threshold: Finite | None = Field(
        None,
        description="What the suite's mean is compared with, for `p_above` and `p_below`; null: nothing.",
    )
    alpha: Proportion = Field(
        0.05,
        description="Two-sided level of the intervals is 1 - alpha; each direction is tested at half of it.",
    )
    n_resamples: int | None = Field(
        None,
        ge=100,
        le=100_000,
        description="Draws of signs, a count, where clusters span tasks; else nothing is drawn. Default 10,000.",
    )
    seed: DrawSeed = None

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Require columns of equal length and of numbers that can be computed with, and a margin for two arms only."""
        arms = {"values": self.values, "baseline": self.baseline, "candidate": self.candidate}
        sent = require_arms(arms)
        require_equal_lengths({**arms, "tasks": self.tasks, "clusters": self.clusters})
        require_two_clusters(self.clusters)
        columns = {name: np.asarray(arms[name], dtype=np.float64) for name in sorted(sent)}
        for name, column in columns.items():
            require_size(column, name)
        if self.range is not None:
            self.range.require(columns)
        if len(self.names) > MOST_TASKS:
            raise InvalidData.field(
                "tasks", f"are {len(self.names)}, and {MOST_TASKS} are answered at once", "send fewer tasks"
            )
        self._require_named()
        for column in (self.column, *self.arms.values()):
            require_size(column, "rescale")
        if self.margin is not None:
            if not self.paired:
                raise InvalidData.field(
                    "margin", "is what a task may lose, and one arm loses nothing", "send two arms"
                )
            if not self.margin.for_endpoint(binary=self.points):
                raise InvalidData.field("margin", "is too small to be computed with", "send a larger one")
        return self

    def _require_named(self) -> None:
        """Refuse weights that lack a task, and weights or scales of tasks that there are not."""
        fields = {
            "weights": self.weights if isinstance(self.weights, dict) else None,
            "rescale": self.rescale,
        }
        for field, given in fields.items():
            strange = next((name for name in given or () if name not in self.names), None)
            if strange is not None:
                raise InvalidData.field(
                    f"{field}.{strange}", "is no task of these items", "name the tasks as `tasks` has them"
                )
        if isinstance(self.weights, dict):
            lacking = next((name for name in self.names if name not in self.weights), None)
            if lacking is not None:
                raise InvalidData.field(
                    "weights",
                    f"have none of task '{lacking}'",
                    "name a weight for every task, or send 'equal'",
                )

    @cached_property
    def names(self) -> list[str]:
        """The tasks, by first appearance."""
        return [str(name) for name in dict.fromkeys(self.tasks)]

    @property
    def paired(self) -> bool:
        """Whether there are two arms."""
        return self.values is None

    @cached_property
    def design(self) -> Design:
        """Which task and which cluster every item is of."""
        tasks = codes_of(self.tasks)
        units = np.arange(len(tasks)) if self.clusters is None else codes_of(self.clusters)
        return Design(tasks, units)

    @cached_property
    def share(self) -> Floats:
        """The tasks' weights, which sum to 1. Shape (T,)."""
        if self.weights == "equal":
            return np.full(len(self.names), 1 / len(self.names))
        counts = self.design.items
        if isinstance(self.weights, dict):
            counts = np.array([self.weights[name] for name in self.names])
        return np.asarray(counts / counts.sum())

    @cached_property
    def arms(self) -> dict[str, Floats]:
        """The outcomes of each arm, rescaled. Shapes (n,)."""
        sent = {"values": self.values, "baseline": self.baseline, "candidate": self.candidate}
        floor, length = self._scales
        tasks = self.design.tasks
        with np.errstate(over="ignore"):
            return {
                name: (np.asarray(column, dtype=np.float64) - floor[tasks]) / length[tasks]
                for name, column in sent.items()
                if column is not None
            }

    @cached_property
    def column(self) -> Floats:
        """What is averaged: the arm's outcomes, or candidate minus baseline, rescaled. Shape (n,)."""
        if self.values is not None:
            return self.arms["values"]
        raw = paired_differences(
            *(np.asarray(arm, dtype=np.float64) for arm in (self.baseline, self.candidate))
        )
        with np.errstate(over="ignore"):
            return np.asarray(raw / self._scales[1][self.design.tasks])

    @cached_property
    def _scales(self) -> tuple[Floats, Floats]:
        """Floor of every task, and how far its ceiling lies above. Shapes (T,)."""
        scales = [(self.rescale or {}).get(name) for name in self.names]
        floor = [0.0 if scale is None else scale.floor for scale in scales]
        return np.array(floor), np.array([1.0 if scale is None else scale.length for scale in scales])

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The least and the greatest outcome of every task, rescaled; NaN where nobody knows. Shapes (T,)."""
        low, high = (np.full(len(self.names), np.nan) for _ in range(2))
        raw = [
            np.asarray(column, dtype=np.float64)
            for column in (self.values, self.baseline, self.candidate)
            if column
        ]
        for task in range(len(self.names)):
            of_task = self.design.tasks == task if self.range is None else slice(0)
            scale = self.range or (UNIT if lies_in_unit(*(column[of_task] for column in raw)) else None)
            if scale is not None:
                low[task], high[task] = scale.low, scale.high
        floor, length = self._scales
        ends = (low - floor) / length, (high - floor) / length
        return np.minimum(*ends), np.maximum(*ends)

    @cached_property
    def binary(self) -> bool:
        """Every outcome is 0 or 1 as it was sent."""
        sent = [column for column in (self.values, self.baseline, self.candidate) if column is not None]
        return is_binary(*(np.asarray(column, dtype=np.float64) for column in sent))

    @property
    def right_or_wrong(self) -> bool:
        """Outcomes are 0 or 1, and none other was declared possible."""
        return self.binary and (self.range is None or self.range == UNIT)

    @property
    def points(self) -> bool:
        """Outcomes are right and wrong and keep their scale, so that means are shares."""
        return self.binary and self.rescale is None

    @property
    def unit_taken(self) -> bool:
        """Whether 0 and 1 are taken for the ends of scores in some task, where nobody declared a range."""
        return self.range is None and not self.binary and bool(np.isfinite(self.ends[0]).any())

    @property
    def draws(self) -> int:
        """How many, where signs are drawn."""
        return self.n_resamples or DEFAULT_DRAWS

    @property
    def first_seed(self) -> int:
        """The seed that the draws begin with: the one sent, or the one that stands for none."""
        return first_seed(self.seed)
