"""Sentences of statistical tests that were stored in English, told anew in another language.

A verdict keeps what its tests said as one English sentence, and no codes: its bytes are hashed. The templates that
made the sentence take it apart again, every part in its place, and say the parts in another language. A sentence that
no template makes, one of another release or one with words of an author where templates have none, is not told anew.

Where `catalogue.read` knows one field after another, the fields here are sentences themselves, side by side and one
in another. So this is a parser by descent, which goes back where a part does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from service.words.catalogue import NUMERALS, Language, Template, by_length
from service.words.messages import Listed, Message, Value, say, text_of
from service.words.parts_of_sentences import kinds_of

ROOMS = ("analyses", "runs", "boards", "items")
"""Where the sentences of tests are."""
MOST_READ = 4000
"""Characters of a sentence that is told anew: a longer one quotes more than it says."""
LONGEST_ROW = 12
"""Parts in a row: tests name no more."""
MOST_STEPS = 4_000
"""Parts that are tried before a sentence is given up: an author's names may fit in many places."""


class _TooLong(Exception):
    """The sentence takes more steps than a reader would wait for."""


@cache
def retell(english: str, language: Language) -> str | None:
    """Return a test's English sentence in a language; None where no template makes it."""
    if language == "en":
        return english
    known = take_apart(english)
    return None if known is None else text_of(known, language)


def take_apart(english: str) -> Value | None:
    """Return the sentence as codes and values, or two such behind one another; None where no template makes it."""
    if len(english) > MOST_READ:
        return None
    reader = _Reader(english)
    try:
        for parts in reader.sentences(0):
            known = parts[0] if len(parts) == 1 else Listed(parts, "lists.sentences")
            if text_of(known, "en") == english:  # whatever was taken for what, nothing was lost
                return known
    except _TooLong:
        pass
    return None


class _Reader:
    """The templates that make a text, from any place of it on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = 0
        self.open: set[tuple[str, int]] = set()
        """Texts that are being tried at a place, which none of their own fields may begin with again."""

    def sentences(self, at: int) -> Iterator[tuple[Value, ...]]:
        """One sentence, or several with a blank between them, up to the end of the text."""
        for room in ROOMS:
            for end, sentence in self._messages(f"{room}.", at):
                if end == len(self.text):
                    yield (sentence,)
                elif self.text.startswith(" ", end):
                    yield from ((sentence, *more) for more in self.sentences(end + 1))

    def _messages(self, prefix: str, at: int) -> Iterator[tuple[int, Value]]:
        """The texts whose codes begin so that stand here, and where they end; those with most of their own first."""
        for code, template in _beginning_with(prefix):
            key = (code, at)
            if key in self.open or not self.text.startswith(template.parts[0][0], at):
                continue
            self.open.add(key)
            try:
                for end, values in self._match_parts(code, template, 0, at, {}):
                    yield end, Message(code, values)
            finally:
                self.open.discard(key)

    def _match_parts(
        self, code: str, template: Template, index: int, at: int, values: Mapping[str, Value]
    ) -> Iterator[tuple[int, Mapping[str, Value]]]:
        """Yield the parts of a template from one of them on: where they end, and what their fields hold."""
        if index == len(template.parts):
            yield at, values
            return
        self._step()
        literal, name, spec = template.parts[index]
        if not self.text.startswith(literal, at):
            return
        at += len(literal)
        if name is None:
            yield from self._match_parts(code, template, index + 1, at, values)
        elif "|" in spec:
            # the word that goes with a count: the count itself stands elsewhere, or nowhere
            for word, count in zip(spec.split("|"), ("1", "2"), strict=True):
                if self.text.startswith(word, at):
                    yield from self._match_parts(
                        code, template, index + 1, at + len(word), {name: count, **values}
                    )
        else:
            following = template.parts[index + 1][0] if index + 1 < len(template.parts) else ""
            for kind in kinds_of(code, name):
                for end, value in self._field(kind, at, following):
                    if values.get(name, value) == value:
                        yield from self._match_parts(code, template, index + 1, end, {**values, name: value})

    def _field(self, kind: str, at: int, following: str) -> Iterator[tuple[int, Value]]:
        """Yield what a field of a kind can hold from here on, and where it ends.

        `following` is what the template goes on with.
        """
        one, _, between = kind.partition("*")
        if between:
            yield from self._row(one, between, at)
        elif kind == "nothing":
            yield at, ""
        elif kind in ("number", "amount"):
            for end in self._ends_of_number(at):
                number = self.text[at:end]
                if kind == "amount" and self.text.startswith(" pp", end):
                    yield end + 3, Message("units.points", {"value": number})
                yield end, number
        elif kind == "p":
            for sign in ("p = ", "p < "):
                if self.text.startswith(sign, at):
                    yield from ((end, self.text[at:end]) for end in self._ends_of_number(at + len(sign)))
        elif "." in kind:
            yield from self._messages(kind, at)
        else:
            yield from ((end, self.text[at:end]) for end in self._ends_of_text(kind, at, following))

    def _row(self, kind: str, between: str, at: int, most: int = LONGEST_ROW) -> Iterator[tuple[int, Listed]]:
        """Parts of a kind with a text between them, as many as there are."""
        comma = say(between)
        # the last of them ends where the sentence around it goes on, which is not known here: anywhere
        for end, first in self._field(kind, at, ""):
            self._step()
            if most > 1 and self.text.startswith(comma, end):
                for last, more in self._row(kind, between, end + len(comma), most - 1):
                    yield last, Listed((first, *more.items), between)
            yield end, Listed((first,), between)

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _TooLong

    def _ends_of_number(self, at: int) -> Iterator[int]:
        """Yield where a number ends: at its last digit, and before a mark that may end the sentence."""
        end = at + self.text.startswith("±", at)
        while end < len(self.text) and self.text[end] in NUMERALS:
            end += 1
        bare = at + len(self.text[at:end].rstrip(".,"))
        yield from (place for place in dict.fromkeys((bare, end)) if place > at)

    def _ends_of_text(self, kind: str, at: int, following: str) -> Iterator[int]:
        """Yield where a text may end that can be anything: wherever the template goes on, the nearest first."""
        end = at
        while (end := self.text.find(following, end + 1)) >= 0 and end <= len(self.text):
            if kind == "word" and any(letter.isspace() for letter in self.text[at:end]):
                return
            self._step()
            yield end
            if end == len(self.text):
                return


@cache
def _beginning_with(prefix: str) -> tuple[tuple[str, Template], ...]:
    """Return the templates whose codes begin so, by code: those that say most by themselves first."""
    room, _, start = prefix.partition(".")
    return tuple(
        (f"{room}.{code}", template)
        for code, template in by_length(room)
        if code.startswith(start) and template.parts
    )
