"""A plan's other analyses."""

from __future__ import annotations

FEWER = {
    "kind": "exclude_items",
    "population": "p",
    "item_ids": [f"item-{at}" for at in range(10, 14)],
    "dropped_favour": "candidate",
}
