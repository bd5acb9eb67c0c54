"""Between what scores lie: declared, or taken from what is known of them, and then said."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.stats.shared.declaring.common import Finite, Request
from service.stats.shared.declaring.warnings import define

Floats = NDArray[np.float64]

MOST_LENGTH = 1e150
"""Above which squares of differences are no finite numbers."""

RANGE_TAKEN = define("RANGE_TAKEN", "info")


class ScoreRange(Request):
    """The least and the greatest score there can be."""

    low: Finite = Field(description="Least score.")
    high: Finite = Field(description="Greatest score; above `low`.")

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        """Refuse a range that is empty, and one longer than `MOST_LENGTH`."""
        if self.length > MOST_LENGTH:
            raise InvalidData.field(
                "high", f"is more than {MOST_LENGTH:g} above low", "send scores in a larger unit"
            )
        if not self.low < self.high:
            raise InvalidData.field(
                "high", "is not above low", "send the least score as low, the greatest as high"
            )
        return self

    @property
    def length(self) -> float:
        """The largest difference that an item can have."""
        return self.high - self.low

    def require(self, columns: dict[str, Floats], path: str = "range") -> None:
        """Refuse columns with a score outside of the range, naming the first that has one."""
        for name, values in columns.items():
            least, most = float(values.min(initial=self.low)), float(values.max(initial=self.high))
            if least < self.low or most > self.high:
                odd = least if least < self.low else most
                raise InvalidData.field(
                    path,
                    f"is {self.low:g} to {self.high:g}, and {name} holds {odd:.10g}",
                    "send the least and the greatest score there can be",
                )


RangeField = Annotated[
    ScoreRange | None,
    Field(
        description="Least and greatest score there can be; null: 0 and 1 where every score lies between them."
    ),
]

UNIT = ScoreRange(low=0.0, high=1.0)


def require_range(declared: ScoreRange | None, baseline: Floats, candidate: Floats) -> None:
    """Refuse scores outside the declared range, and outside 0 to 1 where none is."""
    if declared is not None:
        declared.require({"baseline": baseline, "candidate": candidate})
    elif not lies_in_unit(baseline, candidate):
        raise InvalidData.field(
            "range",
            "is not declared, and scores lie outside 0 to 1",
            "send the least and the greatest score there can be as {'low': …, 'high': …}; in a plan, as the "
            "endpoint's bounds",
        )


def lies_in_unit(*columns: Floats) -> bool:
    """Tell whether every score lies between 0 and 1."""
    return all(bool(np.all((values >= 0) & (values <= 1))) for values in columns)
