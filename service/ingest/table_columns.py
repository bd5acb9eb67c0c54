"""Which columns of a table are its ids, arm, repeats and measure: by their names, and only where one is obvious."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forelock.columns import NO_VALUE, UNNAMED, WORDS, obvious

OWN_ARM = "arm"
"""The column of our own name: it holds arms, however many."""
_NO_MEASURES = ("item_id", "arm", "run", "judge", "cluster")


def recognize_columns(
    measures: Mapping[str, Any], counts: Mapping[str, Mapping[str, int]], n: int
) -> dict[str, str]:
    """Return lines of an `import` section for columns of other names than the format's own.

    `measures` describes every column, `counts` has the rows of every value of those that are text or whole numbers,
    `n` is the number of rows. What is not obvious is left out.
    """
    whole = [name for name, values in counts.items() if sum(values.values()) == n and "" not in values]
    item_id = obvious("item_id", whole)
    most = max_arms(n)
    arm = obvious(
        "arm",
        [name for name in whole if len(counts[name]) >= 2 and (len(counts[name]) <= most or name == OWN_ARM)],
    )
    fields = {} if arm is None else {"arm": arm}
    if item_id is not None and item_id != "item_id":
        fields["item_id"] = item_id
    if item_id is not None and n > len(counts[item_id]) * len(counts.get(arm or "", " ")):
        run = obvious("run", [name for name in whole if all(map(_is_number_from_1, counts[name]))])
        if run is not None:
            fields["replicate"] = run
    if "value" not in measures:
        metric = _choose_measure(measures, item_id)
        if metric is not None:
            fields["metric"] = metric
    return fields


def max_arms(n: int) -> int:
    """Return how many values a column of arms may have in `n` rows: an arm has two items or more, or it is no arm."""
    return max(n // 2, 2)


def _choose_measure(measures: Mapping[str, Any], item_id: str | None) -> str | None:
    """Return the one column of numbers or of right and wrong, else the one of them that has a measure's name."""
    others = [name for role in _NO_MEASURES if (name := obvious(role, measures)) is not None]
    candidates = [
        name
        for name, entry in measures.items()
        if name not in (item_id, *others) and not UNNAMED.fullmatch(name) and _may_be_measure(entry)
    ]
    return candidates[0] if len(candidates) == 1 else obvious("value", candidates)


def _may_be_measure(entry: Mapping[str, Any]) -> bool:
    """Tell whether a column can be a measure: its texts all say right, wrong or no value, and something has a value."""
    texts = {text.lower() for text in entry["texts"]} - set(NO_VALUE)
    return texts <= set(WORDS) and (bool(texts) or entry["least"] is not None)


def _is_number_from_1(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 6 and int(text) >= 1
