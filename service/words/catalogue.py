"""Templates by language and room: loaded once they are asked for, filled with values, and read back.

A room is a file of `en/` and of the other languages. A field of a template is `{name}`, or one of

- `{count:pair|pairs}`: the first word where the count is 1, else the second; the count itself is not printed;
- `{step:capital}`: a value that begins a sentence, with a capital letter;
- `{names:list}`: names with commas between them, which the language of the template joins by marks of its own;
- `{share:.0%}`: a number, printed as Python prints it;
- `{name:word}`: a value without a blank, `{n:number}`: a number, `{what:message}`: a
  sentence of the same room, or of another one: `{what:@reasons}`; where there may be
  none, `{error:message?}`;
- `{world:several}`: sentences of the same room with commas between them (`{reasons:several;}`: semicolons;
  `{states:alternatives}`: the word or),
  `{size:amount}`: a number with its unit, its error or its bound: `2 pp`, `0.066 ± 0.01`, `<0.0001`, `{test:json}`: an
  object as JSON.

Those after the numbers print as `{name}` does. They say what a field can be where a stored sentence is read back.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, reduce
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Literal, TypeAlias

HOME = Path(__file__).parent
LANGUAGES = (
    "en",
    *sorted(rooms.name for rooms in HOME.iterdir() if (rooms / "lists.toml").exists() and rooms.name != "en"),
)
"""By their tags (BCP 47), English first: every folder here that has rooms is one."""
if TYPE_CHECKING:
    Language: TypeAlias = str
else:  # a closed set where answers are validated and described; a checker of types cannot list a folder
    Language = Literal[LANGUAGES]
NUMERALS = frozenset("0123456789.,+-−%e")
"""Characters of a number: `1,000`, `2.5`, `1e+30`, `40%`."""
FULL_WIDTH = frozenset("，：；。、（）！？“”")
"""Marks that bring their own blank with them."""
SIGNS = frozenset("+-−±<>`%")
"""What stands like a Latin letter or a digit beside a Chinese character."""


_POINTS = re.compile(r"\A([±+−-]?[\d.,]+) pp\Z")
"""A difference in percentage points, as English prints it."""
SEVERAL = {"several": ", ", "several;": "; ", "alternatives": " or "}
"""The kinds of fields that hold sentences in a row, with what stands between them in English."""
LONGEST_ROW = 12
"""Commas in such a field: nothing that is said has more."""
_AMOUNT = re.compile(r"[<±+−-]?[\d.,e+-]*\d%?(?: ± [\d.e-]+)?(?: pp)?")
_BETWEEN_NAMES = re.compile(", | or | and ")
_NAME = re.compile(r"\S+|'[^']*'|\(no name\)|\d+ more")
"""One of the names in a row, or how many more there are."""


class Template:
    """A text with fields, as `str.format` writes them."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property  # a room has hundreds of templates, of which an answer speaks a few
    def parts(self) -> tuple[tuple[str, str | None, str], ...]:
        """Its literal texts, each with the name and the kind of the field behind it."""
        parts, before = [], ""
        for text, name, spec, _ in Formatter().parse(self.source):
            before += text  # what stands around a brace comes in pieces
            if name is not None:
                parts.append((before, name, spec or ""))
                before = ""
        return (*parts, (before, None, "")) if before else tuple(parts)

    @cached_property
    def chinese(self) -> bool:
        """Whether any of its characters is a Chinese one, or a mark that stands beside such."""
        return any(_is_ideograph(letter) or letter in FULL_WIDTH for letter in self.source)

    @property
    def specs(self) -> dict[str, str]:
        """What each field can be, by its name."""
        return {name: spec for _, name, spec in self.parts if name is not None and "|" not in spec}

    @property
    def names(self) -> frozenset[str]:
        """The names of its fields."""
        return frozenset(name for _, name, _ in self.parts if name is not None)

    def fill(self, values: Mapping[str, str | int | float]) -> str:
        """Return the text with its values, which are put in as they are, braces and all.

        In a template with Chinese characters, the blank between a field and its neighbour follows from what the value
        is: one between a Chinese character and a Latin letter, a digit or a sign; none between two Chinese ones or
        beside a full-width mark.

        Raises:
            KeyError: a field has no value.
        """
        pieces = []
        for text, name, spec in self.parts:
            pieces.append(text)
            if name is not None:
                printed = _print(values[name], spec)
                if self.chinese and not text.endswith("`"):
                    printed = _POINTS.sub(r"\1 个百分点", printed)
                pieces.append(_enumerate_in_chinese(printed) if spec == "list" and self.chinese else printed)
        return reduce(_join_chinese, pieces) if self.chinese else "".join(pieces)

    def read(self, room: str, text: str) -> dict[str, str] | None:
        """Return the values with which this template of a room gives the text; None: it does not.

        Every field ends at the first place where the text behind it goes on, so that the time is linear in the text.
        """
        values: dict[str, str] = {}
        at = 0
        for index, (literal, name, spec) in enumerate(self.parts):
            if not text.startswith(literal, at):
                return None
            at += len(literal)
            if name is None:
                continue
            end = self._end_of_field(index, text, at)
            if end < 0 or not _fits(text[at:end], spec, room):
                return None
            if "|" not in spec and values.setdefault(name, text[at:end]) != text[at:end]:
                return None
            at = end
        return values if at == len(text) else None

    def _end_of_field(self, index: int, text: str, at: int) -> int:
        """Return where the field of a part ends: before the next literal, which ends the text where it is the last."""
        following = self.parts[index + 1 :]
        if following and not following[0][0] and _is_number(self.parts[index][2]):
            # another field follows at once: the number ends before it, and before the end of a sentence
            digits = next((place for place in range(at, len(text)) if text[place] not in NUMERALS), len(text))
            return at + len(text[at:digits].rstrip(".,"))
        if not following or not following[0][0]:
            return len(text)
        literal, name, _ = following[0]
        if name is None:
            end = len(text) - len(literal)
            return end if end >= at and text.endswith(literal) else -1
        return text.find(literal, at)


@cache
def templates(language: Language, room: str) -> Mapping[str, Template]:
    """Return the templates of a room by code.

    Raises:
        FileNotFoundError: no such room.
    """
    entries = tomllib.loads((HOME / language / f"{room}.toml").read_text("utf-8"))
    return {code: Template(source) for code, source in entries.items()}


@cache
def fonts(language: Language) -> str:
    """Return the commands of LaTeX that load what a report in a language is set with, as its folder has them."""
    return (HOME / language / "fonts.tex").read_text("utf-8")


def read(room: str, text: str) -> tuple[str, dict[str, str]] | None:
    """Return the key and the values of an English text of a room; None where none of its templates gives it.

    For what is stored in English alone. Templates are asked in the order of how much of the text is their own.
    """
    for code, template in by_length(room):
        values = template.read(room, text)
        if values is not None:
            return code, values
    return None


@cache
def by_length(room: str) -> tuple[tuple[str, Template], ...]:
    """Return the English templates of a room, those that say most by themselves first."""

    def own_length(entry: tuple[str, Template]) -> int:
        return -sum(len(literal) for literal, _, _ in entry[1].parts)

    return tuple(sorted(templates("en", room).items(), key=own_length))


def split_sentences(room: str, text: str, between: str) -> list[str] | None:
    """Return the sentences of a room that a text lists with commas between them; None where it lists something else.

    A sentence may have commas of its own: each takes as few as make it one.
    """
    pieces = text.split(between)
    if len(pieces) > LONGEST_ROW:
        return None
    sentences, at = [], 0
    while at < len(pieces):
        rows = (between.join(pieces[at:end]) for end in range(at + 1, len(pieces) + 1))
        sentence = next((row for row in rows if read(room, row) is not None), None)
        if sentence is None:
            return None
        sentences.append(sentence)
        at += sentence.count(between) + 1
    return sentences


def room_of(spec: str, room: str) -> str | None:
    """Return the room of the sentence that a field of a room holds; None for other fields."""
    return room if spec.rstrip("?") == "message" else spec[1:] if spec.startswith("@") else None


def _is_ideograph(letter: str) -> bool:
    """Tell whether a letter is a character of the main block of Chinese ones."""
    return "\u4e00" <= letter <= "\u9fff"


def join_pieces(between: str, pieces: Sequence[str]) -> str:
    """Pieces with a text between them; blanks beside a Chinese one follow from its neighbours, as in a template."""
    if not pieces or not any(_is_ideograph(letter) for letter in between):
        return between.join(pieces)
    return reduce(lambda whole, piece: _join_chinese(_join_chinese(whole, between), piece), pieces)


def _join_chinese(left: str, right: str) -> str:
    """Two pieces of a Chinese sentence, with the blank between them that Chinese typography asks for."""
    before, after = left.rstrip(" ")[-1:], right.lstrip(" ")[:1]
    chinese = _is_ideograph(before), _is_ideograph(after)
    if not before or not after or not (any(chinese) or before in FULL_WIDTH or after in FULL_WIDTH):
        return left + right
    if all(chinese) or before in FULL_WIDTH or after in FULL_WIDTH:
        return left.rstrip(" ") + right.lstrip(" ")
    latin = after if chinese[0] else before
    narrow = (latin.isascii() and latin.isalnum()) or latin in SIGNS
    return f"{left.rstrip(' ')} {right.lstrip(' ')}" if narrow else left + right


def _is_number(spec: str) -> bool:
    """Tell whether a field holds a number: of any kind, or as a format of numbers says."""
    return spec in ("number", "g") or spec[:1] in (".", ",", "+")


def _print(value: str | int | float, spec: str) -> str:
    """Return a value as a field prints it."""
    if spec != "number" and _is_number(spec) and not isinstance(value, str):
        return format(value, spec)
    value = str(value)
    if "|" in spec:
        one, _, many = spec.partition("|")
        return one if value == "1" else many
    return value[:1].upper() + value[1:] if spec == "capital" else value


def _enumerate_in_chinese(names: str) -> str:
    """English names in a row, with the marks and words that stand between them in Chinese."""
    names = re.sub(r" and (\d+) more$", r" 和另外 \1 个", names.replace("(no name)", "（无名）"))
    return names.replace(", ", "、").replace(" or ", " 或 ").replace(" and ", " 和 ")


def _fits(value: str, spec: str, room: str) -> bool:
    """Tell whether a field of that kind can hold the value."""
    if "|" in spec:
        return value in spec.split("|")
    if _is_number(spec):
        return bool(value) and NUMERALS.issuperset(value)
    if spec == "word":
        return bool(value) and not any(letter.isspace() for letter in value)
    if spec == "list":
        return all(_NAME.fullmatch(name) for name in _BETWEEN_NAMES.split(value))
    if spec in SEVERAL:
        return split_sentences(room, value, SEVERAL[spec]) is not None
    if spec == "json":
        return value[:1] == "{" and value[-1:] == "}"
    if spec == "amount":
        return _AMOUNT.fullmatch(value) is not None
    inner = room_of(spec, room)
    return inner is None or (not value and spec.endswith("?")) or read(inner, value) is not None
