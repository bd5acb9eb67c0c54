"""What a plan asks of the slices of its items: that none of them loses more than a margin."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from service.domain.plans.strings import Name
from service.records import StrictRecord
from service.stats.shared.declaring.common import Margin
from service.stats.shared.methods.slice_records import MOST_SLICES


class Slices(StrictRecord):
    """No slice is to lose the margin. It stands beside the outcomes, at a level of its own."""

    by: Literal["stratum"] = Field(description="What makes the slices: the manifest's strata.")
    no_worse_than: Margin = Field(description="The loss that no slice may have, with its unit.")
    hypotheses: tuple[Name, ...] | None = Field(
        None,
        min_length=1,
        max_length=MOST_SLICES,
        description="Whose differences are sliced; null: of all hypotheses on primary endpoints.",
    )
    alpha: Annotated[float, Field(ge=1e-6, lt=0.5, allow_inf_nan=False)] = Field(
        0.05, description="One-sided level at which every slice is shown to lose less, a proportion."
    )
