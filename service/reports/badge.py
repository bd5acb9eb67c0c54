"""A badge: what a record is at, or what its verdict is, as a small SVG without script and without anything loaded."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

LABEL = "preregistered"
COLOURS: Mapping[str, str] = {
    "draft": "#6e7781",
    "locked": "#0a5c9e",
    "collecting": "#0a5c9e",
    "complete": "#0a5c9e",
    "withdrawn": "#6e7781",
    "supported": "#1a6b34",
    "equivalent": "#1a6b34",
    "not supported": "#8a4600",
    "inconclusive": "#6e5a00",
    "invalid": "#a11a1a",
}
"""Of the right half, dark enough for white text (WCAG AA)."""
_PER_CHARACTER, _MARGIN = 7, 12
"""Widths in pixels, generous: `textLength` makes the text fit them in any font."""


def badge(word: str) -> bytes:
    """Return the badge that says a word.

    Example:
        >>> b"preregistered: locked" in badge("locked")
        True
    """
    left, right = (_MARGIN + _PER_CHARACTER * len(text) for text in (LABEL, word))
    whole, label = left + right, escape(f"{LABEL}: {word}")
    colour = COLOURS.get(word, "#6e7781")
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{width - _MARGIN}">{escape(text)}</text>'
        for x, width, text in ((_MARGIN // 2, left, LABEL), (left + _MARGIN // 2, right, word))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<rect width="{whole}" height="20" rx="3" fill="#333"/>'
        f'<rect x="{left}" width="{right}" height="20" rx="3" fill="{colour}"/>'
        f'<rect x="{left}" width="6" height="20" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g>'
        "</svg>\n"
    ).encode()
