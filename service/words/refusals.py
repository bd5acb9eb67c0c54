"""Refusals that were raised in English, read back by the templates that gave them and said in another language."""

from __future__ import annotations

from service.words.catalogue import Language
from service.words.messages import Listed, Message, read

ROOMS = ("refusals", "faults", "findings")
"""Rooms whose English sentences somebody may have been refused with: a lock, with what lint found."""
MOST_READ = 4000
"""Characters of a sentence that is looked up: a longer one quotes more than it says."""


def translate_refusal(english: str, language: Language) -> str | None:
    """Return a refusal in a language, where a template of its rooms gave the English; None where none did."""
    if language == "en" or not english:
        return english
    if len(english) > MOST_READ:
        return None
    known = next((known for room in ROOMS if (known := read(room, english)) is not None), None)
    return None if known is None else known.text(language)


def translate_power(english: str, language: Language) -> str | None:
    """Return why power is not known, or what it takes for granted, in a language; None where no template gave it."""
    if language == "en":
        return english
    if len(english) > MOST_READ:
        return None
    whole = _read_power(english)
    parts = [whole] if whole is not None else [_read_power(part) for part in english.split("; ")]
    known = tuple(part for part in parts if part is not None)
    return Listed(known, "lists.semicolon").text(language) if len(known) == len(parts) else None


def translate_multiverse(english: str, language: Language) -> str | None:
    """Return what universes say of a hypothesis, or why some are not computed; None where no template gave it."""
    known = read("multiverse", english) if len(english) <= MOST_READ else None
    return None if known is None else known.text(language)


def translate_name(english: str, language: Language) -> str | None:
    """Return the title or the summary of a statistical test in a language; None where it is neither."""
    known = next(
        (known for room in ("titles", "summaries") if (known := read(room, english)) is not None), None
    )
    return None if known is None else known.text(language)


def _read_power(english: str) -> Message | None:
    """Return what gave a sentence on power; the name of a truth with its size, `a, b`, is none, and fits much."""
    known = read("power", english)
    return None if known is None or known.code == "power.sized" else known
