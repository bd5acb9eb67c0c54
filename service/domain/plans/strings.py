"""The strings a plan is written in: names that stand in rules, short tokens, lines and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

RESERVED = frozenset({"and", "delta", "excludes", "false", "is", "not", "or", "pp", "true", "within"})
"""Words of the rule language, which nothing else may be called."""

_NAME = r"[A-Za-z][A-Za-z0-9_]{0,63}"
_TOKEN = r"[A-Za-z0-9_.\-]{1,64}"  # noqa: S105
_LINE = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]+"
_PARAGRAPH = r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+"


def _matching(pattern: str, sentence: str, fix: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise PydanticCustomError("malformed_text", sentence, {"fix": fix})
        return value

    return check


def _not_reserved(value: str) -> str:
    if value.lower() in RESERVED:
        raise PydanticCustomError(
            "reserved_word", "is a word of the rule language", {"fix": "choose another name, such as H1"}
        )
    return value


Name = Annotated[
    str,
    AfterValidator(
        _matching(
            _NAME, "must be 1 to 64 letters, digits or _, starting with a letter", "write one such as H1_a"
        )
    ),
    AfterValidator(_not_reserved),
    Field(json_schema_extra={"pattern": f"^{_NAME}$"}),
]
"""What a rule can refer to."""

Token = Annotated[
    str,
    AfterValidator(
        _matching(
            _TOKEN,
            "must be 1 to 64 of letters, digits, '.', '_' and '-'",
            "write one such as gpt-4.1_b: no spaces, and no letters with accents",
        )
    ),
    Field(json_schema_extra={"pattern": f"^{_TOKEN}$"}),
]
"""What a plan calls populations, arms and endpoints."""

Line = Annotated[
    str,
    Field(min_length=1, max_length=300),
    AfterValidator(
        _matching(_LINE, "must be one line without control characters", "leave line breaks and tabs out")
    ),
]
Paragraph = Annotated[
    str,
    Field(min_length=1, max_length=4000),
    AfterValidator(
        _matching(
            _PARAGRAPH, "must be text without control characters", "leave them out; line breaks may stay"
        )
    ),
]
