"""The fixed words of pictures."""

from __future__ import annotations

import service.words
from service.words import Language


def say(key: str, language: Language, /, **values: str) -> str:
    """Return a word or title of a picture, in a language."""
    return service.words.say(f"charts.{key}", language, **values)
