"""Differences in the unit their reader expects: percentage points for binary endpoints, else the score's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.reports.charts.words import say
from service.words import Language


@dataclass(frozen=True, slots=True)
class Unit:
    """How values of one endpoint are written. The data of a spec stay as the answer has them."""

    binary: bool

    def axis(self, language: Language, what: str = "difference") -> dict[str, Any]:
        """Return the axis of these values, with its title."""
        if self.binary:
            in_points = what in ("difference", "mean_over_reference")
            sign, unit = ("+", say("points", language)) if in_points else ("", "%")
            return {
                "title": say("axis", language, what=say(what, language), unit=unit),
                "labelExpr": f"datum.value == 0 ? '0' : format(100 * datum.value, '{sign}.4~g')",
            }
        return {
            "title": say(what, language),
            "labelExpr": "datum.value == 0 ? '0' : format(datum.value, ',.6~r')",
        }

    def amount(self, value: float | None, *, signed: bool = True) -> str:
        """Return a value for people: `+2.0`, of a proportion in points."""
        if value is None:
            return "∞"
        number = 100 * value if self.binary else value
        text = f"{number:+.2f}" if self.binary else f"{number:+.3g}"
        text = text.replace("-", "−")
        return text if signed else text.lstrip("+")

    def interval(self, low: float | None, high: float | None, *, signed: bool = True) -> str:
        """Return both ends; an open one is infinite."""
        left = "−∞" if low is None else self.amount(low, signed=signed)
        return f"[{left}, {self.amount(high, signed=signed)}]"


def interval_of(analysis: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the interval of a difference, where an analysis has one with an end that is known."""
    ci = (analysis or {}).get("ci")
    if not isinstance(ci, Mapping) or not isinstance((analysis or {}).get("delta"), int | float):
        return None
    return None if ci.get("low") is None and ci.get("high") is None else ci
