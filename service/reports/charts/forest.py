"""Forest plot: every interval of a difference against 0 and the smallest effect of interest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.units import Unit, interval_of
from service.reports.charts.words import say
from service.words import Language

MOST_INTERVALS = 60
ROW_HEIGHT = 30
EDGE = 0.15
"""Of the picture's width: nearer to an edge a centred label would be cut."""


@dataclass(frozen=True, slots=True)
class Panel:
    """What shares an axis: the intervals of one endpoint, in its unit."""

    endpoint: str
    unit: Unit
    sesoi: float | None
    rows: tuple[Row, ...]
    """`label`, `delta`, `low`, `high` (null: open), `level`, `method`, `read`: that of the headline."""
    what: str = "difference"
    """What the intervals are of, by its code: `mean_over_reference` where every claim is about one arm."""


def rows_of(analyses: Mapping[str, Mapping[str, Any] | None], *, read: str | None = None) -> tuple[Row, ...]:
    """Return the rows of the analyses that have an interval of a difference, by test id."""
    rows = []
    for name, analysis in analyses.items():
        ci = interval_of(analysis)
        if analysis is None or ci is None:
            continue
        rows.append(
            {
                "label": style.label(name),
                "delta": analysis["delta"],
                "low": ci.get("low"),
                "high": ci.get("high"),
                "level": ci.get("level"),
                "method": style.label(ci.get("method", "")),
                "read": name == read,
            }
        )
    return tuple(rows)


def forest(
    panels: Sequence[Panel], *, title: str | None = None, subtitle: str = "", language: Language = "en"
) -> Spec:
    """Draw one panel per endpoint, one row per interval, in the order given.

    Example:
        A row with delta .02 and the interval .005 to .035 stands at +2.0 [+0.5, +3.5] on a binary endpoint.
    """
    drawn, left = [], MOST_INTERVALS
    for panel in panels:
        rows = panel.rows[:left]
        left -= len(rows)
        if rows:
            drawn.append(_draw_panel(panel, rows, language, named=len(panels) > 1))
    cut = sum(len(panel.rows) for panel in panels) > MOST_INTERVALS
    more = f"{MOST_INTERVALS} / {sum(len(panel.rows) for panel in panels)}" if cut else ""
    content: Spec = drawn[0] if len(drawn) == 1 else {"vconcat": drawn, "spacing": 24}
    return style.figure(title or say("forest", language), subtitle, content, note=more)


def _draw_panel(panel: Panel, rows: Sequence[Row], language: Language, *, named: bool) -> Spec:
    """Draw the intervals of an endpoint's comparisons as rows, with the band of the SESOI behind them."""
    ends = [row[key] for row in rows for key in ("low", "delta", "high")]
    low, high = style.spread([*ends, 0.0, *(() if panel.sesoi is None else (panel.sesoi, -panel.sesoi))])
    levels = len({row.get("level") for row in rows}) > 1
    data = [
        _draw_row(row, name, panel.unit, (low, high), leveled=levels)
        for row, name in zip(rows, _names(rows), strict=True)
    ]
    x = {"type": "quantitative", "scale": {"domain": [low, high], "nice": False, "zero": False}}
    y = style.make_named_axis("row", [datum["row"] for datum in data], grid=False, labelPadding=10)
    read = any(row["read"] for row in rows)
    color = {
        "condition": {"test": "datum.read", "value": style.BLUE},
        "value": style.INK if read else style.BLUE,
    }
    axis = panel.unit.axis(language, panel.what)
    return {
        **({"title": {"text": style.label(panel.endpoint), "fontSize": 13}} if named else {}),
        "width": style.WIDTH,
        "height": {"step": ROW_HEIGHT},
        "data": style.values(data),
        "layer": [
            *_rule_bounds(panel, low, high, language),
            {
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {
                    "y": y, "x": {"field": "from", **x, "axis": axis}, "x2": {"field": "to"}, "color": color,
                },
            },
            *(
                {
                    "transform": [{"filter": f"datum.{end} === null"}],
                    "mark": {"type": "point", "shape": f"triangle-{side}", "filled": True, "size": 70},
                    "encoding": {"y": y, "x": {"field": field, **x}, "color": color},
                }
                for end, field, side in (("low", "from", "left"), ("high", "to", "right"))
            ),
            *(
                {
                    "transform": [{"filter": f"datum.{end} !== null"}],
                    "mark": {"type": "tick", "thickness": 2.5, "size": 9},
                    "encoding": {"y": y, "x": {"field": end, **x}, "color": color},
                }
                for end in ("low", "high")
            ),
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {
                    "y": y,
                    "x": {"field": "delta", **x},
                    "color": color,
                    "shape": {
                        "condition": {"test": "datum.read", "value": "diamond"},
                        "value": "circle" if read else "diamond",
                    },
                },
            },
            style.beside_row(y),
        ],
    }  # fmt: skip


def _rule_bounds(panel: Panel, low: float, high: float, language: Language) -> list[Spec]:
    """Rule a line at 0, and the band of the SESOI behind it with its name, in a picture from `low` to `high`."""
    sesoi, zero = panel.sesoi, style.ruler("x", 0.0)
    if sesoi is None:
        return [zero]
    named_band = f"{say('sesoi_short', language)} ±{panel.unit.amount(sesoi, signed=False)}"
    return [
        _band(sesoi),
        zero,
        *(style.ruler("x", at, dash=(5, 3), color=style.VERMILION) for at in (-sesoi, sesoi)),
        _above_band(sesoi, named_band, high, low),
    ]


def _band(sesoi: float) -> Spec:
    """Return the differences that are smaller than the smallest effect of interest."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rect", "color": style.GRID, "opacity": 0.45},
        "encoding": {"x": {"datum": -sesoi, "type": "quantitative"}, "x2": {"datum": sesoi}},
    }


def _names(rows: Sequence[Row]) -> list[str]:
    """Their labels, each once: a second of the same name is numbered."""
    seen: Counter[str] = Counter()
    names = []
    for row in rows:
        name = style.label(row["label"])
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _draw_row(row: Row, name: str, unit: Unit, domain: tuple[float, float], *, leveled: bool) -> Row:
    """Return a row with where its line begins and ends: an open end runs to the edge of the picture.

    Where rows have several levels (`leveled`), each says its own.
    """
    level = f", {100 * row['level']:g}%" if leveled and row.get("level") is not None else ""
    low, high = row["low"], row["high"]
    return {
        **row,
        "row": name,
        "from": domain[0] if low is None else low,
        "to": domain[1] if high is None else high,
        "told": f"{unit.amount(row['delta'])} {unit.interval(low, high)}{level}",
    }


def _above_band(sesoi: float, text: str, high: float, low: float) -> Spec:
    """Return what both dashed lines are, above the middle of their band; beside an end of it where the edge is near."""
    place = -low / (high - low)
    align, at = (
        ("left", -sesoi) if place < EDGE else ("right", sesoi) if place > 1 - EDGE else ("center", 0.0)
    )
    return {
        "data": {"values": [{}]},
        "mark": {
            "type": "text", "align": align, "baseline": "bottom", "dy": -3, "fontSize": 11, "color": style.SOFT,
        },
        "encoding": {
            "x": {"datum": at, "type": "quantitative"}, "y": {"value": 0}, "text": {"value": text},
        },
    }  # fmt: skip
