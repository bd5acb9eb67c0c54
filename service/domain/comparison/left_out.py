"""How much may be left out for an answer to stand without asking what the missing results could change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

MOST = 0.05
"""Share of the items above which an answer has to hold in its worst case too."""


def most_of_a_task(tasks: Sequence[str], gone: Sequence[bool]) -> float:
    """Return the greatest share of its items that a task has lost: a small task counts as much as a large one."""
    items, lost = Counter(tasks), Counter(task for task, lacks in zip(tasks, gone, strict=True) if lacks)
    return max((lost[task] / count for task, count in items.items()), default=0.0)
