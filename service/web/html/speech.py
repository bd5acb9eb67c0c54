"""Which language a visitor reads, and the pages' own words in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastapi import Request
from markupsafe import Markup

import service.words
from service.errors import Fault, ForelockError
from service.words import LANGUAGES, Language

COOKIE = "forelock_language"
MOST_ACCEPTED = 1000
"""Characters of `Accept-Language` that are read."""
MOST_READ = 4000
"""Characters of a sentence that is looked up: a longer one quotes more than it says."""


@dataclass(frozen=True, slots=True)
class Say:
    """Says the pages' words in one language."""

    language: Language = "en"

    def __call__(self, code: str, /, **parts: object) -> str:
        """The text of a code in this language, with the parts in its braces.

        Raises:
            KeyError: no such code, or a part is missing.
        """
        return service.words.say(code, self.language, **{name: str(part) for name, part in parts.items()})


ENGLISH = Say()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer as a page shows it."""

    text: str
    lang: Markup
    """The attribute that says it is English, on a page in another language; else empty."""


def translated(room: str, english: str, language: Language) -> Sentence:
    """An English sentence in a language, where a template of the room gave it; else as it is, marked as English."""
    if language == "en":
        return Sentence(english, Markup())
    known = service.words.read(room, english) if len(english) <= MOST_READ else None
    return (
        Sentence(english, Markup(' lang="en"')) if known is None else Sentence(known.text(language), Markup())
    )


def detail_in(error: ForelockError, language: Language) -> Sentence:
    """What a refusal says in a language, if the catalogue has it; else its English, marked as English."""
    if error.message is not None:
        return Sentence(error.message.text(language), Markup())
    return Sentence(error.detail, Markup(' lang="en"') if language != "en" else Markup())


@dataclass(frozen=True, slots=True)
class FaultLine:
    """A fault of a field as a page shows it."""

    path: str
    message: str
    fix: str
    lang: Markup
    """The attribute that says it is English, on a page in another language; else empty."""


def fault_in(fault: Fault, language: Language) -> FaultLine:
    """A fault in a language, if the catalogue has it; else its English, marked as English."""
    message, fix = fault.texts(language)
    is_english = language != "en" and fault.translated is None
    return FaultLine(fault.path, message, fix, Markup(' lang="en"') if is_english else Markup())


def meaning_of(code: str, language: Language) -> str:
    """What a refusal means, to stand above its English detail; empty in English, and of a code without a sentence."""
    known = language != "en" and code in service.words.catalogue.templates(language, "problems")
    return service.words.say(f"problems.{code}", language) if known else ""


def language_of(request: Request) -> Language:
    """What `?lang=` asks for, else what was asked for before, else the first of `Accept-Language` that we speak."""
    for choice in (request.query_params.get("lang"), request.cookies.get(COOKIE)):
        if choice in LANGUAGES:
            return choice
    return accepted(request.headers.get("accept-language", ""))


def accepted(header: str) -> Language:
    """The language of an `Accept-Language` (RFC 9110, 12.5.4): the heaviest that we speak, of equals the first."""
    best: tuple[float, Language] = (0.0, "en")
    for preference in header[:MOST_ACCEPTED].split(","):
        match = re.fullmatch(
            r"\s*+(\*|[A-Za-z]{1,8})(?:-[A-Za-z0-9-]*+)?\s*+(?:;\s*+q=([01](?:\.\d{0,3})?))?\s*+", preference
        )
        if match is None:
            continue
        language = "en" if match[1] == "*" else match[1].lower()
        weight = float(match[2] or 1)
        if language in LANGUAGES and weight > best[0]:
            best = weight, language
    return best[1]
