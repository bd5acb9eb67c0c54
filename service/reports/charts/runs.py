"""Runs of a series over time: how far each is from the reference, and the evidence for a drop after it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.units import Unit
from service.words import Language, say

MOST_RUNS = 200
"""Runs in a picture, the newest: more are closer together than its dots."""
MOST_TICKS = 12
HEIGHTS = (220, 110)
LARGEST_POWER = 12.0
"""Of evidence, a power of 10: beyond it nobody doubts, and what decides would be pressed to the ground."""


def runs(
    series: Sequence[Mapping[str, Any]],
    *,
    every: float,
    binary: bool,
    since: int | None = None,
    alarm: int | None = None,
    accepted: float | None = None,
    subtitle: str = "",
    language: Language = "en",
) -> Spec:
    """Return the runs of a series, in order, as its answer has them (`number`, `standing`, `evidence`).

    Args:
        every: the evidence at which a drop is shown.
        since: number of the run since which about it dropped; alarm: of the run that showed it.
        accepted: the difference from the reference that is accepted, signed as differences are; None: none.
    """
    rows = [_make_row(run, since) for run in series if run["evidence"] is not None]
    newest = rows[-MOST_RUNS:]
    many = (
        ""
        if len(newest) == len(rows)
        else say("series.picture_newest", language, shown=len(newest), of=len(rows))
    )
    first, last = (newest[0]["number"], newest[-1]["number"]) if newest else (1, 1)
    x: Spec = {
        "field": "number",
        "type": "quantitative",
        "scale": {"domain": [first - 0.5, last + 0.5], "nice": False, "zero": False},
        # named one by one: of few runs the axis would have a tick at every half, and round it to a number twice
        "axis": {"title": None, "grid": False, "values": _ticks(first, last), "format": "d"},
    }
    titled_x: Spec = {**x, "axis": {**x["axis"], "title": say("series.picture_run", language)}}
    marked = [style.ruler("x", at - 0.5, dash=(2, 2)) for at in (since,) if at is not None and at > first]
    note = "" if alarm is None else say("series.picture_shown_at", language, number=alarm)
    return style.figure(
        say("series.picture", language),
        " · ".join(filter(None, (subtitle, many))),
        {
            "data": style.values(newest),
            "vconcat": [
                _differences(newest, x, Unit(binary), accepted, marked, language),
                _evidence(newest, titled_x, every, marked, language),
            ],
            "spacing": 14,
        },
        note=note,
    )  # fmt: skip


def _ticks(first: int, last: int) -> list[int]:
    """Numbers of runs that are named: at most a dozen, by a step of 1, 2 or 5 times a power of ten."""
    steps = (step * 10**power for power in range(6) for step in (1, 2, 5))
    step = next(step for step in steps if (last - first) // step < MOST_TICKS)
    return [number for number in range(first, last + 1) if number % step == 0]


def _make_row(run: Mapping[str, Any], since: int | None) -> Row:
    """Make the row of a run; its evidence is drawn as a power of ten, at most `LARGEST_POWER`, and evidence 0 as -1."""
    standing = run["standing"]
    ci = standing["ci"] or {}
    evidence = run["evidence"]
    return {
        "number": run["number"],
        "run": style.label(run["name"]),
        "delta": standing["delta"],
        "low": ci.get("low"),
        "high": ci.get("high"),
        "power": min(math.log10(evidence), LARGEST_POWER) if evidence > 0 else -1.0,
        "fallen": since is not None and run["number"] >= since,
    }


def _differences(
    rows: Sequence[Row],
    x: Spec,
    unit: Unit,
    accepted: float | None,
    marked: Sequence[Spec],
    language: Language,
) -> Spec:
    """Return each run's difference with its own interval; those since a drop have another colour and shape."""
    low, high = style.spread([0.0, accepted, *(row[key] for row in rows for key in ("delta", "low", "high"))])
    names = [say(f"series.picture_{when}", language) for when in ("before", "since")]
    tooltip = {
        "calculate": f"datum.fallen ? {json.dumps(names[1], ensure_ascii=False)} : "
        f"{json.dumps(names[0], ensure_ascii=False)}",
        "as": "when",
    }
    fallen = any(row["fallen"] for row in rows)
    legend = {"symbolOpacity": 1, "columns": style.legend_columns(names)} if fallen else None
    color, shape = (
        {
            "field": "when",
            "type": "nominal",
            "title": None,
            "legend": legend,
            "scale": style.scale_of(names, what),
        }
        for what in ("color", "shape")
    )
    axis = {
        **unit.axis(language),
        "title": f"{say('series.picture_difference', language)}{' (pp)' * unit.binary}",
    }
    y = {"type": "quantitative", "scale": {"domain": [low, high], "nice": False}, "axis": axis}
    layers = [style.ruler("y", 0.0), *marked]
    if accepted is not None:
        layers.append(style.ruler("y", accepted, dash=(5, 3), color=style.VERMILION))
    layers += [
        {
            "transform": [tooltip, {"filter": "datum.low !== null && datum.high !== null"}],
            "mark": {"type": "rule", "strokeWidth": 1.6},
            "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, "color": color},
        },
        {
            "transform": [tooltip, {"filter": "datum.delta !== null"}],
            "mark": {"type": "point", "filled": True, "size": 46, "opacity": 1},
            "encoding": {"x": x, "y": {"field": "delta", **y}, "color": color, "shape": shape},
        },
    ]
    return {"width": style.WIDTH, "height": HEIGHTS[0], "layer": layers}


def _evidence(rows: Sequence[Row], x: Spec, every: float, marked: Sequence[Spec], language: Language) -> Spec:
    """Return the evidence as a power of 10, against the one at which a drop is shown."""
    needed = math.log10(every)
    low, high = style.spread([0.0, 1.1 * needed, *(row["power"] for row in rows)])
    title = say("series.picture_evidence", language)
    y = {
        "field": "power",
        "type": "quantitative",
        "scale": {"domain": [low, high], "nice": False},
        "axis": {"title": title, "tickMinStep": 1, "format": "d"},
    }
    line = {"x": x, "y": y}
    return {
        "width": style.WIDTH,
        "height": HEIGHTS[1],
        "layer": [
            style.ruler("y", needed, dash=(5, 3), color=style.VERMILION),
            *marked,
            {"mark": {"type": "line", "color": style.BLUE, "strokeWidth": 2}, "encoding": line},
            {
                "mark": {"type": "point", "filled": True, "size": 24, "color": style.BLUE, "opacity": 1},
                "encoding": line,
            },
        ],
    }
