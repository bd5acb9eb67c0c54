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
    chosen = verdict.selection
    if chosen is None:
        return
    if chosen.bound is None or chosen.confidence is None:
        reason = reason_message(chosen.reason)
        yield message("verdicts.selected_no_bound", count=chosen.tried, reason=reason)
        return
    if verdict.reference is not None:
        bound = level(chosen.bound, facts, verdict.reference.value)
    else:
        bound = amount(chosen.bound, facts)
    side = "least" if facts.good > 0 else "most"
    yield message(
        f"verdicts.selected_at_{side}",
        count=chosen.tried,
        bound=bound,
        confidence=percentage(chosen.confidence),
        of=str(chosen.of),
    )
