"""A line of prose as it is read: what is understood of it is taken, and what is left over can be told."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
MAX_PROSE = 6000
"""Characters of a sentence that are looked at: a paragraph of a plan has at most 4,000."""
MAX_QUOTED = 400
"""Characters of leftover words that one gap repeats."""

_GLUE = frozenset(
    ("a", "an", "the", "of", "on", "in", "at", "by", "for", "with", "to", "and", "or", "is", "are", "be", "was", "we",
     "as", "its", "it", "this", "that", "than", "over", "per", "vs", "versus", "against", "using", "use", "uses")
)  # fmt: skip
_GLUE_ZH = re.compile(r"[的与和在上中下为以及是用按由对其于]+")
_WORD = re.compile(r"[\w%‰]+")
_BOUNDARY = re.compile(r"[;。!?]|[.:](?=\s|$)")
_MARKS = " \t.,:-=*`'<>≥≤±+/\\_~#&×()[]|"


def fold(text: str) -> str:
    """The text with full-width punctuation as in English, so that one pattern reads both; as much as is looked at."""
    return _fold(text)[:MAX_PROSE]


def _fold(text: str) -> str:
    """Return the same of what is looked at, which may become longer: a ligature may stand for eighteen letters."""
    folded = unicodedata.normalize("NFKC", text[:MAX_PROSE]).replace("−", "-").replace("–", "-")
    return " ".join(folded.replace("、", ",").split())


class Passage:
    """A text, folded, of which parts are taken as they are understood. Parts of it share what is taken."""

    def __init__(self, text: str) -> None:
        self.raw = text
        whole = _fold(text)
        self._whole = whole[:MAX_PROSE]
        self._taken = bytearray(len(self._whole))
        self.beyond = len(text) > MAX_PROSE or len(whole) > MAX_PROSE
        self._start, self._end = 0, len(self._whole)

    @property
    def text(self) -> str:
        """The text as it is looked at, folded."""
        return self._whole[self._start : self._end]

    def part(self, start: int, end: int | None = None) -> Passage:
        """Return the part between two places of `text`."""
        part = Passage.__new__(Passage)
        part._whole, part._taken, part.beyond = self._whole, self._taken, False
        part._start = min(self._start + start, self._end)
        part._end = self._end if end is None else min(self._start + end, self._end)
        part.raw = part.text
        return part

    def split_head(self) -> tuple[Passage, Passage]:
        """Return what stands before the first colon, and what after it; an empty head when there is none."""
        at = self.text.find(":")
        return (self.part(0, 0), self) if at < 0 else (self.part(0, at), self.part(at + 1))

    def before(self, *marks: str) -> Passage:
        """Return what stands before the first of the marks."""
        places = [at for mark in marks if (at := self.text.find(mark)) >= 0]
        return self.part(0, min(places, default=len(self.text)))

    def search(self, pattern: str, flags: int = re.IGNORECASE) -> re.Match[str] | None:
        """Return the first place that the pattern matches; nothing is taken."""
        return re.compile(pattern, flags).search(self._whole, self._start, self._end)

    def matches(self, pattern: str) -> Iterator[re.Match[str]]:
        """Return every place that the pattern matches; nothing is taken."""
        return re.compile(pattern, re.IGNORECASE).finditer(self._whole, self._start, self._end)

    def place(self, at: int) -> int:
        """Return where in `text` a place of a match is."""
        return at - self._start

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return two places of `text` as those of a match."""
        return start + self._start, end + self._start

    def strip(self, marks: str) -> Passage:
        """Return it without blanks and these marks around it."""
        text = self.text
        start = len(text) - len(text.lstrip(f" {marks}"))
        return self.part(start, max(start, len(text.rstrip(f" {marks}"))))

    def untaken(self) -> str:
        """Return the text with a blank for everything that is taken."""
        pairs = zip(self.text, self._taken[self._start : self._end], strict=True)
        return "".join(" " if taken else letter for letter, taken in pairs)

    def take(self, match: re.Match[str] | None, group: int | str = 0) -> None:
        """Mark what a match of this text, or a group of it, covers as understood."""
        if match is not None and match[group] is not None:
            self.mark(*match.span(group))

    def take_each(self, pattern: str) -> None:
        """Mark every place that the pattern matches."""
        for match in self.matches(pattern):
            self.mark(*match.span())

    def take_all(self) -> None:
        """Mark the whole text, to its end: it is kept as it stands."""
        self.mark(self._start, self._end)
        self.beyond = False

    def mark(self, start: int, end: int) -> None:
        """Mark places of the whole text, as its matches give them, as understood."""
        self._taken[start:end] = b"\1" * (end - start)

    def words(self) -> Iterator[Heard[str]]:
        """Return words and numbers that nobody has taken yet; a number keeps its percent sign."""
        for match in re.finditer(r"\d+(?:\.\d+)?\s*%|[\w.\-]*\w", self.untaken()):
            yield Heard(match[0], self, (self.span(*match.span()),))

    def list_left(self) -> list[str]:
        """Return what was not taken, piece by piece, without pieces that say nothing by themselves."""
        pieces = []
        place = self._start
        while place < self._end:
            end = self._taken.find(1, place, self._end)
            end = self._end if end < 0 else end
            pieces += [piece.strip(_MARKS) for piece in _BOUNDARY.split(self._whole[place:end])]
            place = end
            while place < self._end and self._taken[place]:
                place += 1
        left = [piece for piece in pieces if _says_something(piece)]
        return [*left, f"what follows the first {MAX_PROSE} characters"] if self.beyond else left


@dataclass(frozen=True, slots=True)
class Heard(Generic[T]):
    """A value that was understood, and where the text says it."""

    value: T
    passage: Passage
    spans: tuple[tuple[int, int], ...] = ()

    def take(self) -> None:
        """Mark the value as used: its place in the text is understood."""
        for span in self.spans:
            self.passage.mark(*span)


def quote(pieces: list[str]) -> str:
    """Return pieces of a text in quotation marks, up to a length; how many more there are is told."""
    repeated: list[str] = []
    for piece in pieces:
        if repeated and sum(map(len, repeated)) + len(piece) > MAX_QUOTED:
            break
        repeated.append(piece if len(piece) <= MAX_QUOTED else f"{piece[:MAX_QUOTED]}…")
    more = f" and {len(pieces) - len(repeated)} more" if len(repeated) < len(pieces) else ""
    return ", ".join(f"“{piece}”" for piece in repeated) + more


def _says_something(piece: str) -> bool:
    words = (_GLUE_ZH.sub("", word) for word in _WORD.findall(piece.casefold()))
    return any(word and word not in _GLUE for word in words)
