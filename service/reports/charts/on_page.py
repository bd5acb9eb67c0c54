"""A picture on a page of its own size, as PDF or PNG: set by Typst, which brings its letters along."""

from __future__ import annotations

import re
from typing import Any, Literal

from service.reports.charts.draw import FONTS, Form, draw
from service.reports.charts.narrow import make_narrow
from service.reports.charts.style import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION, Spec, recolour

SERIF = "Libertinus Serif, serif"
NARROW_MM = 120
"""A picture below this width is laid out as for a phone."""
_GREY = {
    BLUE: "#000000", VERMILION: "#4d4d4d", GREEN: "#737373", ORANGE: "#b3b3b3", PURPLE: "#999999", SKY: "#cccccc",
    INK: "#000000",
}  # fmt: skip
"""By lightness; shapes and dashes tell series apart where greys are near."""
_SIZE = re.compile(r'^(<svg\b[^>]*?) width="([\d.]+)" height="([\d.]+)"')

PPI = 600
"""Of a PNG: what journals ask of drawings."""
_PAGE = b"""#set page(width: auto, height: auto, margin: 0pt)
#image(bytes(sys.inputs.svg), format: "svg")"""


def set_on_page(svg: str, form: Literal["pdf", "png"]) -> bytes:
    """Return the picture as wide as it says itself.

    Sans is Noto Sans SC and serif Libertinus, the same on every machine; what it says reaches Typst as data.
    """
    import typst

    engine: Any = typst
    compiler = engine.Compiler(
        _PAGE, root=str(FONTS), font_paths=[str(FONTS)], ignore_system_fonts=True, sys_inputs={"svg": svg}
    )
    page: bytes = compiler.compile(format=form, **({"ppi": PPI} if form == "png" else {}))
    return page


def for_paper(spec: Spec, mm: float, *, serif: bool, mono: bool) -> Spec:
    """Return the picture as a journal sets it: as wide as a column, with serifs, without colours."""
    laid = make_narrow(spec) if mm < NARROW_MM else spec
    laid = recolour(laid, _GREY) if mono else laid
    return {**laid, "config": {**laid["config"], "font": SERIF}} if serif else laid


def draw_in_mm(spec: Spec, form: Form, mm: float) -> bytes:
    """Return the picture with a width in millimetres: what `for_paper` gives, as SVG, PNG or PDF."""
    svg = resize(draw(spec, "svg").decode(), mm)
    return svg.encode() if form == "svg" else set_on_page(svg, form)


def resize(svg: str, mm: float) -> str:
    """Return a drawn picture with its width in millimetres and its height in proportion."""
    head = _SIZE.match(svg)
    if head is None:
        raise ValueError("a picture begins with its size")
    height = mm * float(head[3]) / float(head[2])
    return f'{head[1]} width="{mm:g}mm" height="{height:.2f}mm"{svg[head.end() :]}'
