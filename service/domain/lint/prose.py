"""Lint of prose: a statement that promises an improvement has to say how much."""

from __future__ import annotations

import re
from collections.abc import Iterator

from service.domain.plans.findings import Finding, warning
from service.domain.rules.settings import Setting
from service.words import say

VAGUE = re.compile(
    r"\b(better|worse|improve[sd]?|outperforms?|superior|significant(?:ly)?|substantial(?:ly)?|"
    r"considerabl[ey]|comparable|similar(?:ly)?|noticeabl[ey])\b",
    re.IGNORECASE,
)


def vague_findings(setting: Setting) -> Iterator[Finding]:
    """Yield a warning where the statement has a vague word and no number at all."""
    statement = re.sub(r"\b[A-Za-z]+[0-9]+\w*", "", setting.hypothesis.statement)
    vague = VAGUE.search(statement)
    if vague and not any(character.isdigit() for character in statement):
        yield warning(
            "VAGUE_WORDS", f"{setting.path}.statement", say("findings.vague_words", word=vague.group())
        )
