"""What a verdict says of the slices that the plan asks about."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.verdicts.slices import SlicesFound
from service.domain.verdicts.words.numbers import difference, probability
from service.domain.verdicts.words.reasons import reason_message
from service.words import Language, Message, Value, list_values, message

NAMED, LONGEST = 5, 60
"""Slices that a sentence names, and characters of a name."""


def slice_messages(slices: SlicesFound, *, binary: bool) -> Iterator[Message]:
    """Two sentences: whether no slice loses the margin, and whether the arms change sides."""
    margin = difference(slices.no_worse_than, binary=binary, signed=False)
    rule = message("verdicts.slices_asked", margin=margin, alpha=f"{slices.alpha:g}")
    if slices.reason is not None:
        yield message("verdicts.slices_unknown", asked=rule, reason=reason_message(slices.reason))
        return
    yield message(
        f"verdicts.slices_{slices.outcome}",
        asked=rule,
        count=len(slices.slices),
        passed=sum(slice_.outcome == "pass" for slice_ in slices.slices),
        names=_names(slices),
    )
    yield change_of_sides(slices)


def change_of_sides(slices: SlicesFound) -> Message:
    """Tell whether the arms change sides between slices."""
    reversal = slices.reversal
    if reversal.p_value is None:
        return message("verdicts.sides_unknown", reason=reason_message(reversal.reason))
    key = "verdicts.sides_change" if reversal.shown else "verdicts.sides_not_shown"
    return message(key, p=probability(reversal.p_value, slices.alpha))


def beside_table(slices: SlicesFound, *, binary: bool, language: Language) -> str:
    """Return what stands under a table of the slices: the change of sides; without a table, why there is none."""
    says = change_of_sides(slices) if slices.reason is None else next(slice_messages(slices, binary=binary))
    return says.text(language)


def _names(slices: SlicesFound) -> Value:
    """Return the slices that decide the outcome by name, the first few."""
    those = [slice_.slice for slice_ in slices.slices if slice_.outcome == slices.outcome]
    names = list_values(
        (message("verdicts.slice_name", name=_short(name)) for name in those[:NAMED]), "lists.comma"
    )
    if len(those) <= NAMED:
        return names
    return message("verdicts.slices_more", names=names, count=len(those) - NAMED)


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
