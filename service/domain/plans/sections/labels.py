"""How many items a plan draws for people to label, and by which seed."""

from __future__ import annotations

from pydantic import Field

from service.records import StrictRecord
from service.stats.shared.declaring.common import MAX_ITEMS

SUFFIX = ".audit"
"""An endpoint of this name has people's labels of what the endpoint before it measures by a judge."""


class LabelDraw(StrictRecord):
    """The items that people label: a random part, which the plan's seed draws from the locked manifest."""

    n: int = Field(
        ge=2, le=MAX_ITEMS, description="Items that people label, of every population, in each arm."
    )
    seed: int = Field(
        ge=0, le=2**53 - 1, description="Seed of the draw; with the manifest's hash it says which items."
    )
