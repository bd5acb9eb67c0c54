"""What one arm is held against where no other arm is run: a number that it is to reach."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from service.domain.plans.strings import Line
from service.errors import InvalidData
from service.records import StrictRecord
from service.stats.shared.declaring.common import MAX_ITEMS


class Published(StrictRecord):
    """A number that others measured. It is taken as it is: no test knows of its own error."""

    source: Line = Field(description="Where it stands, e.g. a paper, or a public table on a day.")
    n: int | None = Field(None, ge=1, le=MAX_ITEMS, description="Items it was measured on; null: not told.")


class Reference(StrictRecord):
    """The number that the arm of a claim `at_least` is to reach: a requirement, or one that was published."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 95, "unit": "%"}]})

    value: Annotated[
        float, Field(ge=-1e9, le=1e9, allow_inf_nan=False, description="What the mean is to reach.")
    ]
    unit: Literal["%", "proportion", "score"] = Field(
        description="`%`; `proportion`: 0.95 is 95 %; `score`: the endpoint's own unit."
    )
    published: Published | None = Field(
        None, description="Who measured it, where it is the score of another system; null: it is required."
    )

    def exact(self) -> Fraction:
        """Return the reference as a proportion, or in score units, without rounding."""
        value = Fraction(repr(self.value))
        return value / 100 if self.unit == "%" else value

    def for_endpoint(
        self, *, binary: bool, low: float | None, high: float | None, path: str = "reference"
    ) -> Fraction:
        """Return the reference in the endpoint's unit; refuses a unit, or a size, that cannot belong to it.

        Args:
            low: the least value of the endpoint; None: not known.
            high: the greatest.
        """
        if binary == (self.unit == "score"):
            fix = "use unit '%' or 'proportion'" if binary else "use unit 'score'"
            kind = "binary" if binary else "continuous"
            raise InvalidData.field(path, f"unit '{self.unit}' does not go with a {kind} endpoint", fix)
        value = self.exact()
        if (low is not None and value <= low) or (high is not None and value >= high):
            percent = "; did you mean unit '%'?" if binary and 1 < value < 100 else ""
            ends = f"{low:g} and {high:g}" if low is not None and high is not None else "the ends"
            raise InvalidData.field(
                path,
                f"is not strictly between {ends}: no number of items shows that a mean lies beyond an end",
                f"write a value between them{percent}",
            )
        return value
