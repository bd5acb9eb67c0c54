"""The `Prefer` header (RFC 7240): whether a caller waits for an answer, and how long."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOST_WAIT_SECONDS = 60
"""The longest `wait` that is honoured; a longer one is cut to it."""

PARAMETER = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": f"`respond-async`: answer 202 and a job. `wait=N`: wait up to N seconds "
    f"(at most {MOST_WAIT_SECONDS}) for a job's answer. Both: a job, and its answer if it comes in time.",
}
"""What OpenAPI says of the header."""

_PREFERENCE = re.compile(
    r'\s*+([!#$%&\'*+\-.^_`|~0-9A-Za-z]++)\s*+(?:=\s*+("[^"]*+"|[^\s;,]*+))?\s*+(?:;[^,]*+)?\s*+'
)
"""One preference. Its quantifiers are possessive: with plain ones a run of spaces, which could belong to several parts,
would be tried in every way, at a cost that grows with a power of its length."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a caller would like; anything unknown or malformed is ignored, as the RFC asks."""

    respond_async: bool = False
    wait: int | None = None

    @property
    def applied(self) -> dict[str, str]:
        """The `Preference-Applied` header, where a job took account of a preference."""
        words = ["respond-async"] if self.respond_async else []
        words += [] if self.wait is None else [f"wait={self.wait}"]
        return {"Preference-Applied": ", ".join(words)} if words else {}


def parse_preferences(headers: Iterable[str]) -> Preferences:
    """Read the header's values; of a preference that is named twice the first counts."""
    preferred: dict[str, str] = {}
    for part in ",".join(headers).split(","):
        match = _PREFERENCE.fullmatch(part)
        if match is not None:
            preferred.setdefault(match[1].lower(), (match[2] or "").strip('"'))
    wait = preferred.get("wait", "")
    seconds = (
        min(int(wait), MOST_WAIT_SECONDS) if wait.isascii() and wait.isdecimal() and len(wait) < 10 else None
    )
    return Preferences(respond_async="respond-async" in preferred, wait=seconds)
