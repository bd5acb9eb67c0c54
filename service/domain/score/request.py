"""What a score is asked with: one arm's rows by item id, and perhaps a threshold."""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from service.domain.comparison.request import ArmRows, Missing, Prefers, SuiteField, require_suite
from service.stats.shared.data.score_range import RangeField
from service.stats.shared.declaring.columns import require_size
from service.stats.shared.declaring.common import Finite
from service.stats.shared.declaring.fields import DecidingLevel, PowerPlannedFor


class ScoreRequest(ArmRows):
    """One arm's results, and what its mean should reach."""

    threshold: Finite | None = Field(
        None, description="What the mean should reach, in its unit, e.g. 0.95; null: nothing is asked of it."
    )
    prefers: Prefers = Field(
        "higher",
        description="Which outcomes are the better ones; with `lower` the mean should not exceed the threshold.",
    )
    alpha: DecidingLevel = Field(
        0.05, description="Two-sided level; each side of the threshold is tested at half of it, a proportion."
    )
    range: RangeField = None
    missing: Missing = Field(
        "exclude_pair",
        description="An item without a result: left out, or counted as the worst outcome there can be (`fail`), as is "
        "then a run that other items have.",
    )
    suite: SuiteField = None
    power: PowerPlannedFor = Field(0.8, description="What `against.more` plans for, a proportion.")

    @model_validator(mode="after")
    def _require_computable(self) -> Self:
        require_size(
            np.array([value for value in self.values if value is not None], dtype=np.float64), "values"
        )
        require_suite(
            self.suite, self.prefers, in_tasks=self.tasks is not None, sliced=self.slices is not None, path=""
        )
        return self
