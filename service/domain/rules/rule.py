"""Decision rules: a closed tree of comparisons, and the one sentence it prints.

A rule speaks of `delta` (the observed difference) and of fields of named analyses. Thresholds are
exact decimals. `rules.grammar.parse` reads the sentence back into the same tree, and `rules.truth`
says whether it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from service.records import Record

Operator = Literal[">=", ">", "<=", "<", "==", "!="]


class Quantity(Record):
    """A threshold as written: exact decimal digits, `pp` where they are percentage points, `%` of a share."""

    text: str = Field(max_length=64)
    unit: Literal["pp", "%"] | None = None

    @model_validator(mode="after")
    def _require_canonical(self) -> Self:
        if decimal_text(self.text) != self.text:
            raise ValueError("not a plain decimal")
        return self

    def exact(self) -> Fraction:
        """Return the number without rounding; percentage points and per cent as a proportion."""
        value = Fraction(self.text)
        return value if self.unit is None else value / 100

    @override
    def __str__(self) -> str:
        return self.text if self.unit is None else f"{self.text} pp" if self.unit == "pp" else f"{self.text}%"


class FieldName(Record):
    """`delta`, or a field of the analysis of a named test."""

    test: str | None = Field(None, description="Test id; null for the observed difference.")
    path: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _require_canonical(self) -> Self:
        if (self.test is None and self.path != ("delta",)) or (
            self.test is not None and self.path[-1] == "p"
        ):
            raise ValueError("a field is `delta`, or a test id and a path; `p` is spelt `p_value`")
        return self

    @override
    def __str__(self) -> str:
        return ".".join(self.path if self.test is None else (self.test, *self.path))


class Comparison(Record):
    """A field against a threshold."""

    kind: Literal["comparison"] = "comparison"
    field: FieldName
    operator: Operator
    value: Quantity

    @override
    def __str__(self) -> str:
        return f"{self.field} {self.operator} {self.value}"


class Excludes(Record):
    """An interval that lies strictly above or strictly below a value."""

    kind: Literal["excludes"] = "excludes"
    field: FieldName
    value: Quantity

    @override
    def __str__(self) -> str:
        return f"{self.field} excludes {self.value}"


class Within(Record):
    """A number or a whole interval between two bounds: `[low, high]` with its ends, `(low, high)` without."""

    kind: Literal["within"] = "within"
    field: FieldName
    low: Quantity
    high: Quantity
    closed: bool = True

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        if self.low.exact() >= self.high.exact():
            raise ValueError("the lower bound must be below the upper one")
        return self

    @override
    def __str__(self) -> str:
        left, right = "[]" if self.closed else "()"
        return f"{self.field} within {left}{self.low}, {self.high}{right}"


class Is(Record):
    """A field that is true or false, such as `equivalence.equivalent`."""

    kind: Literal["is"] = "is"
    field: FieldName
    value: bool = Field(strict=True)

    @override
    def __str__(self) -> str:
        return f"{self.field} is {'true' if self.value else 'false'}"


class _Joined(Record):
    """Several parts, of which none is joined the same way."""

    kind: str
    parts: tuple[Rule, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _require_flat(self) -> Self:
        if any(part.kind == self.kind for part in self.parts):
            raise ValueError(f"`{self.kind}` inside `{self.kind}` is written flat")
        return self


class All(_Joined):
    """Every part holds. Parts that are themselves `all` are written out flat."""

    kind: Literal["all"] = "all"


class AnyOf(_Joined):
    """At least one part holds. Parts that are themselves `any` are written out flat."""

    kind: Literal["any"] = "any"


class Not(Record):
    """The part does not hold."""

    kind: Literal["not"] = "not"
    part: Rule


Clause = Comparison | Excludes | Within | Is
Rule = Annotated[Comparison | Excludes | Within | Is | All | AnyOf | Not, Field(discriminator="kind")]

for _node in (All, AnyOf, Not):
    _node.model_rebuild()


def decimal_text(text: str) -> str:
    """Write digits in plain positional form: no exponent, no plus sign, a digit before the point."""
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError("not a number")
    return format(number if number else abs(number), "f")


def sentence(rule: Rule) -> str:
    """Return the rule's canonical sentence: lower-case words, single spaces, only needed parentheses."""
    match rule:
        case All():
            return " and ".join(_group(part, AnyOf) for part in rule.parts)
        case AnyOf():
            return " or ".join(_group(part, All) for part in rule.parts)
        case Not():
            return f"not {_group(rule.part, All, AnyOf)}"
        case _:
            return str(rule)


def _group(rule: Rule, *in_parentheses: type[Record]) -> str:
    text = sentence(rule)
    return f"({text})" if isinstance(rule, in_parentheses) else text


def clauses(rule: Rule) -> tuple[Clause, ...]:
    """Return the atomic comparisons in the order of the sentence."""
    return tuple(_clauses(rule))


def _clauses(rule: Rule) -> Iterator[Clause]:
    match rule:
        case All() | AnyOf():
            for part in rule.parts:
                yield from _clauses(part)
        case Not():
            yield from _clauses(rule.part)
        case _:
            yield rule


def depth(rule: Rule) -> int:
    """Count the levels of `and`, `or` and `not` above the deepest clause."""
    match rule:
        case All() | AnyOf():
            return 1 + max(depth(part) for part in rule.parts)
        case Not():
            return 1 + depth(rule.part)
        case _:
            return 0


def quantities(clause: Clause) -> tuple[Quantity, ...]:
    """Return the thresholds of a clause."""
    match clause:
        case Within():
            return clause.low, clause.high
        case Is():
            return ()
        case _:
            return (clause.value,)
