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

from service.domain.plans.naming import NamedArm
from service.domain.plans.sections.arms import ArmCard, one_line
from service.domain.results.other_systems import OtherSystem
from service.domain.results.runs import NamedBatch, Violation
from service.records import Record
from service.words import say

Code = Literal[
    "unblinded", "closed_early", Violation, "arm_differs", "content_differs", "arm_named", "arm_unnamed"
]
"""In the order in which their reasons are given. The words of each are `reasons` of the catalogue."""
Effect = Literal["invalid", "flag", "note"]


class Mark(Record):
    """Something that happened to a record and that every reader of its verdict has to know."""

    code: Code
    effect: Effect = Field(
        description="`invalid`: no outcome stands; `flag`: outcomes stand, marked; `note`: outcomes stand as they are."
    )
    says: str = Field(description="What happened, as part of a sentence.")
    at: AwareDatetime | None = Field(None, description="When; null where it is not one moment.")
    batches: tuple[int, ...] = Field((), description="Batches that it concerns; empty: the whole record.")
    runs: tuple[str, ...] = Field((), description="Runs that it concerns.")
    hypotheses: tuple[str, ...] | None = Field(
        None, description="Hypotheses whose outcome it concerns; null: all."
    )

    def concerns(self, hypothesis: str) -> bool:
        """Tell whether it bears on the outcome of a hypothesis."""
        return self.hypotheses is None or hypothesis in self.hypotheses


def no_marks(value: Sequence[Mark]) -> bool:
    """True for a verdict without marks: the field stays out of it, so that a stored one keeps its bytes."""
    return not value


def invalidating(marks: Iterable[Mark], hypothesis: str) -> Mark | None:
    """Return the first mark that makes the outcome of a hypothesis invalid."""
    return next((mark for mark in marks if mark.effect == "invalid" and mark.concerns(hypothesis)), None)


def flags(marks: Iterable[Mark], hypothesis: str) -> tuple[Mark, ...]:
    """Return the marks that an outcome carries and stands with."""
    return tuple(mark for mark in marks if mark.effect == "flag" and mark.concerns(hypothesis))


def mark_unblinded(at: datetime, after: Sequence[int], *, closed: bool = False) -> Mark:
    """Outcomes were opened before the verdict: rows that came afterwards, or an early end, may follow from them."""
    if closed and not after:
        says = say("reasons.closed_after_opening")
        return Mark(code="unblinded", effect="invalid", says=says, at=at)
    if not after:
        return Mark(code="unblinded", effect="flag", says=say("reasons.unblinded"), at=at)
    return Mark(
        code="unblinded",
        effect="invalid",
        says=say("reasons.after_opening", count=len(after)),
        at=at,
        batches=tuple(after),
    )


def of_runs(
    code: Violation, effect: Effect, batches: Sequence[NamedBatch], hypotheses: tuple[str, ...] | None
) -> Mark:
    """Batches that break what the plan asks of runs."""
    numbers = tuple(batch.batch for batch in batches)
    runs = tuple(dict.fromkeys(batch.run for batch in batches if batch.run is not None))
    return Mark(
        code=code,
        effect=effect,
        says=say(f"reasons.{code}", count=len(numbers)),
        batches=numbers,
        runs=runs,
        hypotheses=hypotheses,
    )


def of_card(other: OtherSystem, hypotheses: tuple[str, ...] | None) -> Mark:
    """Batches of another system than the arm's card describes; what that does is for the card to say."""
    return Mark(
        code="arm_differs",
        effect=other.card.on_difference,
        says=say(
            "reasons.arm_differs", count=len(other.batches), arm=other.card.id, fields=", ".join(other.fields)
        ),
        batches=tuple(batch.batch for batch in other.batches),
        runs=tuple(dict.fromkeys(batch.run for batch in other.batches if batch.run is not None)),
        hypotheses=hypotheses,
    )


def of_criterion(card: ArmCard, named: NamedArm | None, hypotheses: tuple[str, ...] | None) -> Mark:
    """Return an arm that was locked by a criterion: what it was named before its results, or that nobody named it."""
    criterion = one_line(card.criterion or "")
    if named is None:
        says = say("reasons.arm_unnamed", arm=card.id, criterion=criterion)
        return Mark(code="arm_unnamed", effect="note", says=says, hypotheses=hypotheses)
    says = say(
        "reasons.arm_named",
        arm=card.id,
        criterion=criterion,
        card=one_line(named.card.text()),
        evidence=named.evidence.line(),
    )
    return Mark(code="arm_named", effect="note", says=says, at=named.at, hypotheses=hypotheses)


def of_contents(batches: Sequence[NamedBatch], hypotheses: tuple[str, ...] | None) -> Mark:
    """Batches with items of other content than the locked list names: who imported them said that it is meant."""
    return Mark(
        code="content_differs",
        effect="flag",
        says=say(
            "reasons.content_differs",
            count=len(batches),
            items=max(batch.content_differs for batch in batches),
        ),
        batches=tuple(batch.batch for batch in batches),
        runs=tuple(dict.fromkeys(batch.run for batch in batches if batch.run is not None)),
        hypotheses=hypotheses,
    )


def mark_closed_early(at: datetime, received: int, expected: int, deviation: int) -> Mark:
    """The collection ended before the planned n: what lacks is for the missing-item policy to carry, or nobody."""
    return Mark(
        code="closed_early",
        effect="flag",
        says=say("reasons.closed_early", received=received, expected=expected, deviation=deviation),
        at=at,
    )
