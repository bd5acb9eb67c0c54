"""Help and complaints of the command line in the reader's language.

The English stands where an option is declared; `words/help/` has a file per other language, which says it by that
English: what argparse says by itself comes in the same way, through the function by which it asks for translations. A
text that a file does not have stays English.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from forelock.words import width_of

_SPOKEN: ContextVar[str] = ContextVar("language of help", default="en")
_TOKEN = re.compile(r"[“（]*(?:[^\s\u2e80-\u9fff\uff00-\uffef“”…]+|\S)[，。；：、）”！？…]*\s*")
"""What no line of Chinese is broken in: a Latin word or one character, with the marks that belong to it."""


@cache
def _texts(language: str) -> Mapping[str, str]:
    """Return what help says in a language, by its English, with what argparse says."""
    file = Path(__file__).parent / "words" / "help" / f"{language}.toml"
    texts: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
    return {**texts.pop("argparse"), **texts}


def spoken() -> str:
    """Return the language in which command lines are read."""
    return _SPOKEN.get()


def translate(english: str) -> str:
    """Return a text of help in the language that is spoken."""
    language = _SPOKEN.get()
    return english if language == "en" else _texts(language).get(english, english)


def fill(english: str, **values: object) -> str:
    """Return a text of help with its values, which stand in it as `%(name)s`."""
    return translate(english) % values


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Command lines are read, and help is given, in this language."""
    if language == "en":  # argparse's own words
        yield
        return
    before = _SPOKEN.set(language)
    own = {name: getattr(argparse, name) for name in ("_", "ngettext")}
    argparse.__dict__.update(_=translate, ngettext=lambda one, many, n: translate(one if n == 1 else many))
    try:
        yield
    finally:
        argparse.__dict__.update(own)
        _SPOKEN.reset(before)


def formatter_of(shape: Callable[..., argparse.HelpFormatter]) -> Callable[..., argparse.HelpFormatter]:
    """Return what lays help out as this formatter does, in the language that is spoken."""
    if _SPOKEN.get() == "en" or not isinstance(shape, type):
        return shape
    return type("Translated", (_Translated, shape), {})


class _Translated(argparse.HelpFormatter):
    """Says texts in the language that is spoken, and breaks lines where its characters may be parted."""

    class _Section(argparse.HelpFormatter._Section):
        def format_help(self) -> str:
            """Return the section, with the mark of the language behind its heading."""
            section: str = super().format_help()
            return (
                section.replace(f"{self.heading}:\n", f"{self.heading}：\n", 1) if self.heading else section
            )

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return translate(action.help) if action.help else action.help

    def add_text(self, text: str | None) -> None:
        """Add a description or an end."""
        super().add_text(translate(text) if text else text)

    def start_section(self, heading: str | None) -> None:
        """Begin a list of arguments."""
        super().start_section(translate(heading) if heading else heading)

    def _format_usage(self, *parts: Any) -> str:
        """The line of the usage; those that go on below it stand further in, as its first word is wider than long."""
        prefix = translate("usage: ")
        wider = " " * (width_of(prefix) - len(prefix))
        usage: str = super()._format_usage(*parts)
        return usage.replace("\n  ", f"\n  {wider}")

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width)


def wrap(text: str, width: int) -> list[str]:
    """Return lines of at most so many columns, broken at blanks and between Chinese characters."""
    lines = [""]
    for token in _TOKEN.findall(" ".join(text.split())):
        if lines[-1] and width_of(lines[-1] + token.rstrip()) > width:
            lines.append("")
        lines[-1] += token
    return [line.rstrip() for line in lines]
