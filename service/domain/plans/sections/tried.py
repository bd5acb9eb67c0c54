"""Selection told: how many variants were tried, on which data, before the one that a plan is about was chosen."""

from __future__ import annotations

from pydantic import Field

from service.domain.plans.strings import Line
from service.records import StrictRecord

MOST_TRIED = 1_000_000


class Tried(StrictRecord):
    """What a candidate was chosen from. On other data than the plan's items it costs nothing to have tried many."""

    n: int = Field(
        ge=2, le=MOST_TRIED, description="Variants that were tried, the one that was chosen among them."
    )
    on: Line = Field(
        description="The data they were tried on: as `dataset` of a population names it, or the SHA-256 of a list of "
        "items."
    )

    def is_on(self, dataset: str, items_sha256: str | None) -> bool:
        """Tell whether the data are those of a population: of the same name, whatever its case, or of the same hash."""
        data = _normalize_name(self.on)
        return data == _normalize_name(dataset) or (items_sha256 is not None and data == items_sha256)


def _normalize_name(text: str) -> str:
    """Return the name with single spaces and in one case: how people write the name of a data set differs."""
    return " ".join(text.split()).casefold()
