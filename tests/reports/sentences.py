"""Sentences of a test's own, in every language that reports are made in."""

from __future__ import annotations

from service.words.catalogue import LANGUAGES


def in_languages(en: str, zh: str | None = None) -> dict[str, str]:
    """Return the sentence by language; those in which the test has none of its own say the English one."""
    return dict.fromkeys(LANGUAGES, en) | ({} if zh is None else {"zh": zh})
