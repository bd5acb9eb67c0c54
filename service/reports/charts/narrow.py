"""The same picture as wide as a phone: names above their rows, panels below one another, titles over several lines."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

from service.reports.charts.style import HALO, INK, MOST_LINE, PAPER, WIDTH, Spec, fold, letters, split_words

MOST = 350
"""Pixels of the whole picture."""
ROWS, CURVE, TABLE = 310, 258, 240
"""Pixels of the plotting area: of rows with their names above, of an axis with numbers at its left, of a table."""
LINE, SUBLINE, TITLE = 46, 46, 34
"""Widths of a line of text in letters: of an axis, of what stands below a title, of a title."""
TICKS = 5
"""About so many numbers below a narrow picture: more of them would touch."""
_NAME, _TOLD = 9, 16


def make_narrow(spec: Spec) -> Spec:
    """A picture at most `MOST` pixels wide with the same numbers; its letters are as large, a legend's nearly."""
    narrow = copy.deepcopy(spec)
    title = narrow["title"]
    title["text"] = fold(title["text"], TITLE)
    if "subtitle" in title:
        title["subtitle"] = [line for part in _whole(title["subtitle"]) for line in fold(part, SUBLINE)]
    if "hconcat" in narrow:
        narrow["vconcat"] = narrow.pop("hconcat")
    panels = narrow.get("vconcat", [narrow])
    room = ROWS if all(_row_names(panel) for panel in panels) else CURVE  # panels share their left edge
    for panel in panels:
        _fit(panel, panel.get("data", narrow.get("data", {})).get("values", []), room)
    config = narrow["config"]
    config["padding"] = {"left": 4, "top": 8, "right": 12, "bottom": 8}
    config["legend"] = config["legend"] | {"columns": 1, "labelLimit": MOST - 50, "labelFontSize": 11}
    return narrow


def _whole(lines: Sequence[str]) -> list[str]:
    """Lines as they were before a wide picture folded them: one without room for the next word goes on in the next."""
    parts = list(lines[:1])
    for before, line in itertools.pairwise(lines):
        word = next(split_words(line)).strip()
        if letters(f"{before} {word}") > MOST_LINE:
            parts[-1] += f"{'' if letters(word[:1]) == 2 else ' '}{line}"
        else:
            parts.append(line)
    return parts


def _codes(panel: Spec) -> list[Spec]:
    return [layer["encoding"] for layer in panel.get("layer") or [panel]]


def _one_column(codes: list[Spec]) -> None:
    """Names of a legend below one another, whatever was asked for beside a wide picture."""
    for code in codes:
        for way in code.values():
            if isinstance(way, dict) and isinstance(way.get("legend"), dict):
                way["legend"]["columns"] = 1


def _row_names(panel: Spec) -> Spec | None:
    """Return what names the rows of a panel, where it has rows."""
    encodings = [
        code["y"] for code in _codes(panel) if code.get("y", {}).get("type") in ("nominal", "ordinal")
    ]
    return encodings[0] if encodings else None


def _fit(panel: Spec, rows: list[dict[str, Any]], room: int) -> None:
    """One panel as wide as there is room, in place."""
    if isinstance(panel.get("title"), dict) and "description" not in panel:
        panel["title"]["text"] = fold(panel["title"]["text"], TITLE + 6)
    codes, row_names = _codes(panel), _row_names(panel)
    _one_column(codes)
    if panel.get("mark", {}).get("type") == "text":
        _sentences(panel)
    elif row_names is None:
        _set_width(panel, codes, CURVE)
        for layer in panel.get("layer", []):
            if layer["mark"]["type"] == "text" and "field" in layer["encoding"]["text"]:
                layer["mark"]["limit"] = CURVE // 2
    elif any(code.get("x", {}).get("type") == "nominal" for code in codes):
        _set_width(panel, codes, TABLE)
    else:
        _set_width(panel, codes, room)
        _name_above(panel, row_names, rows)


def _set_width(panel: Spec, codes: list[Spec], width: int) -> None:
    """Set a panel to this width in pixels, with fewer ticks and with axis titles folded to it."""
    panel["width"] = width
    for code in codes:
        if code.get("x", {}).get("value") == WIDTH:
            code["x"] = {"value": width}
        axis = code.get("x", {}).get("axis") or {}
        if code.get("x", {}).get("type") == "quantitative" and axis:
            axis["tickCount"] = min(axis.get("tickCount", TICKS), TICKS)
        if isinstance(axis.get("title"), str):
            axis["title"] = fold(axis["title"], LINE * width // ROWS)


def _name_above(panel: Spec, named: Spec, rows: list[dict[str, Any]]) -> None:
    """Names of rows above what they name; what is told beside a row goes beside its name, or below it."""
    if "layer" not in panel:
        panel["layer"] = [{"mark": panel.pop("mark"), "encoding": panel.pop("encoding")}]
    field, width, below, texts = named["field"], panel["width"], 0, []
    for layer in panel["layer"]:
        code = layer["encoding"]
        if "field" in code.get("y", {}):
            code["y"]["axis"] = None
        if code.get("x", {}).get("type") == "ordinal":
            code["x"]["scale"] = {"range": [width // 3, width]}
        if code.get("x") == {"value": width} and layer["mark"]["type"] == "text" and "field" in code["text"]:
            longest = max((letters(f"{row[field]}  {row[code['text']['field']]}") for row in rows), default=0)
            below = _TOLD if longest > LINE * width // ROWS else 0
            layer["mark"] |= {
                "align": "left" if below else "right",
                "dx": 0,
                "dy": -_NAME,
                "baseline": "bottom",
            }
            code["x"] = {"value": 0 if below else width}
            texts.append(layer)
    names: Spec = {
        "transform": [{"aggregate": [{"op": "count", "as": "rows"}], "groupby": [field]}],
        "mark": {
            "type": "text", "align": "left", "baseline": "bottom", "dy": -_NAME - below, "color": INK, "limit": width,
        },
        "encoding": {
            "y": {"field": field, "type": named["type"], "sort": named["sort"], "axis": None},
            "x": {"value": 0}, "text": {"field": field},
        },
    }  # fmt: skip
    layers = [layer for layer in panel["layer"] if all(layer is not text for text in texts)]
    high = _TOLD + below + 2
    over = next(
        (at for at, layer in enumerate(layers) if "field" in layer["encoding"].get("y", {})), len(layers)
    )
    layers.insert(
        over,
        {  # what crosses the whole picture runs behind it, and so not through names; marks stand before it
            "transform": names["transform"],
            "mark": {"type": "bar", "height": high, "yOffset": -_NAME - high / 2 + 1, "color": PAPER},
            "encoding": {"y": names["encoding"]["y"], "x": {"value": 0}, "x2": {"value": width}},
        },
    )
    for layer in (*texts, names):
        layers += [{**layer, "mark": layer["mark"] | HALO}, layer]
    panel["layer"] = layers
    panel["height"] = {"step": panel["height"]["step"] + _TOLD + 2 * below}


def _sentences(panel: Spec) -> None:
    """Sentences instead of a picture, over as many lines as they need."""
    lines = [line for row in panel["data"]["values"] for line in fold(row["text"], LINE)]
    panel["data"] = {"values": [{"at": at, "text": line} for at, line in enumerate(lines)]}
    panel |= {"width": ROWS, "height": 20 * len(lines)}
