"""Items pinned by their content: lists that say it, and files held against them before anything is sent."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forelock import text
from forelock.item_files import Items

Json = dict[str, Any]
OTHER_CONTENT = "of other content than the plan pins"
NAMED = 5


@dataclass(frozen=True, slots=True)
class Pinned:
    """The items of a list, by the form of their ids that the service keeps, and the content of each, if it says it."""

    ids: frozenset[str] = field(repr=False)
    contents: Mapping[str, str] | None = field(repr=False)

    @classmethod
    def of(cls, items: Items) -> Pinned:
        """Return what a file of items says."""
        ids = [unicodedata.normalize("NFC", item_id) for item_id in items.columns["item_ids"]]
        hashes = items.columns.get("content_sha256")
        return cls(frozenset(ids), None if hashes is None else dict(zip(ids, hashes, strict=True)))


def compare_contents(tables: Sequence[Json], items: Pinned | None) -> Json:
    """Return a file's items of other content, and how many it does not tell it of; nothing where nothing is pinned."""
    if items is None or items.contents is None:
        return {}
    others, unknown = dict[str, None](), set[str]()
    for table in tables:
        for item_id, content in zip(table["item_ids"], table["contents"], strict=True):
            pinned = items.contents.get(item_id)
            if pinned is not None and content is None:
                unknown.add(item_id)
            elif pinned is not None and pinned != content:
                others[item_id] = None
    return {"content_differs": list(others), "content_unknown": len(unknown)}


def describe_contents(surveys: Sequence[Json], *, allowed: bool) -> Iterator[str]:
    """Once for all files: what an import would be refused for, or would note."""
    others = list(
        dict.fromkeys(item_id for survey in surveys for item_id in survey.get("content_differs", ()))
    )
    unknown = sum(survey.get("content_unknown", 0) for survey in surveys)
    if others and allowed:
        yield f"{len(others)} items are {OTHER_CONTENT}, as allowed: {format_item_ids(others)}"
    elif others:
        yield f"not_comparable: {len(others)} items are {OTHER_CONTENT}: {format_item_ids(others)}"
        yield "run the locked items; or, if it is meant, --allow-different content, which the verdict tells"
    if unknown:
        yield f"the files do not tell the content of {unknown} items that the plan pins: it is not checked"


def pin_contents(item_ids: Sequence[str], tables: Sequence[Json]) -> tuple[dict[str, str] | None, str]:
    """Return the content of every item, where the files tell it of all and agree; and a sentence on that."""
    contents: dict[str, str] = {}
    others: dict[str, None] = {}
    for table in tables:
        for item_id, content in zip(table["item_ids"], table["contents"], strict=True):
            if content is not None and contents.setdefault(item_id, content) != content:
                others[item_id] = None
    if others:
        return None, (
            f"{len(others)} items have other content in the two files under the same id, so that no content is pinned: "
            + format_item_ids(list(others))
        )
    if len(contents) < len(item_ids):
        return None, "the files do not tell the content of every item: the plan pins ids alone"
    return contents, "every item is pinned by its content (content_sha256): a later run of others is refused"


def format_item_ids(item_ids: Sequence[str]) -> str:
    """Return the first few item ids as a part of a sentence, with an ellipsis where there are more."""
    quoted = ", ".join(text.plain(item_id) for item_id in item_ids[:NAMED])
    return quoted + (", …" if len(item_ids) > NAMED else "")
