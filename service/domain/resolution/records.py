"""What is asked of a pilot or a published pair, and what is answered."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from service.domain.faults import Faults
from service.records import Record
from service.stats.shared.declaring.common import MAX_ITEMS, Finite, Reasons, Request, Share
from service.stats.shared.declaring.fields import DecidingLevel

Effect = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Values = Annotated[list[Finite | None], Field(min_length=1, max_length=MAX_ITEMS)]


class ResolutionRequest(Request):
    """A pilot on items of the kind: two columns in one order, and the items' clusters."""

    baseline: Values = Field(description="One value per item; null: missing.")
    candidate: Values = Field(description="The same items in the same order.")
    clusters: Annotated[list[str], Field(max_length=MAX_ITEMS)] | None = Field(
        None, description="Each item's cluster."
    )
    effects: Annotated[list[Effect], Field(min_length=1, max_length=5)] | None = Field(
        None, description="True differences to give the power of, proportions or score units; null: 0.02 of 0 and 1, "
        "else a fifth of the differences' SD."
    )  # fmt: skip
    alpha: DecidingLevel = Field(0.05, description="Two-sided level, a proportion.")

    @model_validator(mode="after")
    def _require_equal_lengths(self) -> Self:
        faults = Faults()
        for name, column in (("candidate", self.candidate), ("clusters", self.clusters)):
            if column is not None and len(column) != len(self.baseline):
                message = f"has {len(column)} values where baseline has {len(self.baseline)}"
                faults.add(name, message, "send one per item, in the same order")
        faults.raise_if_any()
        return self


class AuditRequest(Request):
    """Two published accuracies on the same items, without their rows."""

    n: Annotated[int, Field(ge=1, le=100_000)] = Field(description="Items, a count.")
    baseline: Share = Field(description="The baseline's accuracy, a proportion.")
    candidate: Share = Field(description="The candidate's, on the same items.")
    n_clusters: Annotated[int, Field(ge=2, le=100_000)] | None = Field(
        None, description="Clusters that the items come in, taken as equally large."
    )
    icc: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = Field(
        None, description="Assumed intraclass correlation of the item differences; null: 0.05 with clusters."
    )
    effects: Annotated[list[Effect], Field(min_length=1, max_length=5)] | None = Field(
        None, description="True differences to give the power of, proportions; null: 0.02."
    )
    alpha: DecidingLevel = Field(0.05, description="Two-sided level, a proportion.")

    @model_validator(mode="after")
    def _require_items_in_clusters(self) -> Self:
        if self.n_clusters is not None and self.n_clusters > self.n:
            faults = Faults()
            faults.add("n_clusters", f"is {self.n_clusters} where there are {self.n} items", "send fewer")
            faults.raise_if_any()
        return self


class PowerAgainst(Record):
    """The chance to tell one true difference."""

    effect: float = Field(description="A proportion or score units.")
    power: float
    needed: int | None = Field(description="Items or clusters for a power of 80 %; null: beyond ten million.")


class Reach(Record):
    """What is told with so many independent units."""

    unit: Literal["items", "clusters"]
    units: int
    method: str
    detectable_80: float | None = Field(
        description="Smallest true difference that is told in 80 of 100 studies; null: none is."
    )
    detectable_90: float | None
    least_p: float = Field(
        description="The least two-sided p of signs: all on one side; of 0 and 1 with the pilot's discordant items."
    )
    power: tuple[PowerAgainst, ...]


class Resolution(Record):
    """What a pilot's items, or as many clusters, can resolve."""

    headline: str = Field(description="The smallest difference that is told in 80 of 100 studies, in a line.")
    open: str = Field(description="What would not be shown so often; empty: nothing is.")
    sentence: str
    next: str
    n: int = Field(description="Items with both results, a count.")
    n_clusters: int | None
    binary: bool
    discordance: float | None = Field(description="Share of items on which the arms differ; of 0 and 1.")
    sd: float = Field(description="Of the item differences.")
    icc: float | None = Field(description="Of the item differences in clusters, by ANOVA, at least 0.")
    reach: tuple[Reach, ...] = Field(description="By items, and by clusters where there are any.")
    reasons: Reasons


class Compatible(Record):
    """One end of what the published pair is compatible with."""

    n_discordant: int
    p_value: float = Field(description="Exact McNemar, two-sided.")
    low: float = Field(description="Of Tango's interval of the difference.")
    high: float
    reach: tuple[Reach, ...]


class Audit(Record):
    """A published pair of accuracies without rows: bounds over every fourfold table that gives them."""

    headline: str = Field(description="Whether the accuracies alone tell the pair apart, in a line.")
    open: str = Field(description="What the accuracies leave open.")
    sentence: str
    next: str
    n: int
    delta: float
    correct: tuple[int, int] = Field(description="Items right, as whole numbers nearest to the accuracies.")
    alpha: float
    least: Compatible = Field(description="As few discordant items as the accuracies allow.")
    most: Compatible = Field(description="As many.")
    significant_up_to: float | None = Field(
        description="Share of discordant items up to which McNemar rejects; null: no table does."
    )
    icc: float | None
