"""Amounts that people write: a margin, a threshold, and the range of scores."""

from __future__ import annotations

import math
import re
from typing import Any

from forelock.problem import FileFault

Json = dict[str, Any]
_MARGIN = re.compile(r"((?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][+-]?[0-9]+)?)\s*(pp|%|proportion|score)?")
_UNITS = {"pp": "pp", "%": "pp", "proportion": "proportion", "score": "score"}


def margin_of(text: str, *, binary: bool) -> Json:
    """`2pp`, `0.02` or `0.5score` as a margin; a bare number is a proportion of 0 and 1, and else score units."""
    match = _MARGIN.fullmatch(text.strip())
    if match is None:
        raise FileFault(f"the margin '{text}' is none: write 2pp, 0.02 or 0.5score")
    unit = _UNITS[match[2]] if match[2] else "proportion" if binary else "score"
    value = float(match[1])
    if unit == "proportion" and 1 <= value < 100:
        raise FileFault(f"the margin '{text}' is a whole share or more: write {value:g}pp or {value / 100:g}")
    return {"value": value, "unit": unit}


def effect_of(text: str) -> float:
    """`2pp`, `2%` or `0.02` as a true difference, in shares or score units."""
    points = text.endswith(("pp", "%"))
    try:
        return float(text.removesuffix("pp").removesuffix("%")) / (100 if points else 1)
    except ValueError:
        raise FileFault(f"the effect '{text}' is none: write 2pp, or 0.5 in score units") from None


def range_of(text: str) -> Json:
    """`1..5` as the least and the greatest score there can be."""
    ends = text.split("..")
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise FileFault(
            f"the range '{text}' is none: write the least and the greatest score there can be, as 1..5"
        )
    return {"low": low, "high": high}


def threshold_of(text: str) -> float:
    """`95%`, `0.95` or, of scores, `3.5`."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if rest or not math.isfinite(value):
        raise FileFault(f"the threshold '{text}' is none: write one such as 95% or 0.95, or of scores 3.5")
    return value / 100 if percent else value
