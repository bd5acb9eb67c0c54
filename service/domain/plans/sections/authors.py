"""Who wrote a plan: names, with the ORCID iDs and the institutions that they give."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from service.domain.plans.strings import Line
from service.records import StrictRecord

_ORCID = r"[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X]"
_SHAPE = re.compile(_ORCID)
MAX_AUTHORS = 200


def orcid_checksum(digits: str) -> str:
    """Return the last character of an ORCID iD whose first fifteen digits are these: ISO 7064 mod 11-2.

    Example:
        `orcid_checksum("000000021825009")` is `"7"`: 0000-0002-1825-0097 is the iD in ORCID's documentation.
    """
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2
    rest = (12 - total % 11) % 11
    return "X" if rest == 10 else str(rest)


def _check_orcid(value: str) -> str:
    """Check the shape and the last character of an ORCID iD (ISO 7064, MOD 11-2)."""
    if not _SHAPE.fullmatch(value):
        raise PydanticCustomError(
            "orcid",
            "is no ORCID iD: four groups of four, the last one ending in a digit or X",
            {"fix": "write it such as 0000-0002-1825-0097, without https://orcid.org/"},
        )
    if orcid_checksum(value.replace("-", "")[:-1]) != value[-1]:
        raise PydanticCustomError(
            "orcid",
            "is no ORCID iD: its last character does not fit the others",
            {"fix": "look for a digit that was mistyped"},
        )
    return value


Orcid = Annotated[str, AfterValidator(_check_orcid), Field(json_schema_extra={"pattern": f"^{_ORCID}$"})]


class Author(StrictRecord):
    """Somebody who wrote the plan, in the order of authorship."""

    name: Line = Field(description="The name as it is cited.")
    orcid: Orcid | None = Field(
        None, description="ORCID iD such as 0000-0002-1825-0097; its last character is checked."
    )
    affiliation: Line | None = Field(None, description="Where they work.")

    def text(self) -> str:
        """Name, institution and iD in one line."""
        beside = ", ".join(filter(None, (self.affiliation, self.orcid and f"ORCID {self.orcid}")))
        return f"{self.name} ({beside})" if beside else self.name


def _not_empty(authors: tuple[Author, ...]) -> tuple[Author, ...]:
    """Refuse a list of nobody. Asked after the authors themselves: a fault of one of them is told alone."""
    if not authors:
        raise PydanticCustomError("no_author", "names nobody", {"fix": "name somebody, or leave it out"})
    return authors


Authors = Annotated[
    tuple[Author, ...],
    Field(max_length=MAX_AUTHORS, json_schema_extra={"minItems": 1}),
    AfterValidator(_not_empty),
]
