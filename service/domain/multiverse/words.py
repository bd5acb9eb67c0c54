"""The multiverse in a sentence per hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

NOTE = (
    "All universes share one set of rows and are not equally likely, so a share is no probability. It tells how "
    "much hangs on choices that a plan locks: whoever makes them after seeing outcomes can pick the universe."
)
SHOWN = 5
"""Choices that a sentence names."""


def sentence(
    hypothesis: str, *, passes: int, universes: int, total: int, planned: bool, decided_by: Sequence[str]
) -> str:
    """Return what the universes say of one hypothesis."""
    as_planned = "passes" if planned else "does not pass"
    if total == 1 or universes == 1:
        return f"{hypothesis} {as_planned} as planned; no other universe was computed."
    counted = f"{universes} universes" if universes == total else f"{universes} of {total} universes"
    if passes == universes:
        why = "none of the choices decides it" if universes == total else "the others are open"
        return f"{hypothesis} passes in all {counted} that were computed: {why}."
    if passes == 0:
        why = "no choice makes it pass" if universes == total else "the others are open"
        return f"{hypothesis} passes in none of the {counted} that were computed: {why}."
    share = (
        f"{hypothesis} passes in {passes} of the {counted} that were computed, and {as_planned} as planned"
    )
    if not decided_by:
        return f"{share}; no single choice that was computed decides it, several together do."
    choices = "; ".join(decided_by[:SHOWN]) + (" and others" if len(decided_by) > SHOWN else "")
    return f"{share}; {'one choice' if len(decided_by) == 1 else 'any one of these'} alone decides it: {choices}."
