"""Quality against cost: which arms are not beaten in both at once."""

from __future__ import annotations

from collections.abc import Sequence

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.units import Unit
from service.reports.charts.words import say
from service.words import Language

MOST_ARMS = 50


def frontier(rows: Sequence[Row], *, quality_lower: bool = False, cost_higher: bool = False) -> list[bool]:
    """Tell which rows no other row beats: at least as good in `quality` and `cost`, and better in one.

    Example:
        Of (quality .8, cost 2), (.7, 1) and (.7, 3) the third is beaten by both others.
    """
    signs = (-1 if quality_lower else 1, 1 if cost_higher else -1)
    points = [(signs[0] * row["quality"], signs[1] * row["cost"]) for row in rows]
    return [
        not any(a >= x and b >= y and (a, b) != (x, y) for a, b in points)
        for x, y in points
    ]  # fmt: skip


_COUNTED = "format(datum.value, abs(datum.value) < 1 ? '~g' : '~s')"
"""Thousands as k, but no thousandths as m: those read as minutes or millions."""


def pareto(
    rows: Sequence[Row],
    *,
    quality: str,
    cost: str,
    binary: bool,
    quality_lower: bool = False,
    cost_higher: bool = False,
    subtitle: str = "",
    language: Language = "en",
) -> Spec:
    """Rows of `arm`, `quality`, `cost` and the ends of their intervals (`quality_low`, …; null where there is none)."""
    unit, drawn = Unit(binary), list(rows[:MOST_ARMS])
    on_frontier_flags = frontier(drawn, quality_lower=quality_lower, cost_higher=cost_higher)
    middle = sum(style.spread([row["cost"] for row in drawn])) / 2  # names stand where there is room
    data = [
        {
            **row,
            "arm": style.label(row["arm"]),
            "kept": on_frontier,
            "place": say("frontier" if on_frontier else "dominated", language),
            "side": "left" if row["cost"] > middle else "right",
        }
        for row, on_frontier in zip(drawn, on_frontier_flags, strict=True)
    ]
    y_axis = unit.axis(language, "value") | {"title": style.label(quality) + (" (%)" if binary else "")}
    domains = {
        name: style.spread(
            [row[key] for row in data for key in (name, f"{name}_low", f"{name}_high")], pad=0.12
        )
        for name in ("quality", "cost")
    }
    x = {
        "type": "quantitative", "scale": {"domain": list(domains["cost"]), "nice": False, "zero": False},
        "axis": {"title": style.label(cost), "labelExpr": _COUNTED},
    }  # fmt: skip
    y = {
        "type": "quantitative", "scale": {"domain": list(domains["quality"]), "nice": False, "zero": False},
        "axis": y_axis,
    }  # fmt: skip
    names = [say("frontier", language), say("dominated", language)]
    by = {"field": "place", "type": "nominal", "title": None, "legend": {"columns": 1}}
    color = {**by, "scale": {"domain": names, "range": [style.BLUE, style.SOFT]}}
    shape = {**by, "scale": {"domain": names, "range": ["diamond", "circle"]}}
    return style.figure(
        say("pareto", language),
        subtitle,
        {
            "width": style.WIDTH,
            "height": 300,
            "data": style.values(data),
            "layer": _list_layers({"field": "cost", **x}, {"field": "quality", **y}, color, shape),
        },
    )  # fmt: skip


def _list_layers(cost: Spec, quality: Spec, color: Spec, shape: Spec) -> list[Spec]:
    """List the frontier as steps, the intervals of every arm, its point, and its name where there is room."""
    return [
        {
            "transform": [{"filter": "datum.kept"}],
            "mark": {"type": "line", "interpolate": "step-after", "strokeDash": [4, 3], "color": style.SOFT},
            "encoding": {"x": cost, "y": quality},
        },
        {
            "transform": [{"filter": "datum.quality_low !== null && datum.quality_high !== null"}],
            "mark": {"type": "rule", "strokeWidth": 1.6},
            "encoding": {
                "x": cost, "y": {**quality, "field": "quality_low"},
                "y2": {"field": "quality_high"}, "color": color,
            },
        },
        {
            "transform": [{"filter": "datum.cost_low !== null && datum.cost_high !== null"}],
            "mark": {"type": "rule", "strokeWidth": 1.6},
            "encoding": {
                "x": {**cost, "field": "cost_low"}, "x2": {"field": "cost_high"},
                "y": quality, "color": color,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
            "encoding": {
                "x": cost, "y": quality, "color": color, "shape": shape,
            },
        },
        *(
            {
                "transform": [{"filter": f"datum.side === '{side}'"}],
                "mark": {"type": "text", "align": align, "dx": dx, "dy": -9, "color": style.INK},
                "encoding": {
                    "x": cost, "y": quality, "text": {"field": "arm"},
                },
            }
            for side, align, dx in (("right", "left", 9), ("left", "right", -9))
        ),
    ]  # fmt: skip
