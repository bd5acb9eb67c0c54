"""Numbers as people read them on a page: powers of ten, 0.5 for .5, and none torn from what it belongs to."""

from __future__ import annotations

import re

from markupsafe import Markup

import service.words
from forelock.numerals import raise_powers, set_minus
from service.reports.quoting import mark_up, pieces
from service.words import Language

_POINT = re.compile(r"(?<![\w.])\.(?=\d)")
"""The point of a number that begins with it."""
_POINTS = re.compile(r"(?<![\w.+−-])([+−-]?\d+(?:\.\d+)?) pp\b")
_NAMES = {
    "obrien fleming": "O’Brien-Fleming", "pocock spending": "Pocock spending", "item_weighted;": "item-weighted;",
    "cluster_weighted;": "cluster-weighted;", "by cr2_t;": "by CR2 t;", "McNemar sign_flip,": "McNemar sign flip,",
}  # fmt: skip
"""People and methods that sentences of tests name by their codes: stored sentences keep those."""
_TOGETHER = re.compile(
    r" (±) |(?<=\d) (?=pp\b|×|个百分点)|(?<=%) (?=CI\b)|(?<=×) (?=\d)"
    r"|(?<![\w`])([a-zA-Z]{1,2}|alpha) ([=<>≤≥]) (?=[\d.<+−-])"
)
"""Blanks where no line may end: about a sign, before a unit, within a product, and between a letter and its number."""


def add_zeros(text: str) -> str:
    """Return the text with a zero before every number that begins with its point."""
    return _POINT.sub("0.", text)


def set_numbers(text: str) -> str:
    """Return the text with its numbers as people set them.

    Example:
        `set_numbers("-.5 pp ± 1 pp, n = 21")` is `−0.5 pp ± 1 pp, n = 21` with no-break blanks in it.
    """
    with_zero = add_zeros(set_minus(raise_powers(text)))
    for code, name in _NAMES.items():
        with_zero = with_zero.replace(code, name)
    return _TOGETHER.sub(lambda blank: blank[0].replace(" ", "\u00a0"), with_zero)


def say_points(text: str, language: Language) -> str:
    """Return the text with its percentage points, which tables of the command line keep as `pp`, in a language.

    Example:
        `say_points("-2.27 pp to +0.96 pp", "zh")` is `-2.27 个百分点 to +0.96 个百分点`.
    """
    if language == "en":
        return text
    return _POINTS.sub(lambda number: service.words.say("units.points", language, value=number[1]), text)


def mark_up_with_numbers(text: str) -> Markup:
    """Return a sentence of ours as HTML: what it quotes stays as written, its other numbers as people set them."""
    return Markup("").join(
        mark_up(f"`{part}`") if is_code else Markup("{}").format(set_numbers(part))
        for part, is_code in pieces(text)
    )
