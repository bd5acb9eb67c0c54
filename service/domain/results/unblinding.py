"""Unblinding and erasure: the seals of a plan broken before its verdict, or its rows destroyed. Both stay on record.

A plan has one data key, so whoever opens a part could open all of it: `population` and `endpoint` narrow what the
service then shows, and nothing else. Results that come in afterwards may have been chosen by what was seen, whatever
they are of.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import AwareDatetime, Field

from service.domain.plans.plan import Plan
from service.domain.plans.strings import Paragraph
from service.errors import Conflict, InvalidData
from service.records import Record, StrictRecord
from service.words import Message, message

CANNOT_CHECK = (
    "that the batches hold the rows their commitments are of, and that the verdict follows from the rows",
)
CAN_CHECK = (
    "that the plan is the one that was locked, and its place in the ledger",
    "which batches came in when, with their commitments and places in the ledger",
    "that the verdict, where there is one, is the one that was recorded",
)


class UnblindingRequest(StrictRecord):
    """Why results have to be seen before the verdict, and which."""

    reason: Paragraph = Field(description="Printed wherever the verdict is, for good.")
    population: str | None = Field(
        None, max_length=64, description="Show rows of this population alone; null: of all."
    )
    endpoint: str | None = Field(
        None, max_length=64, description="Show rows of this endpoint alone; null: of all."
    )


class ErasureRequest(StrictRecord):
    """Why a plan's rows are destroyed."""

    reason: Paragraph = Field(description="Kept in the ledger, for good.")


class Unblinding(Record):
    """Results were opened before the verdict."""

    at: AwareDatetime
    by: str = Field(description="Name of the key that asked for it.")
    by_key: str = Field(description="Its id.")
    reason: str
    population: str | None = Field(description="Whose rows are shown; null: those of all.")
    endpoint: str | None = Field(description="Likewise.")
    received: int = Field(description="Results that were in at that time.")
    expected: int = Field(description="Results that make the plan complete.")

    def covers(self, population: str, endpoint: str) -> bool:
        """Tell whether rows of that endpoint on that population are shown."""
        return self.population in (None, population) and self.endpoint in (None, endpoint)


class Erasure(Record):
    """A plan's data key was destroyed, and its rows with it."""

    at: AwareDatetime
    by: str = Field(description="Name of the key that asked for it.")
    by_key: str = Field(description="Its id.")
    reason: str


def require_known(plan: Plan, request: UnblindingRequest) -> None:
    """Refuse names that the plan does not have.

    Raises:
        InvalidData: naming those that it has.
    """
    for name, value, known in (
        ("population", request.population, [population.id for population in plan.populations or ()]),
        ("endpoint", request.endpoint, [endpoint.id for endpoint in plan.endpoints or ()]),
    ):
        if value is not None and value not in known:
            raise InvalidData.field(name, "is not in the plan", f"send one of {', '.join(known)}, or null")


def require_more(known: Iterable[Unblinding], request: UnblindingRequest) -> None:
    """Refuse to open what is open.

    Raises:
        Conflict: `already_unblinded`.
    """
    for opening in known:
        if opening.population in (None, request.population) and opening.endpoint in (None, request.endpoint):
            raise Conflict(
                "these results have been opened already; GET .../results shows them", code="already_unblinded"
            )


def opened_message(unblinding: Unblinding) -> Message:
    """Return the mark before there is a verdict."""
    parts = [name for name in (unblinding.endpoint, unblinding.population) if name is not None]
    return message(
        "notes.opened",
        of=message("notes.opened_part", names=" / ".join(parts)) if parts else "",
        at=f"{unblinding.at:%Y-%m-%d %H:%M} UTC",
        received=unblinding.received,
        expected=unblinding.expected,
        reason=unblinding.reason,
    )


def facts(unblinding: Record) -> dict[str, Any]:
    """Return what the ledger says of it: its time is the entry's own."""
    return unblinding.model_dump(mode="json", exclude={"at"})
