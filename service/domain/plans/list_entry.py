"""What a list shows of a locked plan, read from its text without the rest of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from service.domain.plans.sections.tried import Tried

ListEntry = tuple[str | None, date | None, date | None, int | None]
"""Title, `results_due`, `embargo_until`, and how many variants were tried on the plan's own items."""


def list_entry(plan: Mapping[str, Any]) -> ListEntry:
    """Return what a list shows of a plan, from its decoded JSON."""
    due, embargo = (
        None if day is None else date.fromisoformat(day)
        for day in (plan.get("results_due"), plan.get("embargo_until"))
    )
    return plan.get("title"), due, embargo, _count_tried(plan)


def _count_tried(plan: Mapping[str, Any]) -> int | None:
    """Return how many variants the plan says were tried on its own items.

    None if it says so of no variants or other data.
    """
    section = plan.get("tried")
    if section is None:
        return None
    tried = Tried.model_validate(section)
    populations = plan.get("populations") or ()
    own = any(
        tried.is_on(population["dataset"], population.get("items_sha256")) for population in populations
    )
    return tried.n if own else None
