"""A message: what is said, as a code with values, until somebody reads it in a language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from service.words import catalogue
from service.words.catalogue import Language

METHODS = frozenset({"ci", "estimand", "method", "weighting"})
"""Fields of a test's sentence that hold the code of a method, of an interval or of weights."""


def name_of_method(code: str, language: Language) -> str:
    """Return what people call a method of a test; its code where that is a name, or where nobody named it.

    Example:
        `clopper-pearson` is Clopper–Pearson.
    """
    template = catalogue.templates(language, "methods").get(code.replace("-", "_").replace(" ", "_"))
    return code if template is None else template.source


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence, a part of one, or a label."""

    code: str
    """Room and key, such as `verdicts.estimate`."""
    values: Mapping[str, Value]

    def text(self, language: Language) -> str:
        """Return the message in a language.

        Raises:
            KeyError: the language has no such message, or a value is missing.
        """
        room, _, key = self.code.partition(".")
        template = catalogue.templates(language, room)[key]
        values = self.values
        if (
            language != "en" and room == "analyses"
        ):  # English sentences of tests are stored with the codes in them
            values = {name: name_of_method(value, language) if name in METHODS and isinstance(value, str) else value
                      for name, value in values.items()}  # fmt: skip
        return template.fill({name: _printable(value, language) for name, value in values.items()})


@dataclass(frozen=True, slots=True)
class Listed:
    """Values one behind another, with words between them."""

    items: tuple[Value, ...]
    between: str
    """The code of what stands between two of them; empty: nothing."""

    def text(self, language: Language) -> str:
        """Return the list in a language."""
        between = say(self.between, language) if self.between else ""
        return catalogue.join_pieces(between, [text_of(item, language) for item in self.items])


@dataclass(frozen=True, slots=True)
class Stored:
    """An English sentence as a record holds it: by its code in another language, as it stands in English.

    Records keep no codes, since their bytes are hashed. The template that gave the sentence reads it back; where
    none does, `unread` says so.
    """

    english: str
    room: str
    unread: str
    """The code of what is said in its place in another language."""

    def text(self, language: Language) -> str:
        """Return the sentence in a language."""
        if language == "en":
            return self.english
        known = read(self.room, self.english)
        return say(self.unread, language) if known is None else known.text(language)


Value: TypeAlias = str | int | float | Message | Listed | Stored


def message(code: str, /, **values: Value) -> Message:
    """Return a message of this code."""
    return Message(code, values)


def list_values(items: Iterable[Value], between: str = "") -> Listed:
    """Values one behind another, with the text of a code between them."""
    return Listed(tuple(items), between)


def say(code: str, language: Language = "en", /, **values: Value) -> str:
    """Return the text of a code with its values in a language.

    Raises:
        KeyError: the language has no such code, or a value is missing.
    """
    return Message(code, values).text(language)


_SPOKEN: ContextVar[Language] = ContextVar("spoken", default="en")


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Answers that are computed inside say their sentences in this language.

    For answers that nobody stores: what is recorded, hashed or computed as a job stays English, and is read back.
    """
    before = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(before)


def spoken() -> Language:
    """Return the language that is spoken here: English, unless somebody asked for another."""
    return _SPOKEN.get()


def speak(code: str, /, **values: Value) -> str:
    """Return the text of a code with its values in the language that is spoken.

    Raises:
        KeyError: there is no such code, or a value is missing.
    """
    return Message(code, values).text(_SPOKEN.get())


def read(room: str, english: str) -> Message | None:
    """Return the message that an English text of a room is; None where no template of the room gives it."""
    entry = catalogue.read(room, english)
    if entry is None:
        return None
    code, values = entry
    specs = catalogue.templates("en", room)[code].specs
    inner = {name: _read_value(value, specs[name], room) for name, value in values.items()}
    return Message(f"{room}.{code}", inner)


def _read_value(value: str, spec: str, room: str) -> Value:
    """Return what a field of a room holds: a sentence, several of them, or the text as it is."""
    if between := catalogue.SEVERAL.get(spec):
        sentences = catalogue.split_sentences(room, value, between) or ()
        mark = {"; ": "lists.semicolon", " or ": "refusals.between_states"}.get(between, "lists.pause")
        return Listed(tuple(read(room, sentence) or sentence for sentence in sentences), mark)
    inner = catalogue.room_of(spec, room)
    return (None if inner is None else read(inner, value)) or value


def _printable(value: Value, language: Language) -> str | int | float:
    """Return a number as it is, for templates that say how to print it; else the text."""
    return value if isinstance(value, int | float) else text_of(value, language)


def text_of(value: Value, language: Language) -> str:
    """Return a value as it stands in a message."""
    return value.text(language) if isinstance(value, Message | Listed | Stored) else str(value)
