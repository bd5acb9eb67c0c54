"""The record of a preregistration and the states it moves through."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import AwareDatetime, Field

from service.domain.plans.findings import Finding
from service.domain.plans.plan import Plan
from service.errors import Conflict
from service.records import Record

State = Literal["draft", "locked", "collecting", "complete", "judged", "withdrawn"]

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
        "locked": ("submit results", "file a deviation"),
        "collecting": ("submit results", "void a batch", "file a deviation"),
        "complete": ("wait for the verdict", "file a deviation"),
        "judged": ("read the verdict and the results", "file a deviation"),
        "withdrawn": (),
    }
)
"""What a person may do in each state, for sentences."""


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
        allowed = ", ".join(ALLOWED[self.state]) or "nothing but reading"
        raise Conflict(
            f"preregistration {self.id} is {self.state}, and {action} needs one that is "
            f"{' or '.join(states)}; allowed now: {allowed}"
        )

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
