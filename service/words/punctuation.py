"""The marks between the parts of a text that is put together: full-width in Chinese, with blanks in English.

Example:
    `colon("en")` is `: `, and `colon("zh")` is the full-width colon alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from service.words.catalogue import Language
from service.words.messages import say


def colon(language: Language) -> str:
    """Return the colon with what stands behind it."""
    return say("lists.colon", language)


def pause(language: Language) -> str:
    """Return the comma between parts of a sentence, with what stands behind it."""
    return say("lists.pause", language)


def stop(language: Language) -> str:
    """Return the full stop of a sentence."""
    return say("lists.stop", language)


def sentences(texts: Iterable[str | None], language: Language) -> str:
    """Sentences one behind another; those that are empty leave no gap."""
    return say("lists.sentences", language).join(filter(None, texts))


def in_parentheses(note: str, language: Language) -> str:
    """Return what stands in parentheses behind something, with the blank before them where the language has one."""
    return say("lists.note", language, note=note)
