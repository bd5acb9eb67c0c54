"""What a verdict says of a candidate that was chosen on the items that judge it."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.facts import Facts
from service.domain.verdicts.words.numbers import amount, percentage
from service.domain.verdicts.words.one_arm import level
from service.domain.verdicts.words.reasons import reason_message
from service.words import Message, message


def selection_messages(verdict: HypothesisVerdict, facts: Facts) -> Iterator[Message]:
    """That the estimate is optimistic, and the bound that allows for the choice, or why there is none."""
    selection = verdict.selection
    if selection is None:
        return
    if selection.bound is None or selection.confidence is None:
        reason = reason_message(selection.reason)
        yield message("verdicts.selected_no_bound", count=selection.tried, reason=reason)
        return
    if verdict.reference is not None:
        bound = level(selection.bound, facts, verdict.reference.value)
    else:
        bound = amount(selection.bound, facts)
    side = "least" if facts.good > 0 else "most"
    yield message(
        f"verdicts.selected_at_{side}",
        count=selection.tried,
        bound=bound,
        confidence=percentage(selection.confidence),
        of=str(selection.of),
    )
