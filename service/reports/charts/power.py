"""Power curves: of a locked rule over the true difference, and of a test over the sample size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.units import Unit
from service.reports.charts.words import say
from service.words import Language

MOST_HYPOTHESES = 8
_OTHERS = {"stated": "others_stated", "not_true": "others_not_true", "at_goal": "others_at_goal"}
_SEEN, _SEEN_ABOVE = 0.01, 0.8
"""Power by which curves have to differ to be seen apart, and above which words have more room below them."""
_PERCENT = {"labelExpr": "format(100 * datum.value, '~g')", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
SIZES = {"runs per arm": "size_runs", "clusters": "size_clusters", "items": "size_items"}
"""By what an answer says its sizes count, the words of that."""


def power_of_rules(
    powers: Sequence[tuple[Mapping[str, Any], bool]],
    *,
    margins: Mapping[str, Sequence[float]] | None = None,
    subtitle: str = "",
    language: Language = "en",
) -> Spec:
    """The power of every rule as lint tells it, each with whether its endpoint is binary: nothing follows from data.

    `margins` are the differences, with their sign, that each hypothesis' claim sets apart; without them the SESOI is.
    """
    drawn = [power for power in powers[:MOST_HYPOTHESES] if rule_rows(power[0], language)]
    # One scale, and so one legend, for all panels: Vega-Lite lays legends of the same fields over one another.
    names = list(dict.fromkeys(row["series"] for power, _ in drawn for row in rule_rows(power, language)))
    panels = [
        _draw_rule(
            power,
            Unit(binary),
            language,
            names,
            (margins or {}).get(power["hypothesis"]),
            named=len(powers) > 1,
        )
        for power, binary in drawn
    ]
    reasons = [
        f"{power['hypothesis']}: {power['reason']}"
        for power, _ in powers
        if power.get("reason") and not rule_rows(power, language)
    ]
    if not panels:
        return style.figure(say("power", language), subtitle, style.sentences(reasons[:4] or ["–"]))
    content: Spec = panels[0] if len(panels) == 1 else {"vconcat": panels, "spacing": 28}
    return style.figure(say("power", language), subtitle, content, note=" ".join(reasons))


def rule_rows(power: Mapping[str, Any], language: Language = "en") -> list[Row]:
    """Return the points of one rule's curves: `truth`, `power`, and the `series` of what else is assumed.

    Of a rule on amounts the truth is a ratio, of one about one arm its mean.
    """
    return [
        {"truth": point.get("ratio", point.get("mean", point["truth"])), "power": point["power"],
         "error": point.get("standard_error"), "series": _series(point, language)}
        for point in power.get("power") or ()
        if point.get("power") is not None
    ]  # fmt: skip


def power_of_test(analysis: Mapping[str, Any], *, language: Language) -> Spec:
    """Return the answer of `power`: chance to reject at every size that was asked for, and the target."""
    computed, upper = say("computed", language), say("upper_sd", language)
    rows = [
        {"n": point["n"], "power": point[key], "series": name}
        for key, name in (("power", computed), ("power_at_upper_sd", upper))
        for point in analysis["points"]
        if point.get(key) is not None
    ]
    names = list(dict.fromkeys(row["series"] for row in rows))
    axis = {
        "title": say("axis", language, what=say("size", language), unit=_size_unit(analysis, language)),
        "format": "~s",
        "grid": False,
    }
    x = {"field": "n", "type": "quantitative", "axis": axis, "scale": {"zero": False}}
    return style.figure(
        say("power", language),
        "",
        _draw_curves(rows, x, names, float(analysis["target_power"]), say("power_axis", language), language),
    )


def _size_unit(analysis: Mapping[str, Any], language: Language) -> str:
    """Return what the sizes count, as the answer says it in English."""
    unit = str(analysis.get("unit", ""))
    return say(SIZES[unit], language) if unit in SIZES else style.label(unit)


def _draw_rule(
    power: Mapping[str, Any],
    unit: Unit,
    language: Language,
    names: Sequence[str],
    margins: Sequence[float] | None,
    *,
    named: bool,
) -> Spec:
    """Draw the chance that a rule holds over the true effect, with lines where its margins lie."""
    rows = rule_rows(power, language)
    ratio = any("ratio" in point for point in power.get("power") or ())
    mean = any("mean" in point for point in power.get("power") or ())
    axis = unit.axis(language, "true_ratio" if ratio else "true_mean" if mean else "truth")
    if unit.binary and not mean:
        axis["title"] = say("axis", language, what=say("truth", language), unit=say("points", language))
    scale = {"zero": not mean, "nice": False}
    x = {"field": "truth", "type": "quantitative", "axis": axis, "scale": scale}
    spec = _draw_curves(
        rows, x, names, float(power.get("target_power", 0.8)), say("chance", language), language
    )
    sesoi = power.get("sesoi")
    if margins is None and sesoi is not None and not mean:
        below = sum(1 if row["truth"] > 0 else -1 if row["truth"] < 0 else 0 for row in rows) < 0
        margins = (-sesoi if below else sesoi,)
    drawn = () if ratio else margins or ()
    middle = sum(style.spread([*([] if mean else [0.0]), *drawn, *(row["truth"] for row in rows)])) / 2
    for at in drawn:
        line = style.ruler("x", at, dash=(5, 3), color=style.VERMILION)
        label = f"{say('sesoi_short', language)} {unit.amount(at)}"
        if mean:
            label = (
                f"{say('reference', language)} {unit.amount(at, signed=False)}{'%' if unit.binary else ''}"
            )
        spec["layer"] += [line, *_margin(at, label, leftward=at > middle)]
    title = (
        {"title": {"text": style.label(power["hypothesis"]), "fontSize": 13, "offset": 20}} if named else {}
    )
    return {**title, **spec}


def _margin(at: float, label: str, *, leftward: bool) -> tuple[Spec, Spec]:
    """Return what the dashed line is, on a ground that keeps curves from running through it."""
    words: Spec = {
        "data": {"values": [{}]},
        "mark": {
            "type": "text", "align": "right" if leftward else "left", "dx": -5 if leftward else 5, "baseline": "top",
            "fontSize": 11,
        },
        "encoding": {
            "x": {"datum": at, "type": "quantitative"}, "y": {"value": 4},
            "text": {"value": label},
        },
    }  # fmt: skip
    return {**words, "mark": words["mark"] | style.HALO}, words


def _draw_curves(
    rows: Sequence[Row], x: Spec, names: Sequence[str], target: float, title: str, language: Language
) -> Spec:
    """Draw the power of series over `x` as lines with points, beside a line at the target."""
    y = {
        "field": "power", "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"title": title, **_PERCENT},
    }  # fmt: skip
    legend: Spec = {
        "title": None,
        "legend": {"symbolStrokeWidth": 0, "columns": style.legend_columns(names)}
        if len(names) > 1
        else None,
    }
    by = {"field": "series", "type": "nominal", **legend}
    together = _say_together(rows, names, x, y, language)
    color, dash, shape = (
        {**by, "scale": style.scale_of(names, "color")},
        {**by, "scale": style.scale_of(names, "dash")},
        {**by, "scale": style.scale_of(names, "shape")},
    )
    return {
        "width": style.WIDTH,
        "height": 220,
        "data": style.values(rows),
        "layer": [
            style.ruler("y", target, dash=(2, 2)),
            {
                "data": {"values": [{}]},
                "mark": {
                    "type": "text", "align": "left", "baseline": "bottom", "dy": -3, "fontSize": 11,
                    "color": style.SOFT,
                },
                "encoding": {
                    "y": {"datum": target, "type": "quantitative"}, "x": {"value": 5},
                    "text": {"value": f"{say('target', language)} {100 * target:g}%"},
                },
            },
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"x": x, "y": y, "color": color, "strokeDash": dash},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                "encoding": {"x": x, "y": y, "color": color, "shape": shape},
            },
            *together,
        ],
    }  # fmt: skip


def _say_together(
    rows: Sequence[Row], names: Sequence[str], x: Spec, y: Spec, language: Language
) -> tuple[Spec, ...]:
    """Return what one line cannot show: that all curves are under it. Nothing where one can be told from another."""
    powers: dict[float, list[float]] = {}
    for row in rows:
        powers.setdefault(row[x["field"]], []).append(row["power"])
    if len(names) < 2 or any(max(at) - min(at) > _SEEN for at in powers.values()):
        return ()
    last = max(powers)
    high = max(powers[last])
    words: Spec = {
        "data": {"values": [{}]},
        "mark": {
            "type": "text", "align": "right", "fontSize": 11, "dx": -4,
            **({"baseline": "top", "dy": 9} if high > _SEEN_ABOVE else {"baseline": "bottom", "dy": -9}),
        },
        "encoding": {
            "x": {"value": style.WIDTH}, "y": {"datum": high, "type": "quantitative", "scale": y["scale"]},
            "text": {"value": say("together", language, n=f"{len(names)}")},
        },
    }  # fmt: skip
    return {**words, "mark": words["mark"] | style.HALO}, words


def _series(at: Mapping[str, Any], language: Language) -> str:
    parts = [
        f"{say(word, language)} {at[key]:.3g}"
        for key, word in (("discordance", "discordant"), ("spread", "sd"), ("cv", "cv"), ("icc", "icc"))
        if at.get(key) is not None
    ]
    parts += [say(_OTHERS[at["others"]], language)] if at.get("others") else []
    return ", ".join(parts) or say("computed", language)
