"""What statistical tests share: the shapes of requests, and what every analysis carries."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator

from service.errors import Fault, InvalidData
from service.kernels.streams import BIT_GENERATOR
from service.records import Record, StrictRecord

MAX_ITEMS = 1_000_000
"""Longest column a stateless request may carry."""

Alternative = Annotated[
    Literal["two-sided", "greater", "less"],
    Field(description="`greater`: the candidate is better; `less`: the baseline is; `two-sided`: either."),
]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Proportion = Annotated[float, Field(ge=1e-12, le=1 - 1e-9, allow_inf_nan=False)]
"""A level or alpha: strictly inside (0, 1), and far enough from the ends for its quantiles to be known."""
Count = Annotated[int, Field(ge=0, le=10**9)]
Column = Annotated[list[Finite], Field(max_length=MAX_ITEMS, fail_fast=True)]
Labels = (
    Annotated[list[str], Field(max_length=MAX_ITEMS, fail_fast=True)]
    | Annotated[list[int], Field(max_length=MAX_ITEMS, fail_fast=True)]
)


class Request(StrictRecord):
    """A statistical test's request: strict, closed and immutable."""

    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Fields that are often sent here, and the test that takes them."""

    def json_bytes(self) -> bytes:
        """As compact JSON in schema order, defaults included."""
        return self.__pydantic_serializer__.to_json(self)

    def sent_bytes(self) -> bytes:
        """As JSON that can be read again: what was sent, without defaults."""
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


class Resampling(Record):
    """How a distribution was obtained: computed exactly, or drawn."""

    exact: bool
    error_bound: float | None = Field(None, description="Absolute error of an exact probability.")
    n_resamples: int | None = Field(None, description="Draws; null when exact.")
    seed: int | None = None
    bit_generator: str | None = None

    @classmethod
    def drawn(cls, n: int, seed: int) -> Resampling:
        """So many draws from this seed."""
        return cls(exact=False, n_resamples=n, seed=seed, bit_generator=BIT_GENERATOR)


class Analysis(Record):
    """What a statistical test found.

    `reasons` explains every null by the path of its field; `bounds` names values that are
    bounds, because the number itself lies below the method's resolution; `within` and `undecided` name
    values that more draws would change, and those that are no evidence.
    """

    sentence: str = Field(description="Estimate, interval, test and what was not shown, in plain English.")
    reasons: dict[str, str] = Field(default_factory=dict, description="Path of a null field to its reason.")
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
        """The margin as a proportion (or in score units), without rounding."""
        value = Fraction(repr(self.value))
        return value / 100 if self.unit == "pp" else value

    def for_endpoint(self, *, binary: bool, path: str = "margin") -> Fraction:
        """The margin in the endpoint's unit; refuses a unit or size that cannot belong to it."""
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
    def _columns_match(self) -> Self:
        require_equal_lengths({"baseline": self.baseline, "candidate": self.candidate})
        return self

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Baseline and candidate as float arrays of shape (n,)."""
        return np.asarray(self.baseline, dtype=np.float64), np.asarray(self.candidate, dtype=np.float64)


def require_two_clusters(clusters: Collection[Hashable] | None) -> None:
    """Refuse a single cluster, which shows nothing of others; None is no clusters at all."""
    if clusters is not None and len(set(clusters)) < 2:
        raise InvalidData.field("clusters", "hold a single cluster", "send two clusters or leave them out")


def require_equal_lengths(columns: dict[str, Sequence[object]]) -> None:
    """Refuse columns of different length, naming both; refuse empty ones."""
    (first, reference), *others = columns.items()
    for name, column in others:
        if len(column) != len(reference):
            raise InvalidData.field(
                name,
                f"has {len(column)} values where {first} has {len(reference)}",
                "send one value per item in every column, in the same order",
            )
    if len(reference) == 0:
        raise InvalidData(
            "no items were sent", [Fault(name, "is empty", "send at least one item") for name in columns]
        )


def require_binary(values: NDArray[np.float64], path: str) -> None:
    """Refuse anything but 0 and 1."""
    if not np.all((values == 0) | (values == 1)):
        raise InvalidData.field(path, "holds values other than 0 and 1", "this method is for binary outcomes")


def is_binary(*columns: NDArray[np.float64]) -> bool:
    """True when every value is 0 or 1."""
    return all(bool(np.all((values == 0) | (values == 1))) for values in columns)


def percent(proportion: float, digits: int = 2) -> str:
    """A difference of proportions in percentage points: `+2.00 pp`, `0 pp`, and never a small one as 0."""
    if proportion == 0:
        return "0 pp"
    told = f"{100 * proportion:+.{digits}f}"
    return f"{told if float(told) else format(100 * proportion, '+.1g')} pp"


def amount(difference: float, *, binary: bool) -> str:
    """A difference in its endpoint's unit, signed: `+2.00 pp`, or score units `+0.25`; `0` has no sign."""
    return percent(difference) if binary else f"{difference:+.4g}" if difference else "0"


def within(margin: Fraction, *, binary: bool) -> str:
    """A margin on both sides, to its last digit: `±2.00 pp`, `±0.125 pp`, or score units `±0.5`."""
    value = 100 * margin if binary else margin
    exact = format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    whole, _, places = exact.partition(".")
    if binary:
        return f"±{whole}.{places:0<2} pp"
    return f"±{float(margin):g}" if places and len(exact) > 9 else f"±{exact}"


def disagreement(ci: Interval, p: float, alpha: float, alternative: str, methods: str | None = None) -> str:
    """Why an interval and a test of no difference tell different things, as a sentence; empty where they agree.

    `methods`: what tells the two methods apart; None where one is the other turned around.
    """
    low, high = -math.inf if ci.low is None else ci.low, math.inf if ci.high is None else ci.high
    if min(abs(low), abs(high)) <= 1e-9 or (low > 0 or high < 0) == (p < alpha):
        return ""
    causes = []
    if alternative != "two-sided":
        causes.append("the interval looks at both sides, the test at one")
    if abs(1 - ci.level - alpha) > 1e-9:
        causes.append(f"the interval's level is {level_text(ci.level)}, the test's alpha {alpha:.10g}")
    if methods is not None:
        causes.append(methods)
    if not causes:
        return ""
    if p < alpha:
        return f" The interval holds 0 although the test rejects: {'; '.join(causes)}."
    return f" The interval excludes 0 although the test does not reject: {'; '.join(causes)}."


def p_text(p: float, bound: str | None = None, alpha: float | None = None) -> str:
    """A p-value as prose prints it: `p = 0.033`, never `p = 0`; a bound as the bound it is.

    With `alpha`, as many digits as it takes to see on which side of it p lies.
    """
    if bound is not None:
        return f"p {bound}"
    if p < 1e-99:
        return "p < 1e-99"
    told = f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"
    for digits in range(4, 18):
        if alpha is None or (float(told) < alpha) == (p < alpha):
            break
        told = f"{p:.{digits}g}"
    return f"p = {told}"


def level_text(proportion: float) -> str:
    """A level or a power: `95%`, and never 100% for less."""
    return f"{100 * proportion:.10g}%"


def decision(
    p: float,
    alpha: float,
    null: str,
    *,
    bound: str | None = None,
    shows: str = "equality",
    most: float | None = None,
) -> str:
    """What a test makes of its H0, `null` in words with its verb: p, the decision, and what it does not show.

    `most`: how large the chance may be that p stands for, where p itself is of the resamples alone.
    """
    told = p_text(p, bound, alpha)
    if most is not None and p < alpha <= most:
        return f"{told} of these resamples alone, which leaves open whether {null} rejected at alpha {alpha:.10g}."
    if p < alpha:
        return f"{told}, so {null} rejected at alpha {alpha:.10g}."
    return f"{told}, so {null} not rejected at alpha {alpha:.10g}, which does not show {shows}."
