"""What a plan may tell beside its claims: that its candidate is the best of several, or is still to be named."""

from __future__ import annotations

from typing import Any

import numpy as np

from service.domain.verdicts.records import HypothesisVerdict

OWN = ("D", "d ")
"""Names of the sample's items, as somebody writes them."""


def draw(rng: np.random.Generator, *, own: str | tuple[str, ...] = OWN) -> dict[str, Any]:
    """Sections of a plan, each left out half of the time."""
    told: dict[str, Any] = {}
    if rng.random() < 0.5:
        names = (own,) if isinstance(own, str) else own
        on = (*names, "other items")[int(rng.integers(len(names) + 1))]
        told["tried"] = {"n": int(rng.integers(2, 50)), "on": on}
    if rng.random() < 0.5:
        told["arms"] = [{"id": "C2", "criterion": "the first model of the family X released after the lock"}]
    return told


def too_good(changes: dict[str, Any], verdict: HypothesisVerdict, *, better: int) -> str | None:
    """How the bound after a choice says more than the interval that the verdict reads; None where it does not."""
    tried, selection = changes.get("tried"), verdict.selection
    own = tried is not None and tried["on"] != "other items"
    if own != (selection is not None):
        return "the verdict does not tell of the choice as the plan does"
    if selection is None:
        return None
    if tried["n"] != selection.tried or (selection.bound is None) == (selection.reason is None):
        return "the choice is told with another number, or without a reason"
    if selection.bound is None or selection.of is None:
        return None
    name, *path = selection.of.split(".")
    ends: Any = verdict.analyses[name]["analysis"]
    for part in path:
        ends = ends[part]
    end = ends["low" if better > 0 else "high"]
    if end is not None and better * (selection.bound - end) > 1e-9:
        return f"the bound after a choice, {selection.bound}, is better than the interval's, {end}"
    return None
