"""How often a test errs on data in which nothing differs, against its alpha."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Spec
from service.reports.charts.words import say
from service.words import Language


def error_rate(analysis: Mapping[str, Any], *, language: Language) -> Spec:
    """Return the answer of `type-one-error`: the rate at every size, with its Monte-Carlo error."""
    rows = [
        {"n": point["n"], "rate": point["rate"], "low": (point.get("mc_ci") or {}).get("low"),
         "high": (point.get("mc_ci") or {}).get("high")}
        for point in analysis["points"]
    ]  # fmt: skip
    alpha = float(analysis["alpha"])
    most = max([2 * alpha, *(row["high"] or row["rate"] for row in rows)])
    y = {
        "type": "quantitative",
        "scale": {"domain": [0, 1.08 * most], "nice": False},
        "axis": {"title": f"{say('error', language)} (%)", "labelExpr": "format(100 * datum.value, '~g')"},
    }
    x = {
        "field": "n",
        "type": "quantitative",
        "axis": {"title": say("size", language), "grid": False, "tickMinStep": 1},
    }
    words: Spec = {
        "data": {"values": [{}]},
        "mark": {"type": "text", "align": "right", "baseline": "bottom", "dy": -3, "fontSize": 11},
        "encoding": {
            "y": {"datum": alpha, "type": "quantitative"}, "x": {"value": style.WIDTH},
            "text": {"value": f"alpha {alpha:g}"},
        },
    }  # fmt: skip
    return style.figure(
        say("error_rate", language),
        style.label(analysis.get("test", "")),
        {
            "width": style.WIDTH,
            "height": 220,
            "data": style.values(rows),
            "layer": [
                style.ruler("y", alpha, dash=(5, 3), color=style.VERMILION),
                {
                    "transform": [{"filter": "datum.low !== null"}],
                    "mark": {"type": "rule", "strokeWidth": 2, "color": style.BLUE},
                    "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}},
                },
                {"mark": {"type": "line", "color": style.BLUE}, "encoding": {"x": x, "y": {"field": "rate", **y}}},
                {
                    "mark": {"type": "point", "filled": True, "size": 70, "color": style.BLUE, "opacity": 1},
                    "encoding": {"x": x, "y": {"field": "rate", **y}},
                },
                {**words, "mark": words["mark"] | style.HALO},
                words,
            ],
        },
    )  # fmt: skip
