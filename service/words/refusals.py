"""Refusals that were raised in English, read back by the templates that gave them and said in another language."""

from __future__ import annotations

from service.words.catalogue import Language
from service.words.messages import read

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
