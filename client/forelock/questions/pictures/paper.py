"""How a picture is set: on a page as wide as it likes, or in a column of a journal; its letters, and its colours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape

from forelock.text import plain
from forelock.words import width_of

FONTS = {
    "sans": "Noto Sans SC, Helvetica, Arial, sans-serif",
    "serif": "Libertinus Serif, Times New Roman, serif",
}
"""The first of each is what PDF and PNG are set in."""
WIDE = 180.0
"""Millimetres of a picture that goes over both columns."""
PIXELS_PER_MM = 96 / 25.4
"""Of CSS."""


@dataclass(frozen=True, slots=True)
class Paper:
    """What a picture is drawn on, in pixels of CSS."""

    width: float = 640
    letters: float = 12
    """Height of the letters."""
    font: str = "sans-serif"
    accent: str = "#1d4ed8"
    soft: str = "#6b7280"
    shades: tuple[str, str, str, str] = ("#1d4ed8", "#93c5fd", "#e5e7eb", "#fbbf24")
    """Of parts of a whole, which words name too."""
    mm: float | None = None
    """The width that it is to be set in; None: as wide as where it stands."""

    def set_in_mm(self) -> Paper:
        """Return the same with a width in millimetres: a page of PDF has one."""
        return self if self.mm is not None else replace(self, font=FONTS["sans"], mm=WIDE)

    def room_of(self, text: str) -> float:
        """About how wide a text is."""
        return 0.58 * self.letters * width_of(text)

    def shorten(self, text: str, most: float) -> str:
        """Return a text of at most so many pixels, without its middle where it is longer."""
        printed = plain(text)
        left, right = printed[: len(printed) // 2], printed[len(printed) // 2 :]
        short = printed
        while self.room_of(short) > most and left:
            left, right = left[:-1], right[1:]
            short = f"{left}~{right}"
        return short

    def document(self, title: str, height: float, content: str) -> str:
        """Return a document of SVG; its title is what a reader of screens says."""
        label = escape(plain(title), quote=True)
        size = ""
        if self.mm is not None:
            size = f' width="{self.mm:g}mm" height="{self.mm * height / self.width:.2f}mm"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {height:.0f}"{size} role="img" '
            f'aria-label="{label}" font-family="{self.font}" font-size="{self.letters:g}">\n<title>{label}</title>\n'
            f'<rect width="{self.width:.0f}" height="{height:.0f}" fill="#ffffff"/>\n{content}\n</svg>\n'
        )


SCREEN = Paper()


def column(mm: float, *, serif: bool = False, mono: bool = False) -> Paper:
    """Paper of a journal: letters of 8 points at this width, and with `mono` greys alone."""
    font, letters = FONTS["serif" if serif else "sans"], 8 / 72 * 96
    if not mono:
        return Paper(mm * PIXELS_PER_MM, letters, font, mm=mm)
    return Paper(
        mm * PIXELS_PER_MM,
        letters,
        font,
        "#000000",
        "#595959",
        ("#000000", "#8c8c8c", "#d9d9d9", "#595959"),
        mm,
    )
