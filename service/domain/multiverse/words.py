"""The multiverse in a sentence per hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from service.words import say

SHOWN = 5
"""Choices that a sentence names."""


def sentence(
    hypothesis: str, *, passes: int, universes: int, total: int, planned: bool, decided_by: Sequence[str]
) -> str:
    """Return what the universes say of one hypothesis."""
    if total == 1 or universes == 1:
        alone = "multiverse.passes_alone" if planned else "multiverse.fails_alone"
        return say(alone, hypothesis=hypothesis)
    whole = universes == total
    counted = (
        say("multiverse.universes", n=universes)
        if whole
        else say("multiverse.universes_of", n=universes, total=total)
    )
    if passes == universes:
        in_all = "multiverse.passes_in_all" if whole else "multiverse.passes_in_all_computed"
        return say(in_all, hypothesis=hypothesis, counted=counted)
    if passes == 0:
        in_none = "multiverse.passes_in_none" if whole else "multiverse.passes_in_none_computed"
        return say(in_none, hypothesis=hypothesis, counted=counted)
    as_planned = "multiverse.share_passes" if planned else "multiverse.share_fails"
    share = say(as_planned, hypothesis=hypothesis, passes=passes, counted=counted)
    if not decided_by:
        return say("multiverse.together", share=share)
    decides = "one" if len(decided_by) == 1 else "any" if len(decided_by) <= SHOWN else "any_of_more"
    return say(f"multiverse.{decides}_decides", share=share, choices="; ".join(decided_by[:SHOWN]))
