"""The mean of every arm with its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.units import Unit
from service.reports.charts.words import say
from service.words import Language

MOST_ARMS = 50


def arms(rows: Sequence[Row], *, binary: bool, subtitle: str = "", language: Language = "en") -> Spec:
    """Rows of `arm`, `n`, `mean`, `low`, `high` (null where there is no interval), in order; values in the arm's unit.

    Intervals that overlap say nothing about the difference of paired arms: that is the forest plot's.
    """
    unit = Unit(binary)
    data = [
        {
            **row,
            "arm": style.label(row["arm"]),
            "told": unit.amount(row["mean"], signed=False) + (
                "" if row["low"] is None or row["high"] is None
                else f" {unit.interval(row['low'], row['high'], signed=False)}"
            ),
        }
        for row in rows[:MOST_ARMS]
    ]  # fmt: skip
    names = [arm["arm"] for arm in data]
    low, high = style.spread([arm[key] for arm in data for key in ("low", "mean", "high")], pad=0.12)
    if binary:
        low, high = max(0.0, low), min(1.0, high)
    x = {"type": "quantitative", "scale": {"domain": [low, high], "nice": False, "zero": False}}
    y = style.make_named_axis("arm", names)
    color = _tell_apart(names, style.SERIES, style.BLUE)
    shape = _tell_apart(names, style.SHAPES, "circle")
    return style.figure(
        say("arms", language),
        subtitle,
        {
            "width": style.WIDTH,
            "height": {"step": 36},
            "data": style.values(data),
            "layer": [
                {
                    "transform": [{"filter": "datum.low !== null && datum.high !== null"}],
                    "mark": {"type": "rule", "strokeWidth": 2.5},
                    "encoding": {
                        "y": y, "x": {"field": "low", **x, "axis": unit.axis(language, "value")},
                        "x2": {"field": "high"}, "color": color,
                    },
                },
                *(
                    {
                        "transform": [{"filter": f"datum.{end} !== null"}],
                        "mark": {"type": "tick", "thickness": 2.5, "size": 11},
                        "encoding": {"y": y, "x": {"field": end, **x}, "color": color},
                    }
                    for end in ("low", "high")
                ),
                {
                    "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                    "encoding": {"y": y, "x": {"field": "mean", **x}, "color": color, "shape": shape},
                },
                style.beside_row(y),
            ],
        },
    )  # fmt: skip


def _tell_apart(names: list[str], values: Sequence[str], alike: str) -> Spec:
    """Give every arm a colour or a shape; of more arms than there are colours all look `alike`."""
    if len(names) > len(style.SERIES):
        return {"value": alike}
    scale = {"domain": names, "range": list(values[: len(names)])}
    return {"field": "arm", "type": "nominal", "legend": None, "scale": scale}
