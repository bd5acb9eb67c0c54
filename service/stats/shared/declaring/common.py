"""What statistical tests share: the shapes of requests, and what every analysis carries."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, PlainSerializer, model_validator

from service.errors import InvalidData
from service.kernels.numeric.streams import BIT_GENERATOR
from service.records import Record, StrictRecord
from service.stats.shared.declaring.columns import require_equal_lengths
from service.words import read, spoken

M = TypeVar("M", bound=str)

MAX_ITEMS = 1_000_000
"""Longest column a stateless request may carry."""

Alternative = Annotated[
    Literal["two-sided", "greater", "less"],
    Field(description="`greater`: the candidate is better; `less`: the baseline is; `two-sided`: either."),
]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Proportion = Annotated[float, Field(ge=1e-12, le=1 - 1e-9, allow_inf_nan=False)]
"""A level or alpha: strictly inside (0, 1), and far enough from the ends for its quantiles to be known."""
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Probability = Share
Count = Annotated[int, Field(ge=0, le=10**9)]
Column = Annotated[list[Finite], Field(max_length=MAX_ITEMS, fail_fast=True)]
Labels = (
    Annotated[list[str], Field(max_length=MAX_ITEMS, fail_fast=True)]
    | Annotated[list[int], Field(max_length=MAX_ITEMS, fail_fast=True)]
)


def _speak_reasons(reasons: Mapping[str, str]) -> dict[str, str]:
    """Reasons in the language that is spoken, where a template reads them; nothing that is stored is written so."""
    language = spoken()
    if language == "en":
        return dict(reasons)
    known = {path: read("reasons", reason) for path, reason in reasons.items()}
    return {path: reasons[path] if line is None else line.text(language) for path, line in known.items()}


Reasons = Annotated[dict[str, str], PlainSerializer(_speak_reasons)]
"""Paths of null fields and why: English in the record, and written out in the language of the answer."""


class Request(StrictRecord):
    """A statistical test's request: strict, closed and immutable."""

    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Fields that are often sent here, and the test that takes them."""

    def json_bytes(self) -> bytes:
        """Return the record as compact JSON in schema order, defaults included."""
        return self.__pydantic_serializer__.to_json(self)

    def dump_sent(self) -> bytes:
        """Return the record as JSON that can be read again: what was sent, without defaults."""
        return self.__pydantic_serializer__.to_json(self, by_alias=True, exclude_unset=True)


class StatWarning(Record):
    """Something the reader of a number has to know."""

    code: str = Field(description="Stable, UPPER_SNAKE.")
    severity: Literal["info", "caution", "serious"] = Field(description="How much it matters.")
    message: str = Field(description="One sentence: what is the matter and what to do.")
    citation: str | None = Field(None, description="Where this is shown.")


class Interval(Record):
    """A confidence interval. A null end is unbounded or undefined; `reasons` of the analysis says which."""

    low: float | None = Field(description="Lower end, in the estimate's unit.")
    high: float | None = Field(description="Upper end, in the estimate's unit.")
    level: float = Field(description="Two-sided coverage, a proportion, e.g. 0.95.")
    method: str = Field(description="How the ends were computed.")
    closed: bool = Field(True, description="True: the ends belong to the interval.")

    @classmethod
    def by_method(
        cls, ends: Mapping[M, tuple[float | None, float | None]], level: float
    ) -> dict[M, Interval]:
        """Return intervals of one level, from their ends."""
        return {name: cls(low=low, high=high, level=level, method=name) for name, (low, high) in ends.items()}


class Resampling(Record):
    """How a distribution was obtained: computed exactly, or drawn."""

    exact: bool
    error_bound: float | None = Field(None, description="Absolute error of an exact probability.")
    n_resamples: int | None = Field(None, description="Draws; null when exact.")
    seed: int | None = None
    bit_generator: str | None = None

    @classmethod
    def drawn(cls, n: int, seed: int) -> Resampling:
        """Return what so many draws from this seed are."""
        return cls(exact=False, n_resamples=n, seed=seed, bit_generator=BIT_GENERATOR)


COMPUTED = Resampling(exact=True, error_bound=1e-9)
"""Of chances that were computed rather than drawn."""


class Analysis(Record):
    """What a statistical test found.

    `reasons` explains every null by the path of its field; `bounds` names values that are
    bounds, because the number itself lies below the method's resolution; `within` and `undecided` name
    values that more draws would change, and those that are no evidence.
    """

    sentence: str = Field(description="Estimate, interval, test and what was not shown, in plain English.")
    reasons: Reasons = Field(default_factory=dict, description="Path of a null field to its reason.")
    bounds: dict[str, str] = Field(
        default_factory=dict, description="Path of a field to a bound, e.g. '< 1e-300'."
    )
    within: dict[str, tuple[float, float]] = Field(
        default_factory=dict,
        description="Path of a drawn number to the range it is known to lie in: four Monte-Carlo standard errors "
        "to either side. Of a p-value beyond every resample: up to the chance of the units' signs alone.",
    )
    undecided: dict[str, str] = Field(
        default_factory=dict,
        description="Path of a field that no rule may rest on, to the reason: it leaves a clause unknown.",
    )
    warnings: tuple[StatWarning, ...] = Field(default=(), exclude=True)
    resampling: Resampling = Field(default=Resampling(exact=True), exclude=True)


class Margin(Request):
    """A difference with its unit, such as a smallest effect size of interest."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 2, "unit": "pp"}]})

    value: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False, description="Above 0.")]
    unit: Literal["pp", "proportion", "score"] = Field(
        description="`pp`: percentage points; `proportion`: 0.02 is 2 pp; `score`: the endpoint's own unit."
    )

    def exact(self) -> Fraction:
        """Return the margin as a proportion (or in score units), without rounding."""
        value = Fraction(repr(self.value))
        return value / 100 if self.unit == "pp" else value

    def for_endpoint(self, *, binary: bool, path: str = "margin") -> Fraction:
        """Return the margin in the endpoint's unit; refuses a unit or size that cannot belong to it."""
        if binary and self.unit == "score":
            raise InvalidData.field(
                path, "a binary endpoint has no score unit", "use unit 'pp' or 'proportion'"
            )
        if not binary and self.unit != "score":
            raise InvalidData.field(
                path, f"unit '{self.unit}' belongs to binary endpoints", "use unit 'score'"
            )
        margin = self.exact()
        if binary and margin >= 1:
            raise InvalidData.field(
                path,
                "a difference of proportions is below 1",
                "did you mean {'value': 2, 'unit': 'pp'} or {'value': 0.02, 'unit': 'proportion'}?",
            )
        return margin


class PairedColumns(Request):
    """Two arms on the same items, in the same order."""

    baseline: Column = Field(description="Baseline arm, one value per item.")
    candidate: Column = Field(description="Candidate arm, one value per item, same order.")

    @model_validator(mode="after")
    def _require_matching_columns(self) -> Self:
        require_equal_lengths({"baseline": self.baseline, "candidate": self.candidate})
        return self

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return baseline and candidate as float arrays of shape (n,)."""
        return np.asarray(self.baseline, dtype=np.float64), np.asarray(self.candidate, dtype=np.float64)
