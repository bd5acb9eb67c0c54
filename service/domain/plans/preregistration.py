"""The record of a preregistration and the states it moves through."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from types import MappingProxyType
from typing import Literal

from pydantic import AwareDatetime, Field

from service.domain.plans.findings import Finding
from service.domain.plans.plan import Plan
from service.errors import Conflict
from service.records import Record
from service.words import list_values, message

State = Literal["draft", "locked", "collecting", "complete", "judged", "withdrawn"]
ONCE_LOCKED: tuple[State, ...] = ("locked", "collecting", "complete", "judged", "withdrawn")
"""States of a record whose plan is locked, whatever became of it since."""

MOVES: Mapping[State, tuple[State, ...]] = MappingProxyType(
    {
        "draft": ("locked",),
        "locked": ("collecting", "withdrawn"),
        "collecting": ("complete", "withdrawn"),
        "complete": ("judged", "withdrawn"),
        "judged": ("withdrawn",),
        "withdrawn": (),
    }
)
"""Where each state may go. Drafts are deleted rather than withdrawn."""

ALLOWED: Mapping[State, tuple[str, ...]] = MappingProxyType(
    {
        "draft": ("edit", "put items", "lint", "lock", "delete"),
        "locked": ("submit results", "bind a run", "amend the plan", "file a deviation", "withdraw"),
        "collecting": (
            "submit results",
            "bind a run",
            "void a batch",
            "close early",
            "file a deviation",
            "withdraw",
        ),
        "complete": ("wait for the verdict", "queue it again if it failed", "file a deviation", "withdraw"),
        "judged": ("read the verdict", "read the results", "file a deviation", "withdraw"),
        "withdrawn": (),
    }
)
"""What a person may do in each state, for sentences."""
OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "edit": "PATCH",
        "put items": "PUT /populations/{population}/items",
        "lint": "POST /lint",
        "lock": "POST /lock",
        "delete": "DELETE",
        "submit results": "POST /results",
        "bind a run": "POST /runs",
        "void a batch": "POST /batches/{batch}/void",
        "amend the plan": "POST /amendments",
        "close early": "POST /close",
        "file a deviation": "POST /deviations",
        "withdraw": "POST /withdrawal",
        "wait for the verdict": "GET /verdict",
        "queue it again if it failed": "POST /verdict",
        "read the verdict": "GET /verdict",
        "read the results": "GET /results",
    }
)
"""How each is asked for, below `/v1/preregistrations/{prereg_id}`: a sentence names no move that there is not."""


class Preregistration(Record):
    """A preregistration: its plan, where it stands, and when it got there."""

    id: str
    project_id: str
    state: State
    revision: int = Field(ge=1, description="Rises with every change of the record.")
    version: int = Field(ge=1, description="Of the plan: 1, and one more with every amendment.")
    plan: Plan
    plan_sha256: str | None = Field(None, description="Of the canonical text; null in a draft.")
    lint: tuple[Finding, ...] | None = Field(None, description="What lint said at the lock; null in a draft.")
    acknowledged: tuple[str, ...] = Field((), description="Warning codes the lock acknowledged.")
    created_at: AwareDatetime
    locked_at: AwareDatetime | None = None
    complete_at: AwareDatetime | None = None
    judged_at: AwareDatetime | None = None

    @property
    def etag(self) -> str:
        """The entity tag of this revision, quoted as HTTP wants it."""
        return f'"{self.revision}"'

    def require(self, *states: State, action: str = "this") -> None:
        """Refuse an action that the record's state does not allow, saying what it does allow.

        Raises:
            Conflict: the record is in none of `states`.
        """
        if self.state in states:
            return
        moves = [
            message(
                "refusals.move",
                move=message(f"refusals.to_{move.replace(' ', '_')}"),
                operation=OPERATIONS[move],
            )
            for move in ALLOWED[self.state]
        ]
        raise Conflict(
            message(
                "refusals.wrong_state",
                id=self.id,
                state=message(f"refusals.is_{self.state}"),
                action=action,
                states=list_values(
                    [message(f"refusals.is_{state}") for state in states], "refusals.between_states"
                ),
                allowed=list_values(moves, "lists.comma") if moves else message("refusals.to_read"),
            )
        )

    def last_result_after(self) -> timedelta | None:
        """Say how long after the lock all results were in, planned or of a stopping look; None while not."""
        if self.locked_at is None or self.complete_at is None:
            return None
        return self.complete_at - self.locked_at

    def overdue(self, today: date) -> bool:
        """Tell whether the day by which results are expected has passed and they are not all in; changes no state."""
        due = self.plan.results_due
        return due is not None and self.state in ("locked", "collecting") and today > due

    def require_move(self, to: State) -> None:
        """Refuse a move that `MOVES` does not list.

        Raises:
            Conflict: naming the states the record may move to.
        """
        if to not in MOVES[self.state]:
            targets = " or ".join(MOVES[self.state]) or "no other state"
            raise Conflict(
                f"preregistration {self.id} is {self.state} and may move to {targets}, not to {to}"
            )
