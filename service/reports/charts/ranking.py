"""Arms in order: means with the ranks that the data leave open, and arms not told apart: sets or tiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Spec
from service.reports.charts.units import Unit
from service.reports.charts.words import say
from service.words import Language

MOST_SETS = 12
"""Columns of tied sets; where there are more, tiers stand in their place."""
ROOMY = 20
"""Arms up to which a row has all its room."""
COLOR: Spec = {"condition": {"test": "datum.may_be_best", "value": style.BLUE}, "value": style.SOFT}
SHAPE: Spec = {"condition": {"test": "datum.may_be_best", "value": "diamond"}, "value": "circle"}
"""Arms that may be the best one stand out."""


def ranking(
    analysis: Mapping[str, Any], *, binary: bool = False, subtitle: str = "", language: Language = "en"
) -> Spec:
    """Return a row per arm, best first. Overlapping columns are sets of which no two are told apart; of many: tiers."""
    measured = "mean" if all("mean" in arm for arm in analysis["arms"]) else "score"
    unit = Unit(binary and measured == "mean")
    rows = [
        {
            "arm": style.label(arm["name"]), "mean": arm[measured],
            "rank": arm["rank"], "rank_low": arm["rank_low"], "rank_high": arm["rank_high"],
            "may_be_best": arm["may_be_best"], "tier": str(arm.get("tier", "")),
            "told": unit.amount(arm[measured], signed=False),
        }
        for arm in analysis["arms"]
    ]  # fmt: skip
    names, inside = [row["arm"] for row in rows], [arm["name"] for arm in analysis["arms"]]
    sets = [tied for tied in analysis.get("tied_sets") or () if len(tied) > 1]
    tiers = [tier for tier in dict.fromkeys(row["tier"] for row in rows) if tier]
    by_tier = len(sets) > MOST_SETS and bool(tiers)
    sets = sets[:MOST_SETS]
    ties = [
        {"arm": names[inside.index(name)], "set": at + 1}
        for at, tied in enumerate(sets)
        for name in tied
        if name in inside
    ]
    y = {"field": "arm", "type": "nominal", "sort": names}
    step = {"step": 28 if len(rows) <= ROOMY else 18}
    axis = unit.axis(language, "value") | {"title": say(measured, language), "tickCount": 5}
    means = _draw_means(y, style.spread([row["mean"] for row in rows], pad=0.25), axis, step)
    panels = [means, _draw_ranks(y, len(rows), step, language)]
    if by_tier:
        panels.append(_tiers(y, tiers, step, language))
    elif ties:
        panels.append(_draw_ties(ties, y, len(sets), step, language))
    note = f"◆ {say('may_be_best', language)} · ● {say('not_best', language)}"
    return style.figure(
        say("ranking", language),
        subtitle,
        {"data": style.values(rows), "hconcat": panels, "spacing": 24},
        note=note,
    )


def _draw_means(y: Spec, domain: tuple[float, float], axis: Spec, step: Spec) -> Spec:
    """Draw every arm's mean, with the number beside it."""
    return {
        "width": 230,
        "height": step,
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                "encoding": {
                    "y": {**y, "axis": {"title": None, "ticks": False, "domain": False, "grid": False}},
                    "x": {
                        "field": "mean", "type": "quantitative", "scale": {"domain": list(domain), "nice": False},
                        "axis": axis,
                    },
                    "color": COLOR, "shape": SHAPE,
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 9, "color": style.INK},
                "encoding": {"y": y, "x": {"field": "mean", "type": "quantitative"}, "text": {"field": "told"}},
            },
        ],
    }  # fmt: skip


def _draw_ranks(y: Spec, count: int, step: Spec, language: Language) -> Spec:
    """Draw the rank of every arm in a line over those that the data leave open."""
    return {
        "width": 150,
        "height": step,
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2.5},
                "encoding": {
                    "y": {**y, "axis": None},
                    "x": {
                        "field": "rank_low", "type": "quantitative",
                        "scale": {"domain": [0.5, count + 0.5], "nice": False},
                        "axis": {"title": say("ranks", language), "tickMinStep": 1, "format": "d"},
                    },
                    "x2": {"field": "rank_high"}, "color": COLOR,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                "encoding": {"y": y, "x": {"field": "rank", "type": "quantitative"}, "color": COLOR, "shape": SHAPE},
            },
        ],
    }  # fmt: skip


def _tiers(y: Spec, tiers: list[str], step: Spec, language: Language) -> Spec:
    """Return each arm in the column of its tier."""
    axis = {"title": say("tier", language), "labelAngle": 0, "ticks": False, "domain": False}
    return {
        "width": max(70, 22 * len(tiers)),
        "height": step,
        "mark": {
            "type": "point",
            "shape": "square",
            "filled": True,
            "size": 60,
            "color": style.PURPLE,
            "opacity": 1,
        },
        "encoding": {
            "y": {**y, "axis": None},
            "x": {"field": "tier", "type": "ordinal", "sort": tiers, "axis": axis},
        },
    }


def _draw_ties(ties: list[dict[str, Any]], y: Spec, count: int, step: Spec, language: Language) -> Spec:
    """Draw the sets of arms that no test tells apart, one column of linked squares for each set."""
    x = {
        "field": "set", "type": "ordinal",
        "axis": {"title": say("tied", language), "labels": False, "ticks": False, "domain": False},
    }  # fmt: skip
    return {
        "width": max(70, 22 * count),
        "height": step,
        "data": style.values(ties),
        "layer": [
            {
                "mark": {"type": "line", "strokeWidth": 3, "color": style.PURPLE},
                "encoding": {"y": {**y, "axis": None}, "x": x, "detail": {"field": "set"}},
            },
            {
                "mark": {
                    "type": "point", "shape": "square", "filled": True, "size": 60, "color": style.PURPLE, "opacity": 1,
                },
                "encoding": {"y": y, "x": x},
            },
        ],
    }  # fmt: skip
