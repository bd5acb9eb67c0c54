"""What lint says of a plan, in the language of the reader.

Records hold findings in English. The template that gave a message reads it back; of a message that none gave, the
meaning of its code stands beside the English.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.words import Language, catalogue, read, say

LONGEST = 2000
"""Characters of a message that is looked up: a longer one quotes more than it says."""


@dataclass(frozen=True, slots=True)
class FindingWords:
    """A finding in a language."""

    text: str
    english: str
    """What is said in English alone, beside the text or in its place; empty where all of it is translated."""


def meaning_of(code: str, language: Language) -> str:
    """Return what a code says of any plan, in a sentence without the way out; empty of a code of another release."""
    if code not in catalogue.templates(language, "codes"):
        return ""
    stop, blank = say("lists.stop", language), say("lists.sentences", language)
    first, more, _ = say(f"codes.{code}", language).partition(stop + blank)
    return first + stop if more else first


def translate(code: str, message: str, language: Language) -> FindingWords:
    """Return a finding in a language. A code of another release is told in English, as it was recorded."""
    if language == "en":
        return FindingWords(message, "")
    known = read("findings", message) if len(message) <= LONGEST else None
    if known is not None:
        return FindingWords(known.text(language), "")
    meaning = say(f"codes.{code}", language) if code in catalogue.templates(language, "codes") else ""
    return FindingWords(meaning, message)
