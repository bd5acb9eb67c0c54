"""The effect in the locked order, with the pointwise and the anytime band, and the planned n."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.units import Unit
from service.reports.charts.words import say
from service.words import Language

MOST_POINTS = 400
"""Points in a picture: more are closer together than its pixels. The first and the last are kept."""


_ROOM = 0.5
"""Of the other band's height, on either side of it: more of the band for every n is cut off."""


COLORS = {"effect": style.BLUE, "pointwise": style.SKY, "anytime": style.PURPLE, "smallest": style.VERMILION}
DASHES = {"effect": [1, 0], "pointwise": [2, 2], "anytime": [6, 3], "smallest": [4, 4]}
LEGEND: Spec = {"symbolType": "stroke", "symbolOpacity": 1, "symbolStrokeWidth": 3, "columns": 1}


def cumulative(
    analysis: Mapping[str, Any],
    *,
    binary: bool,
    subtitle: str = "",
    language: Language = "en",
    what: str = "difference",
) -> Spec:
    """Return the curve of an answer of `cumulative-effect`; values stay in the endpoint's unit."""
    rows, lines = points_of(analysis), analysis["lines"]
    if not _draws_line(rows):
        return style.figure(
            say("cumulative", language), subtitle, style.sentences([say("no_curve", language)])
        )
    unit, margin, planned = Unit(binary), lines.get("margin"), lines.get("planned_n")
    names = {key: say(key, language) for key in ("effect", "pointwise", "anytime")}
    tail = rows[len(rows) // 10 :]  # the first points swing widely: the axis is for what follows
    low, high = _find_ends(tail, margin)
    bands = [
        name for name, key in (("pointwise", "band_low"), ("anytime", "sequence_low")) if _any(rows, key)
    ]
    drawn = {key: names[key] for key in ("effect", *bands)}
    if margin is not None:
        size = unit.amount(margin, signed=False) + (f" {say('points', language)}" if binary else "")
        drawn["smallest"] = say("smallest", language, margin=size)
    color, dash = _tell_apart(drawn, COLORS), _tell_apart(drawn, DASHES)
    n_clusters = analysis.get("points", {}).get("n_clusters")
    x = {
        "field": "n", "type": "quantitative", "scale": {"nice": False, "zero": False},
        "axis": {"title": say("items", language), "format": "~s", "grid": False, "tickCount": 8},
    }  # fmt: skip
    y = {
        "type": "quantitative", "scale": {"domain": [low, high], "nice": False}, "axis": unit.axis(language, what),
    }  # fmt: skip
    layers = [style.ruler("y", 0.0)]
    if margin is not None:
        layers += [_rule_size(at, drawn["smallest"], color, dash) for at in (-margin, margin)]
    if planned is not None and not n_clusters:
        layers.append(style.ruler("x", planned, dash=(2, 2)))
        layers.append(_draw_planned(planned, f"{say('planned', language)} = {planned}"))
    for name, ends in (("anytime", "sequence"), ("pointwise", "band")):
        if name in bands:
            layers += _band(ends, _name_series(names[name]), color, dash, x, y)
    layers.append(
        {
            "transform": [_name_series(names["effect"])],
            "mark": {"type": "line", "strokeWidth": 2.2, "clip": True},
            "encoding": {"x": x, "y": {"field": "delta", **y}, "color": color, "strokeDash": dash},
        }
    )
    return style.figure(
        say("cumulative", language),
        subtitle,
        {"width": style.WIDTH + 60, "height": 280, "data": style.values(rows), "layer": layers},
        note=_order(analysis, language),
    )


def _tell_apart(names: Mapping[str, str], values: Mapping[str, Any]) -> Spec:
    """Give each series a colour or a dash, by the name that the legend has of it."""
    scale = {"domain": [*names.values()], "range": [values[key] for key in names]}
    return {"field": "series", "type": "nominal", "scale": scale, "title": None, "legend": LEGEND}


def _find_ends(tail: Sequence[Row], margin: float | None) -> tuple[float, float]:
    """The ends of the axis: all that is drawn, but of the band for every n no more than leaves the other legible."""
    always = [0.0] if margin is None else [0.0, margin, -margin]

    def ends(*keys: str) -> tuple[float, float]:
        return style.spread([*always, *(point[key] for point in tail for key in keys)])

    low, high = ends("delta", "band_low", "band_high", "sequence_low", "sequence_high")
    if not _any([*tail], "band_low"):
        return low, high
    least, most = ends("delta", "band_low", "band_high")
    room = _ROOM * (most - least)
    return max(low, least - room), min(high, most + room)


def points_of(analysis: Mapping[str, Any]) -> list[Row]:
    """Return the points as rows, evenly thinned to what a picture shows."""
    columns = analysis["points"]
    n = len(columns["n"])
    step = max(1, -(-n // MOST_POINTS))
    places = sorted({0, n - 1, *range(0, n, step)}) if n else []
    names = ("n", "delta", "band_low", "band_high", "sequence_low", "sequence_high")
    return [{name: _at(columns.get(name), place) for name in names} for place in places]


def _draws_line(rows: Sequence[Row]) -> bool:
    """Tell whether two points of the curve are known: one alone draws none, and leaves a picture empty."""
    return sum(row["delta"] is not None for row in rows) > 1


def _at(column: Any, place: int) -> Any:
    return None if column is None else column[place]


def _any(rows: list[Row], key: str) -> bool:
    return any(row[key] is not None for row in rows)


def _name_series(series: str) -> Spec:
    """Return what the legend calls a layer."""
    return {"calculate": json.dumps(series, ensure_ascii=False), "as": "series"}


def _band(ends: str, named: Spec, color: Spec, dash: Spec, x: Spec, y: Spec) -> list[Spec]:
    """Return a band filled faintly, with its two ends drawn."""
    both = {"transform": [named, {"filter": f"datum.{ends}_low !== null && datum.{ends}_high !== null"}]}
    area = {
        **both,
        "mark": {"type": "area", "opacity": 0.18, "clip": True},
        "encoding": {
            "x": x, "y": {"field": f"{ends}_low", **y}, "y2": {"field": f"{ends}_high"}, "color": color,
        },
    }  # fmt: skip
    edges = [
        {
            **both,
            "mark": {"type": "line", "strokeWidth": 1.3, "clip": True},
            "encoding": {"x": x, "y": {"field": f"{ends}_{end}", **y}, "color": color, "strokeDash": dash},
        }
        for end in ("low", "high")
    ]
    return [area, *edges]


def _rule_size(at: float, name: str, color: Spec, dash: Spec) -> Spec:
    """Return one of the two lines at the smallest effect of interest, as the legend names them."""
    return {
        "data": {"values": [{}]},
        "transform": [_name_series(name)],
        "mark": {"type": "rule", "strokeWidth": 1.2},
        "encoding": {"y": {"datum": at, "type": "quantitative"}, "color": color, "strokeDash": dash},
    }


def _draw_planned(at: float, text: str) -> Spec:
    return {
        "data": {"values": [{}]},
        "mark": {"type": "text", "align": "right", "baseline": "top", "dx": -5, "dy": 2, "fontSize": 11},
        "encoding": {
            "x": {"datum": at, "type": "quantitative"}, "y": {"value": 0}, "text": {"value": text},
        },
    }  # fmt: skip


def _order(analysis: Mapping[str, Any], language: Language) -> str:
    used = analysis.get("order_used")
    if used in ("locked_seed", "permuted_by_seed"):
        return say("locked_order", language)
    return say("unknown_order", language)
