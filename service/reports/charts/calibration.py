"""How often the rule of every hypothesis holds when nothing can tell the arms apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.words import say
from service.words import Language

MOST = 60


def rows_of(rates: Mapping[str, Any], language: Language) -> list[Row]:
    """Return a row per hypothesis: the rate, its Monte-Carlo interval, and the alpha that the rule states."""
    rows = []
    for hypothesis in rates["hypotheses"][:MOST]:
        ci, rate = hypothesis.get("mc_ci") or {}, hypothesis["rate"]
        rows.append(
            {
                "hypothesis": style.label(hypothesis["hypothesis"]), "rate": rate,
                "low": ci.get("low"), "high": ci.get("high"), "alpha": hypothesis.get("nominal_alpha"),
                "tells": say("error" if hypothesis["tells"] == "type_one_error" else "power_zero", language),
                "told": f"{100 * rate:.3g} %",
            }
        )  # fmt: skip
    return rows


def calibration(rates: Mapping[str, Any], *, language: Language) -> Spec:
    """Return a result of a calibration: rates as points, alpha as an upright mark."""
    rows = rows_of(rates, language)
    most = max(
        [
            0.1,
            *(1.6 * (row["high"] or row["rate"]) for row in rows),
            *(2 * (row["alpha"] or 0) for row in rows),
        ]
    )
    names = [row["hypothesis"] for row in rows]
    kinds = [say("error", language), say("power_zero", language)]
    y = style.make_named_axis("hypothesis", names)
    x = {
        "type": "quantitative", "scale": {"domain": [0, min(1.0, most)], "nice": False},
        "axis": {"title": say("rate", language), "labelExpr": "format(100 * datum.value, '~g')"},
    }  # fmt: skip
    by = {"field": "tells", "type": "nominal", "title": None}
    color = {**by, "scale": {"domain": kinds, "range": [style.BLUE, style.GREEN]}}
    shape = {**by, "scale": {"domain": kinds, "range": ["circle", "triangle-up"]}}
    return style.figure(
        say("calibration", language),
        "",
        {
            "width": style.WIDTH,
            "height": {"step": 34},
            "data": style.values(rows),
            "layer": [
                {
                    "transform": [{"filter": "datum.low !== null"}],
                    "mark": {"type": "rule", "strokeWidth": 2.2},
                    "encoding": {
                        "y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}, "color": color,
                    },
                },
                {
                    "transform": [{"filter": "datum.alpha !== null"}],
                    "mark": {"type": "tick", "color": style.VERMILION, "thickness": 2.5, "size": 24},
                    "encoding": {"y": y, "x": {"field": "alpha", **x}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 100, "opacity": 1},
                    "encoding": {"y": y, "x": {"field": "rate", **x}, "color": color, "shape": shape},
                },
                style.beside_row(y),
            ],
        },
        note=f"| {say('alpha', language)}",
    )  # fmt: skip
