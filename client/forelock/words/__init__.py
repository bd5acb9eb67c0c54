"""The command line's own words of an answer: a text by its code, one file of them per language.

`en.toml` and the others hold the same codes. What a service or a test computes comes in its own words, in the language
that it was asked in, and so do refusals and notes on how files were read where the server package is installed
(`translator_of`); help has its own files (`forelock.help_words`).
"""

from __future__ import annotations

import argparse
import os
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from string import Formatter

LANGUAGES = ("en", *sorted(file.stem for file in Path(__file__).parent.glob("*.toml") if file.stem != "en"))
"""By their tags (BCP 47), English first: every file here is one."""
_SETTINGS = ("LC_ALL", "LC_MESSAGES", "LANG")
"""Variables that say which language a terminal is read in, the first that is set (POSIX, 8.2)."""


@cache
def texts(language: str) -> Mapping[str, str]:
    """Return every text of a language by its code."""
    return tomllib.loads((Path(__file__).parent / f"{language}.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Say:
    """Says the command line's words in one language."""

    language: str = "en"

    def __call__(self, code: str, /, **values: object) -> str:
        """The text of a code with the values in its braces.

        Raises:
            KeyError: no such code, or a value is missing.
        """
        text = texts(self.language)[code]
        return text.format(**values) if self.language == "en" else _fill(text, values)

    def name(self, label: str) -> str:
        """Return what a line of numbers is called; one that has no word is called what it is, such as `pass^3`."""
        return texts(self.language).get(f"line {label}", label)

    def method(self, name: str) -> str:
        """Return what a method is called; most go by their own names everywhere."""
        return texts(self.language).get(f"method {name}", name)

    def state(self, name: object) -> str:
        """Return what a state of a record is called."""
        return texts(self.language).get(f"state {name}", str(name))

    def outcome(self, name: str) -> str:
        """Return what an outcome of a hypothesis is called in a list."""
        return texts(self.language).get(f"outcome {name}", name)

    def decision(self, name: str) -> str:
        """Return what was decided about a deviation, or by a look."""
        return texts(self.language).get(f"decision {name}", name)

    def check(self, name: str) -> str:
        """Return what a check of a bundle is called."""
        return texts(self.language).get(f"check {name}", name)

    def delivery(self, state: str) -> str:
        """Return what became of a message that was sent."""
        return texts(self.language).get(f"delivery {state}", state)

    def awaited(self, what: str) -> str:
        """Return what is waited for."""
        return texts(self.language).get(f"awaited {what}", what)

    def answer(self, choice: str) -> str:
        """Return what may be answered to a question for a plan."""
        return texts(self.language).get(f"answer {choice}", choice)

    def event(self, name: str) -> str:
        """Return what became of a sample in a file of results."""
        return texts(self.language).get(f"event {name}", name)

    def mark(self, effect: str) -> str:
        """Return what begins a line that stands against a record."""
        return texts(self.language).get(f"mark {effect}", effect)

    def count(self, unit: str, n: int) -> str:
        """So many items, clusters or runs."""
        return self(f"count_{unit}", n=n)


def _fill(text: str, values: Mapping[str, object]) -> str:
    """Return a text with its values, without the one blank between a value and the text where both are Chinese there.

    The blank of `{method} 区间` belongs beside a Latin name such as `CR2 t` alone.
    """
    whole = ""
    for literal, name, spec, _ in Formatter().parse(text):
        for piece in (literal, "" if name is None else format(values[name], spec or "")):
            whole = _join(whole, piece)
    return whole


def _join(left: str, right: str) -> str:
    if left.endswith(" ") and _is_chinese(left[-2:-1]) and _is_chinese(right[:1]):
        return left[:-1] + right
    if right.startswith(" ") and _is_chinese(left[-1:]) and _is_chinese(right[1:2]):
        return left + right[1:]
    if right.startswith(" ") and left[-1:] == "）":  # a full-width mark brings its own blank
        return left + right[1:]
    return left + right


def _is_chinese(letter: str) -> bool:
    return "\u4e00" <= letter <= "\u9fff"


ENGLISH = Say()


def add_language(parser: argparse.ArgumentParser) -> None:
    """Add `--lang` to a command that answers in sentences."""
    parser.add_argument(
        "--lang",
        choices=LANGUAGES,
        help="the language of the answer (default: what LANG says; of --json English)",
    )


def language_of(options: argparse.Namespace) -> str:
    """Return what `--lang` asks for, else the terminal's; programs are answered in English unless they ask."""
    chosen: str | None = getattr(options, "lang", None)
    return _language(chosen, for_program=getattr(options, "json", False))


def language_asked(arguments: Sequence[str]) -> str:
    """The same of a command line that nobody has read yet: the language of help, and of what is wrong with the line."""
    values = [word.removeprefix("--lang=") for word in arguments if word.startswith("--lang=")]
    values += [value for option, value in pairwise(arguments) if option == "--lang"]
    chosen = next((value for value in reversed(values) if value in LANGUAGES), None)
    return _language(chosen, for_program="--json" in arguments)


def split_language(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the `--lang` that stands before the command, if one does, and the rest of the line."""
    first = arguments[0] if arguments else ""
    size = 2 if first == "--lang" else 1 if first.startswith("--lang=") else 0
    return list(arguments[:size]), list(arguments[size:])


def without_language(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return a command line without `--lang` and what it asks for."""
    before = ("", *arguments)
    return tuple(
        word
        for option, word in zip(before, arguments, strict=False)
        if option != "--lang" and word != "--lang" and not word.startswith("--lang=")
    )


def _language(chosen: str | None, *, for_program: bool) -> str:
    if chosen is not None or for_program:
        return chosen or "en"
    locale = next((value for name in _SETTINGS if (value := os.environ.get(name))), "")
    language = re.split(r"[^a-z]", locale.lower())[0]
    return language if language in LANGUAGES else "en"


def say_of(options: argparse.Namespace) -> Say:
    """Return the words in the language of a command."""
    return Say(language_of(options))


def width_of(text: str) -> int:
    """Columns that a text takes on a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, width: int) -> str:
    """Return the text with blanks behind it, up to so many columns."""
    return text + " " * max(width - width_of(text), 0)
