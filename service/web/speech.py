"""Which language a visitor reads, and the pages' own words in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastapi import Request

import service.words
from service.words import LANGUAGES, Language

COOKIE = "forelock_language"
MOST_ACCEPTED = 1000
"""Characters of `Accept-Language` that are read."""


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


def language_of(request: Request) -> Language:
    """What `?lang=` asks for, else what was asked for before, else the first of `Accept-Language` that we speak."""
    for asked in (request.query_params.get("lang"), request.cookies.get(COOKIE)):
        if asked in LANGUAGES:
            return asked
    return accepted(request.headers.get("accept-language", ""))


def accepted(header: str) -> Language:
    """The language of an `Accept-Language` (RFC 9110, 12.5.4): the heaviest that we speak, of equals the first."""
    best: tuple[float, Language] = (0.0, "en")
    for each in header[:MOST_ACCEPTED].split(","):
        match = re.fullmatch(
            r"\s*+(\*|[A-Za-z]{1,8})(?:-[A-Za-z0-9-]*+)?\s*+(?:;\s*+q=([01](?:\.\d{0,3})?))?\s*+", each
        )
        if match is None:
            continue
        language = "en" if match[1] == "*" else match[1].lower()
        weight = float(match[2] or 1)
        if language in LANGUAGES and weight > best[0]:
            best = weight, language
    return best[1]
