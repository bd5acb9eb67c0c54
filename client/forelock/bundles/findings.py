"""What checking a bundle finds: one line per thing that was checked, and what follows for the exit status."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["pass", "fail", "differs", "not_checked"]
"""`differs`: computed again here, a number is another one, and the machine or its libraries may be why."""

NOT_THERE = 1
BROKEN = 3
IRREPRODUCIBLE = 5

NOT_PROVEN = (
    "that the results are honest: what an eval job posted is what was judged, and nothing shows where it came from",
    "that the runs happened after the lock: only that their results were posted after it",
    "that nothing else about this record is in the log: entries that a bundle leaves out do not show",
    "that history was never rewritten by somebody who holds the signing key, for whoever kept no checkpoint and no "
    "time stamp of an outside witness",
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked."""

    name: str
    state: State
    sentence: str


@dataclass(slots=True)
class Report:
    """Everything that was checked, in order."""

    checks: list[Check] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    """What a reader has to know beside the outcome: an early look at outcomes, a withdrawal, struck batches."""
    differing: list[str] = field(default_factory=list)
    """What differs where it was judged again."""
    preregistration_id: str | None = None
    title: str | None = None
    plan_sha256: str | None = None
    log: str | None = None
    verdict: dict[str, Any] | None = None

    def add(self, name: str, state: State, sentence: str) -> None:
        """Note what one check of the bundle showed."""
        self.checks.append(Check(name, state, sentence))

    def has(self, state: State) -> bool:
        """Tell whether any check ended in this state."""
        return any(check.state == state for check in self.checks)
