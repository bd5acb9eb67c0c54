"""Our side of a row: a validated request, computed as often as the harness asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from service.stats.shared.data.arms import Arms
from service.stats.shared.declaring import registry


def computed(name: str, **request: Any) -> Callable[[], Any]:
    """A task that computes the analysis of a request validated beforehand, as a locked plan would.

    Inside the timing: everything from the columns (as arrays where validation makes them) to the finished
    analysis, with every interval, tail, diagnostic and sentence. What one run caches is forgotten by the next.
    """
    test = registry.find(name)
    validated = test.request.model_validate(request)
    kept = {field: value for field, value in validated.__dict__.items() if field in test.request.model_fields}
    pair = validated.__dict__.get("pair")

    def run() -> Any:
        validated.__dict__.clear()
        validated.__dict__.update(kept)
        if pair is not None:
            validated.__dict__["pair"] = _forgetful(pair)
        return test.compute(validated)

    return run


def _forgetful(pair: Arms) -> Arms:
    """The same arms without what was computed from them."""
    items = replace(pair.items)
    return replace(pair, items=items, units=items if pair.units is pair.items else replace(pair.units))
