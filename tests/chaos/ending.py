"""A run that a signal ends early is told as far as it came."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Mapping

ENOUGH = threading.Event()
"""Set by a signal: the run ends early."""


def end_on(*numbers: signal.Signals) -> None:
    """Let these signals end the run."""
    for number in numbers:
        signal.signal(number, lambda _number, _frame: ENOUGH.set())


def told(found: object, faults: Iterable[object], most: int) -> bool:
    """Print what a run found, and its first faults; true when there are any."""
    print(found, flush=True)
    listed = list(faults)
    for fault in listed[:most]:
        print(f"  {fault}", flush=True)
    return bool(listed)


def by_status(answers: Mapping[int, int]) -> str:
    """How many answers had each status, in their order."""
    return ", ".join(f"{status}: {count}" for status, count in sorted(answers.items()))
