"""What tells whether two results are of the same thing: settings of a run, and the content of each item."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from service.ingest.harnesses.registry import harness_of
from service.ingest.harnesses.samples import Reader, finder

ASPECTS = (
    "task", "task_version", "dataset", "dataset_version", "scorer", "judge", "runs", "limits",
    "harness_version",
)  # fmt: skip
"""Settings that a file may tell, beside the content of its items."""
_LONGEST = 300
"""Letters of a setting that are kept; a longer one is told by its SHA-256."""
_WORDS, _LETTERS = 12, 120
"""How much of a text is shown."""
ContentFinder = Callable[[Mapping[str, Any]], tuple[str | None, str | None]]
_OF_MESSAGE = ("role", "content", "tool_calls", "function")
"""What a message says; the others, such as its id, are drawn anew in every run."""


def settings_of(stated: Mapping[str, Any]) -> dict[str, str]:
    """What a file says of every aspect, as a text that is equal where the settings are; a long one is its SHA-256.

    What the file does not say is left out.
    """
    texts = {
        name: _whole(value if isinstance(value, str) else _text(value))
        for name in ASPECTS
        if (value := stated.get(name)) not in (None, "", [], {})
    }
    return {
        name: text if len(text) <= _LONGEST else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        for name, text in texts.items()
    }


def content_finder(places: tuple[str, ...]) -> ContentFinder:
    """Finds an item's `content_sha256`, of its input and target; and the input's first words.

    It is the SHA-256 in hexadecimal of a JSON array of both (of the input alone where the harness has no place for a
    target): UTF-8, names in order, no blanks, nothing escaped that need not be, numbers as Python writes them. Of a
    conversation it is what its messages say, without their ids.

    `places` are that of the input and that of the target, if there is one. None where a sample has no input.
    """
    finders = [[finder(place) for place in alternative.split("|")] for alternative in places]

    def find(fields: Mapping[str, Any]) -> tuple[str | None, str | None]:
        given = _print(_first(finders[0], fields)) if finders else None
        if given in (None, "", [], {}):
            return None, None
        values = [given, *(_print(_first(alternatives, fields)) for alternatives in finders[1:])]
        digest = hashlib.sha256(_text(values).encode("utf-8", "surrogatepass")).hexdigest()
        return digest, _first_words(values[0])

    return find


def reading_contents(reader: Reader, form: str) -> ContentFinder:
    """Return `content_finder` of a format, of whose samples this reader then reads what it needs."""
    places = harness_of(form).content
    reader.read_also([place for alternatives in places for place in alternatives.split("|")])
    return content_finder(places)


def _first(finders: list[Callable[[Any], Any]], fields: Mapping[str, Any]) -> Any:
    for find in finders:
        value = find(fields)
        if value is not None:
            return value
    return None


def _print(value: Any) -> Any:
    """Return a conversation as what its messages say."""
    if isinstance(value, list) and value and all(isinstance(turn, dict) and "role" in turn for turn in value):
        return [{name: turn[name] for name in _OF_MESSAGE if name in turn} for turn in value]
    return value


def _first_words(value: Any) -> str:
    """Return the first words of an item's content: of a chat's last message, or of an object's longest text."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = value[-1].get("content", value[-1])
    if isinstance(value, Mapping) and len(value) > 0:
        texts = [member for member in value.values() if isinstance(member, str)]
        value = max(texts, key=len) if texts else value
    text = _whole(value if isinstance(value, str) else _text(value))
    words = text[: 8 * _LETTERS].split()
    short = " ".join(words[:_WORDS])[:_LETTERS]
    return f"{short}…" if len(words) > _WORDS or len(short) < len(" ".join(words)) else short


def _whole(text: str) -> str:
    """Half of a surrogate pair is no character, and nobody could print it."""
    return text.encode("utf-8", "replace").decode()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str, separators=(",", ":"))
