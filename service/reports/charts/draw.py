"""A spec as SVG, PNG or PDF. Slow at first (a JavaScript engine starts): run it in a calculator, never on the loop."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

Form = Literal["svg", "png", "pdf"]

FONTS = Path(__file__).parents[1] / "fonts"
PNG_PPI = 216.0
"""Three pixels per unit of the picture: about 300 per inch where it is printed as wide as a page of text."""
VEGA_LITE = "6.4"
VERSION = 5
"""Of how pictures are drawn: part of their tags, so that what was kept elsewhere is asked for again."""


def draw(spec: dict[str, Any], form: Form) -> bytes:
    """Return the picture. Nothing is loaded from elsewhere.

    Raises:
        ValueError: the spec loads data, images or links instead of holding its numbers.
    """
    refuse_references(spec)
    engine: Any = _engine()
    options = {"vl_version": VEGA_LITE, "allowed_base_urls": []}
    if form == "png":
        drawn: bytes = engine.vegalite_to_png(spec, ppi=PNG_PPI, **options)
        return drawn
    if form == "pdf":
        page: bytes = engine.vegalite_to_pdf(spec, **options)
        return page
    text: str = engine.vegalite_to_svg(spec, **options)
    return text.encode()


def refuse_references(value: Any) -> None:
    """Refuse references: a picture is made of its numbers, and the engine would read files that a spec names."""
    if isinstance(value, dict):
        if {"url", "href", "usermeta"} & value.keys() or value.get("type") == "image":
            raise ValueError("a picture holds its data and loads nothing")
        for key, member in value.items():
            if key != "values":
                refuse_references(member)
    elif isinstance(value, list | tuple):
        for member in value:
            refuse_references(member)


@cache
def _engine() -> Any:
    import vl_convert

    vl_convert.register_font_directory(str(FONTS))
    return vl_convert
