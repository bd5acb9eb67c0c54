"""How every picture looks: one font, the colours of Okabe and Ito, and a shape or a line style beside each colour."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from service.errors import InvalidData

Spec = dict[str, Any]
Row = dict[str, Any]
Theme = Literal["light", "dark"]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
FONT = "Noto Sans SC, sans-serif"
"""The first is what PDF and PNG are set in; a browser that lacks it takes its own without serifs."""
MOST_ROWS = 5000
"""Rows of data in one picture; what has more is thinned or refused before."""
MOST_LABEL = 48
"""Characters of a label; titles may have twice as many."""
MOST_LINE = 72
"""Letters of a line below a title: so many have room also in a browser whose letters are wider than ours."""

BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY = "#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9"
SERIES = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
"""Okabe and Ito (2008): told apart by colour-blind people, and in grey by their lightness."""
DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (4, 4), (1, 3))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

INK, SOFT, GRID, PAPER = "#1b1e22", "#575d66", "#dfe2e6", "#ffffff"
"""The stylesheet of the pages turns exactly these over in the dark."""
_DARK = {INK: "#e7e9ec", SOFT: "#a8b0b9", GRID: "#3a4048", PAPER: "#14171a", BLUE: "#56b4e9"}

LETTER, SYMBOL = 6.6, 36
"""Pixels of a letter of a legend, and of its symbol with the room around it."""
HALO = {"color": PAPER, "stroke": PAPER, "strokeWidth": 4, "strokeJoin": "round"}
"""Behind words, so that lines do not run through them."""
_CLOSING = frozenset("，：；。、）！？”")
"""Marks with which no line begins."""
WIDTH = 460
"""Of the plotting area, in pixels: with labels it fits the width of a printed page."""


def figure(title: str, subtitle: str, content: Spec, *, note: str = "") -> Spec:
    """A whole spec: `content` is a unit, layer or concatenation; `note` is read out where pictures are not seen."""
    said = (label(subtitle, 2 * MOST_LABEL), label(note, 3 * MOST_LABEL))
    lines = [line for part in said if part for line in fold(part, MOST_LINE)]
    return {
        "$schema": SCHEMA,
        "description": label(f"{title}. {subtitle} {note}".strip(), 600),
        "title": {"text": label(title, 2 * MOST_LABEL), **({"subtitle": lines} if lines else {})},
        **content,
        "config": _CONFIG,
    }


def values(rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Inline data.

    Raises:
        InvalidData: more rows than a picture holds.
    """
    if len(rows) > MOST_ROWS:
        raise InvalidData(f"a picture holds {MOST_ROWS} rows at most, and this one would have {len(rows)}")
    return {"values": [dict(row) for row in rows]}


def sentences(lines: Sequence[str]) -> Spec:
    """Return what stands in the place of a picture: why there is none."""
    return {
        "width": WIDTH,
        "height": 20 * len(lines),
        "data": values([{"at": at, "text": label(line, 110)} for at, line in enumerate(lines)]),
        "mark": {"type": "text", "align": "left", "x": 0},
        "encoding": {"y": {"field": "at", "type": "ordinal", "axis": None}, "text": {"field": "text"}},
    }


def label(text: object, most: int = MOST_LABEL) -> str:
    """Return anybody's text as one short line: no control characters, none that turns the writing direction."""
    text_kept = "".join(
        " "
        if char.isspace()
        else "?"
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn")
        else char
        for char in str(text)
    )
    text_kept = " ".join(text_kept.split())
    return text_kept if len(text_kept) <= most else f"{text_kept[: most - 1]}…"


def apply_theme(spec: Spec, theme: Theme) -> Spec:
    """Return the same picture on dark paper."""
    return spec if theme == "light" else recolour(spec, _DARK)


def for_both(svg: bytes) -> bytes:
    """A picture drawn on light paper that turns dark with the page it is shown on, and not where that is printed."""
    rules = "".join(
        f'[{what}="{light}"]{{{what}:{dark}}}' for light, dark in _DARK.items() for what in ("fill", "stroke")
    )
    head, close, rest = svg.partition(b">")
    return head + close + f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>".encode() + rest


def recolour(value: Any, colours: Mapping[str, str]) -> Any:
    """Return the same with other colours; what the data say stays."""
    if isinstance(value, dict):
        return {
            key: member if key == "values" else recolour(member, colours) for key, member in value.items()
        }
    if isinstance(value, list | tuple):
        return [recolour(member, colours) for member in value]
    return colours.get(value, value) if isinstance(value, str) else value


def ruler(axis: Literal["x", "y"], at: float, *, dash: Sequence[int] = (1, 0), color: str = SOFT) -> Spec:
    """Return a line across the picture at a value of one axis."""
    return {
        "mark": {"type": "rule", "color": color, "strokeDash": list(dash), "strokeWidth": 1.2},
        "data": {"values": [{}]},
        "encoding": {axis: {"datum": at, "type": "quantitative"}},
    }


def make_named_axis(field: str, names: Sequence[str], **axis: Any) -> Spec:
    """Return an axis that has a row for every name, in their order, and no line of its own."""
    return {
        "field": field,
        "type": "nominal",
        "sort": list(names),
        "axis": {"title": None, "ticks": False, "domain": False, **axis},
    }


def beside_row(y: Spec) -> Spec:
    """Return what is `told` of every row, in words beside the picture."""
    return {
        "mark": {"type": "text", "align": "left", "dx": 12, "color": INK},
        "encoding": {"y": y, "x": {"value": WIDTH}, "text": {"field": "told"}},
    }


def scale_of(names: Sequence[str], what: Literal["color", "dash", "shape"]) -> Spec:
    """Return the scale of a legend with these names, the same for every way of telling them apart."""
    pools: dict[str, Sequence[Any]] = {
        "color": SERIES,
        "dash": [list(dashes) for dashes in DASHES],
        "shape": SHAPES,
    }
    pool = pools[what]
    # Beyond six names colours come again, each time with another line and another shape.
    places = [at if what == "color" else at + at // len(pool) for at in range(len(names))]
    return {"domain": list(names), "range": [pool[at % len(pool)] for at in places]}


def legend_columns(names: Sequence[str], width: int = WIDTH) -> int:
    """Return two columns of a legend where both fit below the picture, else one."""
    longest = max((letters(name) for name in names), default=0)
    return 2 if 2 * (longest * LETTER + SYMBOL) <= width else 1


def letters(text: str) -> int:
    """Return how wide a text is in letters, a Chinese one counted twice."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def fold(text: str, most: int) -> list[str]:
    """Return the text as lines of at most so many letters, a Chinese one counted twice."""
    lines, line = [], ""
    for word in split_words(text):
        if line and letters(line + word.rstrip()) > most:
            lines.append(line.rstrip())
            line = ""
        for char in word:
            if letters(line + char) > most and char != " ":
                lines.append(line.rstrip())
                line = ""
            line += char
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def split_words(text: str) -> Iterator[str]:
    """Yield where a line may end: after a space, and after every wide character that no closing mark follows."""
    word = ""
    for char, following in itertools.pairwise(f"{text} "):
        word += char
        if char == " " or (letters(char) == 2 and following not in _CLOSING):
            yield word
            word = ""
    yield word


def spread(values: Sequence[float | None], *, pad: float = 0.06) -> tuple[float, float]:
    """Return an axis that holds all of these with some room."""
    finite = [value for value in values if value is not None]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    room = pad * (high - low) or pad * abs(high) or 1.0
    return low - room, high + room


_AXIS: Spec = {
    "labelColor": INK,
    "titleColor": SOFT,
    "domainColor": SOFT,
    "tickColor": SOFT,
    "gridColor": GRID,
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "labelLimit": 240,
    "titlePadding": 8,
}
_CONFIG: Spec = {
    "font": FONT,
    "background": PAPER,
    "padding": {"left": 20, "top": 12, "right": 36, "bottom": 12},
    "view": {"stroke": None, "continuousWidth": WIDTH},
    "axis": _AXIS,
    "axisQuantitative": {"labelOverlap": "greedy", "labelSeparation": 6},
    "legend": {
        "labelColor": INK,
        "titleColor": SOFT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "orient": "bottom",
        "columns": 2,
        "columnPadding": 24,
        "labelLimit": 300,
        "symbolStrokeWidth": 2,
    },
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "color": INK,
        "fontSize": 15,
        "fontWeight": "normal",
        "subtitleColor": SOFT,
        "subtitleFontSize": 12,
        "subtitlePadding": 4,
        "offset": 12,
        "limit": 640,
    },
    "header": {"labelColor": INK, "titleColor": SOFT, "labelFontSize": 12, "titleFontWeight": "normal"},
    "text": {"color": INK, "fontSize": 12},
}
