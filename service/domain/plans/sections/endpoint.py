"""An endpoint of a plan: what is measured on every item."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from service.domain.plans.sections.labels import LabelDraw
from service.domain.plans.strings import Line, Token
from service.records import StrictRecord
from service.stats.shared.declaring.common import Finite

Estimand = Literal["items_like_these", "these_items"]
Collapse = Literal["mean", "majority", "first", "any_of_k", "all_of_k"]
MAX_LIST = 200
"""Entries that one list of a plan may have."""


class Judge(StrictRecord):
    """The model that scores answers."""

    model: Line = Field(description="Its name.")
    version: Line | None = Field(None, description="Which release of the model.")
    prompt_sha256: Line | None = Field(None, description="SHA-256 of its prompt.")


class Bounds(StrictRecord):
    """The scale of a continuous endpoint: no value lies outside."""

    low: Finite = Field(description="Least value.")
    high: Finite = Field(description="Greatest value; above `low`.")

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        if self.low >= self.high:
            raise PydanticCustomError(
                "not_ordered", "the lower bound must be below the upper one", {"fix": "swap the bounds"}
            )
        return self


class Endpoint(StrictRecord):
    """What is measured on every item."""

    id: Token = Field(description="What hypotheses and results call it.")
    kind: Literal["binary", "continuous", "counts"] = Field(
        description="`binary`: 0 or 1; `continuous`: a score; `counts` cannot be judged yet."
    )
    role: Literal["primary", "secondary"] = Field(description="`primary` for what the study is about.")
    judge: Judge | None = Field(None, description="The model that scores answers; null: no model does.")
    populations: tuple[Token, ...] | None = Field(
        None, min_length=1, max_length=MAX_LIST, description="Where it is measured; null: everywhere."
    )
    replicates: int = Field(1, ge=1, le=1000, description="Results per item and arm.")
    judgements: int | None = Field(
        None,
        ge=2,
        le=1000,
        description="How many of the `replicates` judge one run: replicate (r - 1) x judgements + j is the j-th "
        "judgement of run r. Null: every replicate is a run of its own.",
    )
    collapse: Collapse | None = Field(
        None,
        description="How replicates become one value; null: `mean`. `any_of_k`: the chance that one of `k` of them is "
        "right; `all_of_k`: that all of `k` are.",
    )
    k: int | None = Field(
        None,
        ge=1,
        le=1000,
        description="Attempts that `any_of_k` allows, or runs that `all_of_k` asks for, at most `replicates`; null "
        "otherwise.",
    )
    bounds: Bounds | None = Field(
        None, description="Least and greatest value of a continuous endpoint; a binary one has 0 and 1."
    )
    positive: bool | None = Field(
        None,
        description="True: an amount such as a cost, a latency or a number of tokens. Every value is above 0, a row "
        "that is not is refused, and ratios of means have a meaning. Of a continuous endpoint.",
    )
    estimand: Estimand | None = Field(
        None,
        description="Which items claims speak of. `items_like_these`: the items are a sample; `these_items`: they are "
        "what they are, and runs alone vary, which takes two `replicates` or more. Null: not said, and intervals are "
        "those of items like these.",
    )
    labels: LabelDraw | None = Field(
        None,
        description="Of an endpoint `X.audit`, where people label what the judge of X scores: which items are drawn "
        "for them. Results are planned of these alone. Null: of every item.",
    )
    better: Literal["higher", "lower"] | None = Field(
        None, description="Which way claims mean: larger values are better, or smaller ones; null: `higher`."
    )

    def measured_on(self, population_id: str) -> bool:
        """Tell whether items of that population have this endpoint."""
        return self.populations is None or population_id in self.populations

    @property
    def collapsed_kind(self) -> Literal["binary", "continuous", "counts"]:
        """The kind a test sees: the mean, pass@k or pass^k of several binary replicates is a score between 0 and 1.

        Whether all replicates are right is again right or wrong.
        """
        if self.kind != "binary" or self.replicates == 1 or self.collapse in ("majority", "first"):
            return self.kind
        every = self.collapse == "all_of_k" and self.k == self.replicates
        return "binary" if every else "continuous"

    @property
    def counts_runs(self) -> bool:
        """A claim about one arm's mean counts right runs of these very items, each run by itself."""
        several = self.replicates > 1 and self.judgements is None and self.collapse in (None, "mean")
        return self.estimand == "these_items" and self.kind == "binary" and several

    @property
    def runs(self) -> int:
        """Runs of an arm on an item."""
        return self.replicates // (self.judgements or 1)
