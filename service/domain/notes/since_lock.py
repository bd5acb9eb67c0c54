"""What happened to a record since its lock, in one sentence: also that nothing did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from service.domain.ledger import Kind
from service.words import Listed, Message, Value, list_values, message

COUNTED: tuple[Kind, ...] = ("plan_amended", "arm_named", "deviation", "unblinding", "close", "withdrawal")
"""Entries of the ledger that the sentence counts."""
UNKNOWN = "notes.not_when_run"
SOON_CODE = "notes.since_last_result_soon"
SOON = timedelta(hours=1)
"""Runs of an evaluation seldom take less: within it they are said to have been made before, unless they did."""

ALWAYS: tuple[Kind, ...] = ("plan_amended", "deviation", "unblinding")
"""Of these it is also said that there are none."""


@dataclass(frozen=True, slots=True)
class SinceLock:
    """What is told of a judged record's time since its lock."""

    happened: Message
    timing: Message
    """What lock and results say of when the runs were made."""

    @property
    def arrival(self) -> Value:
        """How soon after the lock all results were in, and what that says of the runs; empty where it is not known.

        It stands above the hypotheses: results that were there seconds after a lock were made before it.
        """
        return "" if self.timing.code == UNKNOWN else self.timing

    @property
    def sentence(self) -> Listed:
        """What happened, and that it is not shown when the runs were made: who reads this alone is not to miss it."""
        return list_values(
            [self.happened, message(f"{UNKNOWN}_soon" if self.soon else UNKNOWN)], "lists.sentences"
        )

    @property
    def soon(self) -> bool:
        """Whether the results came too soon for most runs to have been made after the lock."""
        return self.timing.code == SOON_CODE


def since_lock(counts: Mapping[Kind, int], struck: int, last: timedelta | None = None) -> SinceLock:
    """Return what happened, of a judged record, and how soon its results came.

    Args:
        counts: how many entries of each kind the ledger has of the record.
        struck: how many batches were struck.
        last: how long after the lock the last result came in; None while one is awaited.
            Of what was closed early nothing is said of it.

    Example:
        The sentence of nothing: "Since the lock: the plan was not amended; no deviation was filed; no outcomes were
        opened in the service before the verdict; no results were struck (declared void). Not shown: that the runs
        were made after the lock."
    """
    happened = message("notes.since_lock", what=list_values([*_parts(counts, struck)], "lists.semicolon"))
    if last is None or counts.get("close"):
        return SinceLock(happened, message(UNKNOWN))
    key = SOON_CODE if came_soon(last) else "notes.since_last_result"
    return SinceLock(happened, message(key, delay=describe_delay(last)))


def came_soon(delay: timedelta) -> bool:
    """Tell whether results came so soon after a lock that their runs were most likely made before it."""
    return delay < SOON


def describe_delay(time: timedelta) -> Message:
    """Return a span of time in its largest unit, rounded down."""
    seconds = max(0, int(time.total_seconds()))
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1)):
        if seconds >= size:
            return message(f"notes.{unit}", n=seconds // size)
    return message("notes.less_than_a_second")


def _parts(counts: Mapping[Kind, int], struck: int) -> Iterator[Message]:
    for kind in COUNTED:
        count = counts.get(kind, 0)
        if count:
            yield message(f"notes.since_{kind}", count=count)
        elif kind in ALWAYS:
            yield message(f"notes.since_no_{kind}")
    yield message("notes.since_struck", count=struck) if struck else message("notes.since_none_struck")
