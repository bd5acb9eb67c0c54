"""What stands against a verdict: marks that stay, and what each of them does to its outcomes.

A mark says what happened to a record, when, and to which batches. It either makes outcomes `invalid` or flags them:
a verdict may say less than the data, never more. Whatever sets one is found from the record alone, so a verdict
can be computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from service.records import Record

Code = Literal["unblinded"]
"""In the order in which their reasons are given. Words of each: `english` here, `words/chinese_reasons.py`."""
Effect = Literal["invalid", "flag"]


class Mark(Record):
    """Something that happened to a record and that every reader of its verdict has to know."""

    code: Code
    effect: Effect = Field(description="`invalid`: no outcome stands; `flag`: outcomes stand, marked.")
    says: str = Field(description="What happened, as part of a sentence.")
    at: AwareDatetime | None = Field(None, description="When; null where it is not one moment.")
    batches: tuple[int, ...] = Field((), description="Batches that it concerns; empty: the whole record.")
    hypotheses: tuple[str, ...] | None = Field(
        None, description="Hypotheses whose outcome it concerns; null: all."
    )

    def concerns(self, hypothesis: str) -> bool:
        """True when it bears on the outcome of a hypothesis."""
        return self.hypotheses is None or hypothesis in self.hypotheses


def no_marks(value: Sequence[Mark]) -> bool:
    """True for a verdict without marks: the field stays out of it, so that a stored one keeps its bytes."""
    return not value


def invalidating(marks: Iterable[Mark], hypothesis: str) -> Mark | None:
    """The first mark that makes the outcome of a hypothesis invalid."""
    return next((each for each in marks if each.effect == "invalid" and each.concerns(hypothesis)), None)


def flags(marks: Iterable[Mark], hypothesis: str) -> tuple[Mark, ...]:
    """The marks that an outcome carries and stands with."""
    return tuple(each for each in marks if each.effect == "flag" and each.concerns(hypothesis))


def unblinded(at: datetime, after: Sequence[int]) -> Mark:
    """Outcomes were opened before the verdict: rows that came afterwards may have been chosen by them."""
    if not after:
        return Mark(code="unblinded", effect="flag", says="outcomes were opened before the verdict", at=at)
    return Mark(
        code="unblinded",
        effect="invalid",
        says=f"{_batches(after)} came in after outcomes had been opened",
        at=at,
        batches=tuple(after),
    )


def _batches(numbers: Sequence[int]) -> str:
    """How many batches."""
    return f"{len(numbers)} {'batch' if len(numbers) == 1 else 'batches'}"
