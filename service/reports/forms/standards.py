"""Reporting standards as data: a file each, with items in our words and the facts of a record that answer them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from service.domain.notes.said import Words
from service.records import Record

StandardName = Literal["gpai", "neurips", "nist", "reforms"]
STANDARDS: tuple[StandardName, ...] = get_args(StandardName)
_HOME = Path(__file__).parent


class Item(Record):
    """One item of a standard."""

    id: str = Field(description="Its number there.")
    says: Words = Field(description="What it asks for, in our words.")
    facts: tuple[str, ...] = Field(description="The facts of a record that answer it; none: no record does.")
    rest: Words | None = Field(description="What it asks for beyond them; null: nothing.")


class Section(Record):
    """Items under one heading of a standard."""

    title: Words
    items: tuple[Item, ...]


class Standard(Record):
    """A reporting standard."""

    name: StandardName
    title: str
    version: str
    url: str
    scope: Words = Field(description="Which of its items are here.")
    sections: tuple[Section, ...]


@cache
def standard(name: StandardName) -> Standard:
    """The standard of that name."""
    data = tomllib.loads((_HOME / f"{name}.toml").read_text("utf-8"))
    return Standard(
        name=name,
        title=data["title"],
        version=data["version"],
        url=data["url"],
        scope=Words(**data["scope"]),
        sections=tuple(
            Section(title=Words(**section["title"]), items=tuple(map(_item, section["items"])))
            for section in data["sections"]
        ),
    )


def _item(data: Mapping[str, Any]) -> Item:
    rest = {"en": data.get("rest_en"), "zh": data.get("rest_zh")}
    return Item.model_validate(
        {
            "id": data["id"],
            "says": {"en": data["en"], "zh": data["zh"]},
            "facts": tuple(data["facts"]),
            "rest": rest if rest["en"] else None,
        }
    )
