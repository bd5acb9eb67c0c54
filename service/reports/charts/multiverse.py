"""A verdict under the other choices on record: the difference in every universe, and what was chosen there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.units import Unit
from service.reports.charts.words import say
from service.words import Language

MOST_CHOICES = 20


def rows_of(universes: Mapping[str, Any], hypothesis: str, language: Language) -> list[Row]:
    """A row per universe in which the hypothesis has a difference, by that difference; `at` counts them from 1."""
    rows = []
    for universe in universes["universes"]:
        seen = universe["hypotheses"].get(hypothesis)
        if seen is None or seen.get("delta") is None:
            continue
        rows.append(
            {
                "number": universe["number"], "delta": seen["delta"],
                "truth": say("holds" if seen.get("passes") else "fails", language),
                "planned": universe["position"] == "as_planned", "departures": universe["departures"],
            }
        )  # fmt: skip
    rows.sort(key=lambda row: (row["delta"], row["number"]))
    return [{"at": at, **row} for at, row in enumerate(rows, start=1)]


def multiverse(
    universes: Mapping[str, Any],
    hypothesis: str,
    *,
    binary: bool,
    sesoi: float | None = None,
    subtitle: str = "",
    language: Language,
) -> Spec:
    """Return a specification curve: differences in order, below them which choices depart from the plan."""
    rows, unit = rows_of(universes, hypothesis, language), Unit(binary)
    x = {"field": "at", "type": "quantitative", "scale": {"domain": [0.5, len(rows) + 0.5], "nice": False}}
    top = _draw_differences(rows, x, unit, sesoi, language)
    choices = _choices(universes, rows)
    heading, words = say("multiverse", language), subtitle or style.label(hypothesis)
    if not choices:
        return style.figure(heading, words, top)
    forks = list(dict.fromkeys(row["choice"] for row in choices))
    counted = {"values": list(range(1, len(rows) + 1))} if len(rows) <= MOST_CHOICES else {"tickMinStep": 1}
    axis = {"title": say("universe", language), "format": "d", "grid": False, **counted}
    bottom: Spec = {
        "width": style.WIDTH,
        "height": {"step": 20},
        "title": {"text": say("departs", language), "fontSize": 12, "color": style.SOFT, "offset": 4},
        "data": style.values(choices),
        "mark": {"type": "tick", "thickness": 3, "size": 14, "color": style.SOFT},
        "encoding": {
            "x": {**x, "axis": axis},
            "y": style.make_named_axis("choice", forks),
        },
    }  # fmt: skip
    return style.figure(heading, words, {"vconcat": [top, bottom], "spacing": 10})


def _draw_differences(rows: list[Row], x: Spec, unit: Unit, sesoi: float | None, language: Language) -> Spec:
    """Draw the difference in every universe, and which of them is as planned, over 0 and the SESOI."""
    holds, fails = say("holds", language), say("fails", language)
    by = {"field": "truth", "type": "nominal", "title": None}
    no_axis = {**x, "axis": None}
    lines = [style.ruler("y", 0.0)]
    if sesoi is not None:
        lines += [style.ruler("y", at, dash=(5, 3), color=style.VERMILION) for at in (-sesoi, sesoi)]
    y = {"field": "delta", "type": "quantitative", "axis": unit.axis(language)}
    return {
        "width": style.WIDTH,
        "height": 200,
        "data": style.values(rows),
        "layer": [
            *lines,
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {
                    "x": no_axis, "y": y,
                    "color": {**by, "scale": {"domain": [holds, fails], "range": [style.BLUE, style.ORANGE]}},
                    "shape": {**by, "scale": {"domain": [holds, fails], "range": ["circle", "triangle-down"]}},
                },
            },
            {
                "transform": [{"filter": "datum.planned"}],
                "mark": {"type": "point", "size": 190, "color": style.INK, "strokeWidth": 2, "filled": False},
                "encoding": {"x": no_axis, "y": y},
            },
            {
                "transform": [{"filter": "datum.planned"}],
                "mark": {"type": "text", "dy": -16, "color": style.INK},
                "encoding": {"x": no_axis, "y": y, "text": {"value": say("as_planned", language)}},
            },
        ],
    }  # fmt: skip


def _choices(universes: Mapping[str, Any], rows: list[Row]) -> list[Row]:
    """Return where a choice departs from the plan: (universe, choice)."""
    planned = {
        fork["id"]: fork["options"][0] for fork in universes["choices"][:MOST_CHOICES] if fork["options"]
    }
    choices_of = {universe["number"]: universe["choices"] for universe in universes["universes"]}
    return [
        {"at": row["at"], "choice": style.label(name)}
        for row in rows
        for name, taken in choices_of[row["number"]].items()
        if name in planned and taken != planned[name]
    ]
