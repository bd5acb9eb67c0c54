"""What is asked about these very items, and what is answered: of every version."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.repeats.fixed_items import RunSets, cells_of
from service.stats.shared.data.replicates import Replicates
from service.stats.shared.data.score_range import UNIT, RangeField, ScoreRange, lies_in_unit
from service.stats.shared.declaring.columns import require_arms, require_equal_lengths, require_size
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, Request
from service.stats.shared.declaring.fields import Alpha, Clusters, ItemCount, LevelOfAll


class FixedItemsRequest(Request):
    """Two arms on the same items, or one arm, with two runs or more of every item."""

    elsewhere: ClassVar = {"threshold": "one-sample-mean", "margin": "equivalence"}

    baseline: Replicates | None = Field(
        None,
        description="Baseline arm: a list per item with the outcomes of its runs; leave it out for one arm.",
    )
    candidate: Replicates | None = Field(
        None, description="Candidate arm: the same, same order of items; numbers of runs may differ."
    )
    values: Replicates | None = Field(
        None, description="One arm: a list per item with the outcomes of its runs."
    )
    clusters: Clusters = None
    range: RangeField = None
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: LevelOfAll = 0.95

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse items with a single run, one arm and two at once, and outcomes outside the range."""
        arms = {"values": self.values, "baseline": self.baseline, "candidate": self.candidate}
        sent = require_arms(arms)
        require_equal_lengths({**arms, "clusters": self.clusters})
        for name, arm in arms.items():
            if arm is None:
                continue
            lone = next((item for item, runs in enumerate(arm) if len(runs) < 2), None)
            if lone is not None:
                raise InvalidData.field(
                    f"{name}.{lone}",
                    "is an item with one run, whose spread is not known",
                    "send two runs or more of every item, or speak of items like these: `repeated`",
                )
            require_size(np.array([x for runs in arm for x in runs], dtype=np.float64), name)
        if self.range is not None:
            self.range.require({name: self._flat(name) for name in sorted(sent)})
        return self

    def _flat(self, name: str) -> NDArray[np.float64]:
        return np.array([x for runs in getattr(self, name) or () for x in runs], dtype=np.float64)

    @property
    def arms(self) -> tuple[Replicates, ...]:
        """The one that was sent, or baseline and candidate."""
        if self.values is not None:
            return (self.values,)
        return (self.baseline or [], self.candidate or [])

    @cached_property
    def outcomes(self) -> NDArray[np.float64]:
        """Outcomes of all runs of all arms in one column, shape (runs,)."""
        return np.array([x for arm in self.arms for runs in arm for x in runs], dtype=np.float64)

    @cached_property
    def known(self) -> ScoreRange | None:
        """The range that was declared, or 0 and 1 where every outcome lies between them."""
        if self.range is not None:
            return self.range
        return UNIT if lies_in_unit(self.outcomes, self.outcomes) else None

    @cached_property
    def items(self) -> RunSets:
        """What is computed with: in the range that is known, or in the one that was seen."""
        low, high = float(self.outcomes.min()), float(self.outcomes.max())
        if self.known is not None:
            low, high = self.known.low, self.known.high
        return RunSets(tuple(cells_of([np.array(runs) for runs in arm]) for arm in self.arms), low, high)


class FixedItemsAnalysis(Analysis):
    """What these items show: the mean over endless runs of them, or by how much two arms differ there."""

    delta: float | None = Field(description="Candidate minus baseline, mean over items; null of one arm.")
    mean: float | None = Field(description="Of one arm its mean over items; null of two.")
    ci: Interval = Field(description="Interval of it for these items over endless runs.")
    p_value: float | None = Field(description="Of no difference; null of one arm.")
    se: float = Field(description="Standard error that comes from runs alone, in the unit of the outcomes.")
    df: float | None = Field(
        description="Degrees of freedom; null where no run differs from another of its item."
    )
    step: float = Field(description="By how much a single run can move delta, or the mean, at most.")
    alternative: Alternative
    n: ItemCount
    n_runs: int = Field(description="Runs of all items and arms, a count.")
    n_varying: int = Field(description="Items of an arm whose runs are not all alike, a count over arms.")
