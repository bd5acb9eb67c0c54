"""Numbers of an answer in words: levels and differences in their unit, intervals, p-values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forelock.text import plain
from forelock.words import Say

Json = Mapping[str, Any]
METHODS = {
    "tango": "Tango score",
    "cr2_t": "CR2 t",
    "t": "t",
    "sign_flip": "sign flips",
    "gaffke": "Gaffke",
    "gaffke_observed": "Gaffke",
    "furthest": "furthest of several",
    "bootstrap": "exact bootstrap",  # of a service of an earlier version
    "percentile": "exact bootstrap",
    "exact": "exact",
    "clopper-pearson": "Clopper-Pearson",
    "wilson": "Wilson",
    "jeffreys": "Jeffreys",
    "korn-graubard": "Korn-Graubard",
    "whole_clusters": "whole-cluster",
    "cr0_z": "CR0",
    "hc2_t": "HC2 t",
    "melded": "melded",
    "boschloo": "Boschloo",
    "miettinen-nurminen": "Miettinen-Nurminen",
    "hedged capital, running intersection": "hedged capital",
}


def in_brief(outcome: str, estimate: float | None, ci: Json | None, unit: str, n: int) -> dict[str, Any]:
    """The outcome and its numbers as `Form.answer` has them; an interval that is not there has ends that are null."""
    ci = ci or {}
    return {
        "outcome": outcome,
        "estimate": estimate,
        "low": ci.get("low"),
        "high": ci.get("high"),
        "level": ci.get("level"),
        "unit": unit,
        "n": n,
    }


def difference_in_brief(answer: Json) -> dict[str, Any]:
    """Return the same of an answer about the difference of two arms."""
    unit = "pp" if answer["points"] else "score"
    return in_brief(answer["outcome"], answer["delta"], answer["ci"], unit, answer["n"])


def show_level(value: float, *, points: bool) -> str:
    """Return a share in percent, or a score."""
    return f"{100 * value:.2f}%" if points else f"{value:.4g}"


def show_difference(value: float, *, points: bool) -> str:
    """Return a difference of shares in percentage points, or of scores; with its sign."""
    return f"{100 * value:+.2f} pp" if points else f"{value:+.4g}"


def show_p(p: float) -> str:
    """Return a p-value in three decimals, or its magnitude."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def has_ends(interval: Json | None) -> bool:
    """Tell whether there is an interval, with both ends."""
    return interval is not None and interval["low"] is not None and interval["high"] is not None


def show_interval(interval: Json | None, *, points: bool, difference: bool = False, say: Say) -> str:
    """Return an interval with its level and method, or that there is none."""
    if interval is None:
        return say("no_interval")
    level = f"{100 * interval['level']:.10g}%"
    if not has_ends(interval):
        return say("no_level_interval", level=level)
    show = show_difference if difference else show_level
    low, high = (show(interval[end], points=points) for end in ("low", "high"))
    method = interval.get("method")
    if not method:
        return say("interval", level=level, low=low, high=high)
    named = say.method(METHODS.get(method, plain(method)))
    return say("method_interval", level=level, method=named, low=low, high=high)


def show_ids(ids: Any, total: int) -> str:
    """Return the first ids of so many."""
    return f"{', '.join(map(plain, ids))}{', …' if total > len(ids) else ''}"
