"""Sentences of ours quote rules and fields between backticks: what of a sentence is code, and what is text."""

from __future__ import annotations

import re

_CODE = re.compile("(`{1,2})([^`]+)\\1")


def pieces(text: str) -> list[tuple[str, bool]]:
    """The parts of a sentence in order, each with whether it is code. A backtick without another stays one."""
    parts, at = [], 0
    for match in _CODE.finditer(text):
        parts += [(text[at : match.start()], False), (match[2], True)]
        at = match.end()
    return [part for part in [*parts, (text[at:], False)] if part[0]]
