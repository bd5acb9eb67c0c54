"""Arms that a plan locks by a criterion: each was named once, before its results, and the verdict says as what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forelock.bundles.faults import Broken
from forelock.bundles.receipts import Entry
from forelock.bundles.record import VERDICT, Record


def check_named_arms(record: Record, plan: dict[str, Any], verdict: dict[str, Any]) -> None:
    """Compare the entries that name arms with the plan, with the order of the results, and with the verdict.

    Raises:
        Broken: an arm was named twice, after results of it or though the plan leaves it not open, or the verdict says
            something else.
    """
    left_open = {
        card.get("id") for card in _objects(plan.get("arms")) if isinstance(card.get("criterion"), str)
    }
    naming_of_arm: dict[str, Entry] = {}
    for entry in record.named:
        arm = str(entry.body.get("arm"))
        if arm in naming_of_arm or arm not in left_open:
            raise Broken(
                f"entry {entry.index} of the log names arm '{arm}', which "
                + ("was named before" if arm in naming_of_arm else "the plan does not leave open")
            )
        naming_of_arm[arm] = entry
    for index, batch in record.batches if left_open else ():
        if batch.arm in left_open and (
            batch.arm not in naming_of_arm or index < naming_of_arm[batch.arm].index
        ):
            raise Broken(f"batch {batch.sequence} came in before anybody named arm '{batch.arm}'")
    sentences = [
        str(mark.get("says"))
        for mark in _objects(verdict.get("marks"))
        if mark.get("code") == "arm_named" and mark.get("effect") == "note"
    ]
    texts = {arm: [f"'{arm}'", *_texts(entry.body)] for arm, entry in naming_of_arm.items()}
    if len(sentences) != len(naming_of_arm) or not all(
        any(all(part in says for part in parts) for says in sentences) for parts in texts.values()
    ):
        raise Broken(f"{VERDICT} says something else of the arms that were named than the log")


def _texts(body: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of a card and its evidence, each in one line as a sentence holds it."""
    waiting: list[Any] = [body.get("card"), body.get("evidence")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield " ".join(value.split())
        elif isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)


def _objects(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
