"""Sentences of ours quote rules and fields between backticks: what of a sentence is code, and what is text."""

from __future__ import annotations

import re

from markupsafe import Markup

_CODE = re.compile("(`{1,2})([^`]+)\\1")
_WHOLE = Markup('<span class="option">{}</span>')
_OPTION = re.compile(r"(?<!\S)(--[a-z][a-z-]*(?:=\S*)?)")


def pieces(text: str) -> list[tuple[str, bool]]:
    """Return the parts of a sentence in order, each with whether it is code. A backtick without another stays one."""
    parts, at = [], 0
    for match in _CODE.finditer(text):
        parts += [(text[at : match.start()], False), (match[2], True)]
        at = match.end()
    return [part for part in [*parts, (text[at:], False)] if part[0]]


def mark_up(text: str) -> Markup:
    """A sentence as HTML, escaped: what stands between backticks as code, no option of a command torn at its dashes."""
    return Markup("").join(
        Markup("<code>{}</code>").format(command_marked_up(part)) if is_code else Markup("{}").format(part)
        for part, is_code in pieces(text)
    )


def command_marked_up(text: str) -> Markup:
    """Return a command as HTML, escaped: no option of it torn at its dashes."""
    return Markup("").join(
        (_WHOLE if _OPTION.fullmatch(part) else Markup("{}")).format(part) for part in _OPTION.split(text)
    )
