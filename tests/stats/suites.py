"""The suite whose items together say the opposite of its tasks."""

from __future__ import annotations


def golden():
    """Three tasks of 1000, 100 and 50 items with differences of -2.5, +8 and +20 pp."""
    body = {"tasks": [], "baseline": [], "candidate": []}
    for task, n, lost, won in (("large", 1000, 100, 75), ("middle", 100, 4, 12), ("small", 50, 2, 12)):
        both = (n - lost - won) // 2
        body["tasks"] += [task] * n
        body["baseline"] += [1] * (both + lost) + [0] * (n - both - lost)
        body["candidate"] += [1] * both + [0] * lost + [1] * won + [0] * (n - both - lost - won)
    return body
