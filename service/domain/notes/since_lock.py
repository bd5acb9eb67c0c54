"""What happened to a record since its lock, in one sentence: also that nothing did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from service.domain.ledger import Kind
from service.words import Message, listed, message

COUNTED: tuple[Kind, ...] = (
    "plan_amended",
    "arm_named",
    "deviation",
    "unblinding",
    "close",
    "withdrawal",
)
"""Entries of the ledger that the sentence counts."""
ALWAYS: tuple[Kind, ...] = ("plan_amended", "deviation", "unblinding")
"""Of these it is also said that there are none."""


def since_lock(counts: Mapping[Kind, int], struck: int) -> Message:
    """The sentence, of a judged record.

    Args:
        counts: how many entries of each kind the ledger has of the record.
        struck: how many batches were struck.

    Example:
        Of nothing: "Since the lock: the plan was not amended; no deviation was filed; no outcomes were
        opened in the service before the verdict; no results were struck."
    """
    return message("notes.since_lock", what=listed(_parts(counts, struck), "lists.semicolon"))


def _parts(counts: Mapping[Kind, int], struck: int) -> Iterator[Message]:
    for kind in COUNTED:
        count = counts.get(kind, 0)
        if count:
            yield message(f"notes.since_{kind}", count=count)
        elif kind in ALWAYS:
            yield message(f"notes.since_no_{kind}")
    yield message("notes.since_struck", count=struck) if struck else message("notes.since_none_struck")
