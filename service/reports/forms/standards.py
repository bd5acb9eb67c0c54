"""Reporting standards as data: a file each, with items in our words and the facts of a record that answer them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from service.domain.notes.said import Words, words_by
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
    """A reporting standard: where it is published, and its items by section."""

    name: StandardName
    title: str
    version: str
    url: str
    scope: Words = Field(description="Which of its items are here.")
    sections: tuple[Section, ...]


@cache
def standard(name: StandardName) -> Standard:
    """Return the standard of that name."""
    data = tomllib.loads((_HOME / f"{name}.toml").read_text("utf-8"))
    return Standard(
        name=name,
        title=data["title"],
        version=data["version"],
        url=data["url"],
        scope=_words(data["scope"]),
        sections=tuple(
            Section(title=_words(section["title"]), items=tuple(map(_item, section["items"])))
            for section in data["sections"]
        ),
    )


def _item(data: Mapping[str, Any]) -> Item:
    return Item(
        id=data["id"],
        says=_words(data),
        facts=tuple(data["facts"]),
        rest=_words(data, "rest_") if "rest_en" in data else None,
    )


def _words(data: Mapping[str, Any], prefix: str = "") -> Words:
    """A text of a standard; standards are English, and stay so where their file says them in no other language."""
    return words_by(lambda language: data.get(f"{prefix}{language}", data[f"{prefix}en"]))
