"""Lines of a terminal's width, of text whose characters take one column or two."""

from __future__ import annotations

import re
import textwrap
import unicodedata

from forelock.words import width_of

_CLOSING = frozenset("，。；：、！？）》」』”’…)]},.;:!?%")
"""Marks that begin no line."""
_TOGETHER = re.compile(
    r" (?=±)|(?<=±) |(?<=\d) (?=pp\b|% )|(?<=%) (?=CI\b)|(?<=\d) (?=×)|(?<=×) (?=\d)"
    r"|(?<=\b[a-zA-Z]) (?=[=<>≤≥] )|(?<=\balpha) (?=[=<>≤≥] )|(?<= [=<>≤≥]) (?=[\d.<+−-])"
)
"""Blanks where no line may end: within a number with its unit, its level, its sign or its letter."""
_HELD = "\ue000"
"""Stands for such a blank while lines are made."""
_OPENING = frozenset("（《「『“‘([{")
"""Marks that end no line."""


def fold(words: str, width: int, first: str, rest: str) -> str:
    """Words in lines of so many columns: `first` before the first, `rest` before the others.

    Between Chinese characters a line may end anywhere but before a closing mark or behind an opening one. No number is
    torn from its unit, and no product or interval's level apart.
    """
    return _fold(_TOGETHER.sub(_HELD, words), width, first, rest).replace(_HELD, " ")


def _fold(words: str, width: int, first: str, rest: str) -> str:
    if width_of(words) == len(words):
        return textwrap.fill(
            words,
            width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    lines, line, empty = [], first, True
    for piece in _pieces(words):
        if not empty and width_of(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line, piece = rest, piece.lstrip()
        line += piece.lstrip() if empty else piece
        empty = False
    return "\n".join([*lines, line.rstrip()])


def _pieces(words: str) -> list[str]:
    """Return what no line ends inside of, each with the blank before it."""
    pieces: list[str] = []
    blank = ""
    before = ""
    for letter in words:
        if letter.isspace():
            blank = " "
            continue
        stays = before in _OPENING or letter in _CLOSING or not (_is_wide(letter) or _is_wide(before))
        if pieces and stays and not blank:
            pieces[-1] += letter
        else:
            pieces.append(blank + letter)
        blank, before = "", letter
    return pieces


def _is_wide(letter: str) -> bool:
    """Tell whether a letter takes two columns."""
    return letter != "" and unicodedata.east_asian_width(letter) in "WF"
