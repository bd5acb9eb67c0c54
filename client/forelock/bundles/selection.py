"""A candidate that was chosen on the items that judge it: the verdict says so wherever the plan does."""

from __future__ import annotations

from typing import Any

from forelock.bundles.faults import Broken
from forelock.bundles.record import VERDICT


def check_selection(plan: dict[str, Any], verdict: dict[str, Any]) -> None:
    """Compare what the plan says was tried on its own items with what the verdict says of it.

    Raises:
        Broken: a hypothesis on these items is silent about it, or tells another number.
    """
    tried = plan.get("tried")
    section = tried if isinstance(tried, dict) else {}
    on = _plain(section.get("on"))
    own = {
        str(population.get("id"))
        for population in _objects(plan.get("populations"))
        if on is not None and on in (_plain(population.get("dataset")), population.get("items_sha256"))
    }
    tasks = {str(suite.get("id")): suite.get("populations") for suite in _objects(plan.get("suites"))}
    own |= {
        suite
        for suite, members in tasks.items()
        if isinstance(members, list) and own & set(map(str, members))
    }
    for hypothesis in _objects(verdict.get("hypotheses")):
        selection = hypothesis.get("selection")
        reported = selection.get("tried") if isinstance(selection, dict) else None
        selected = hypothesis.get("population") in own and hypothesis.get("outcome") != "invalid"
        if reported != (section.get("n") if selected else None):
            raise Broken(f"{VERDICT} says something else of what was tried on these items than the plan")


def _plain(text: Any) -> str | None:
    return " ".join(text.split()).casefold() if isinstance(text, str) else None


def _objects(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
