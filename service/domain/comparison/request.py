"""What a comparison is asked with: two arms' rows by item id, a margin and a level."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from service.domain.faults import Faults
from service.errors import InvalidData
from service.stats.shared.data.score_range import RangeField
from service.stats.shared.data.suites import Rescale, SuiteEstimand, Weights
from service.stats.shared.declaring.columns import require_size
from service.stats.shared.declaring.common import MAX_ITEMS, Finite, Margin, Request
from service.stats.shared.declaring.fields import DecidingLevel, PowerPlannedFor, Unseen

Missing = Literal["exclude_pair", "fail"]
Prefers = Literal["higher", "lower"]
Pairing = Literal["by_id", "none"]
ItemId = Annotated[str, Field(min_length=1, max_length=512)]
_COLUMNS = ("values", "clusters", "slices", "tasks", "replicates")


class ArmRows(Request):
    """One arm's results as columns of equal length."""

    name: str | None = Field(None, max_length=512, description="What sentences call the arm.")
    item_ids: Annotated[list[ItemId], Field(min_length=1, max_length=MAX_ITEMS)] = Field(
        description="Arms are paired by these, never by position."
    )
    values: Annotated[list[Finite | None], Field(max_length=MAX_ITEMS)] = Field(
        description="0 and 1, or scores; null: no result."
    )
    clusters: Annotated[list[ItemId | None], Field(max_length=MAX_ITEMS)] | None = Field(
        None, description="Each item's cluster: items that share one are not independent."
    )
    slices: Annotated[list[ItemId | None], Field(max_length=MAX_ITEMS)] | None = Field(
        None, description="Each item's slice, such as a category; every slice is compared too."
    )
    tasks: Annotated[list[ItemId | None], Field(max_length=MAX_ITEMS)] | None = Field(
        None,
        description="Each item's task: what is answered is then the mean of the tasks, under the suite's weights.",
    )
    replicates: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=MAX_ITEMS)] | None = Field(
        None, description="Which run of the item a row is; runs of an item are averaged."
    )
    covariates: dict[ItemId, Annotated[list[Finite], Field(max_length=MAX_ITEMS)]] | None = Field(
        None,
        min_length=1,
        max_length=20,
        description="Numbers by name that were known of each item before its arm was, such as its score before; of "
        "unpaired arms, whose difference is adjusted by them (CUPED).",
    )

    @model_validator(mode="after")
    def _require_equal_lengths(self) -> Self:
        """Refuse columns and covariates of another length than `item_ids`."""
        faults = Faults()
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None and len(column) != len(self.item_ids):
                message = f"has {len(column)} rows where item_ids has {len(self.item_ids)}"
                faults.add(name, message, "send one entry per row in every column")
        for name, values in (self.covariates or {}).items():
            if len(values) != len(self.item_ids):
                message = f"has {len(values)} rows where item_ids has {len(self.item_ids)}"
                faults.add(f"covariates.{name}", message, "send one entry per row in every column")
        faults.raise_if_any()
        return self


class SuiteAsked(Request):
    """How the tasks make a suite."""

    weights: Weights = "equal"
    rescale: Rescale = None
    estimand: SuiteEstimand = "these_tasks"


SuiteField = Annotated[
    SuiteAsked | None,
    Field(
        description="How items with `tasks` are put together; null: the tasks weigh alike, and are these very tasks."
    ),
]


class ComparisonRequest(Request, defer_build=True):
    """Two arms, and how much worse the candidate may be."""

    baseline: ArmRows
    candidate: ArmRows
    margin: Margin | None = Field(
        None, description="A loss below this is no worse. Null: only better and worse can be told."
    )
    alpha: DecidingLevel = Field(
        0.05, description="Two-sided level; each direction is tested at half of it, a proportion."
    )
    range: RangeField = Field(
        None,
        description="Least and greatest score there can be; null: 0 and 1 where every score lies between them, else "
        "what both arms span.",
    )
    pairing: Pairing = Field(
        "by_id",
        description="`by_id`: both arms have the same items; `none`: each has items of its own, and nothing is paired, "
        "which takes more of them.",
    )
    prefers: Prefers = Field("higher", description="Which outcomes are the better ones.")
    missing: Missing = Field(
        "exclude_pair",
        description="An item without a result in one arm, whether its row is absent or its value null: left out, "
        "or counted as 0 (`fail`), as is then a run that other items of the arm have; where lower is better, as the "
        "greatest score there can be. An item of which neither arm has a result is left out.",
    )
    unseen: Unseen = Field(
        "items",
        description="What bounds in clusters take into account beyond what was seen: single items lost, in clusters "
        "like those seen; or whole `clusters`.",
    )
    suite: SuiteField = None
    power: PowerPlannedFor = Field(0.8, description="What `more` plans for, a proportion.")

    @model_validator(mode="after")
    def _require_computable(self) -> Self:
        """Refuse values too large to compute with, and what pairs alone or unpaired arms alone may have."""
        for name, arm in (("baseline", self.baseline), ("candidate", self.candidate)):
            known = np.array([value for value in arm.values if value is not None], dtype=np.float64)
            require_size(known, f"{name}.values")
            if self.pairing == "by_id" and arm.covariates is not None:
                message = "belong to unpaired arms: a pair has what was known of its item in both"
                raise InvalidData.field(
                    f"{name}.covariates", message, "leave them out, or send pairing 'none'"
                )
        self._require_suite()
        if self.pairing == "by_id":
            return self
        if self.unseen == "clusters":
            raise InvalidData.field(
                "unseen", "clusters is of paired arms", "leave it out, or pair the arms by id"
            )
        if self.baseline.slices is not None or self.candidate.slices is not None:
            fix = "leave slices out, or compare one slice at a time"
            raise InvalidData.field("baseline.slices", "are compared on pairs alone", fix)
        if self.in_tasks:
            fix = "leave tasks out, or compare one task at a time"
            raise InvalidData.field("baseline.tasks", "are compared on pairs alone", fix)
        if set(self.baseline.covariates or ()) != set(self.candidate.covariates or ()):
            raise InvalidData.field(
                "candidate.covariates", "are others than the baseline's", "send the same in both"
            )
        return self

    @property
    def in_tasks(self) -> bool:
        """True where some arm says which task every item is of, so that the comparison is of a suite."""
        return self.baseline.tasks is not None or self.candidate.tasks is not None

    def _require_suite(self) -> None:
        """Refuse what a suite cannot be asked."""
        sliced = self.baseline.slices is not None or self.candidate.slices is not None
        require_suite(self.suite, self.prefers, in_tasks=self.in_tasks, sliced=sliced, path="baseline.")
        if self.in_tasks and self.unseen == "clusters":
            raise InvalidData.field("unseen", "clusters is of one task", "leave it out, or leave tasks out")


def require_suite(
    suite: SuiteAsked | None, prefers: Prefers, *, in_tasks: bool, sliced: bool, path: str
) -> None:
    """Refuse a suite without tasks, tasks beside slices, and scales whose better end nobody said.

    Raises:
        InvalidData: with the field and the way out.
    """
    if suite is not None and not in_tasks:
        raise InvalidData.field("suite", "has no tasks", f"send {path}tasks, each item's task")
    if in_tasks and sliced:
        raise InvalidData.field(f"{path}slices", "are of one task", "leave slices out, or leave tasks out")
    if suite is not None and suite.rescale and prefers == "lower":
        fix = "leave prefers out, and send as the floor of each task the score that is the worst"
        raise InvalidData.field("suite.rescale", "says itself which end of a scale is the better one", fix)
