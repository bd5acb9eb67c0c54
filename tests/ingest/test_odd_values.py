"""A value of any kind in any place of a file: it is read, or refused by name; nothing breaks or is too long."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from service.errors import ForelockError
from service.ingest.surveys import survey
from tests.drawing import one_in
from tests.ingest.bases import BASES, Base, CannotBeWritten, encoded, opened
from tests.ingest.written import put, read

ODD = (
    None, True, -7, 0.5, 10**400, math.nan, math.inf, "", "\ud800", "a\0\x1b[2Jb", "x" * 30_000, [], {}, [[1]],
    ["x", {}], {"\ud800": {"y" * 30_000: {}}},
)  # fmt: skip
LONGEST = 20_000
SURVEYED = 4
"""One file in so many is surveyed as well; no factor of how many odd values there are, so that each has its turn."""


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every value in a document, itself included; of lists within it the first alone."""
    yield path
    inner: Any = document.items() if isinstance(document, dict) else ()
    if isinstance(document, list):
        inner = enumerate(document[: 1 if path else None])
    for key, value in inner:
        yield from places(value, (*path, key))


def variants(base: Base) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Files with one odd value each, and where it stands."""
    whole = {name: encoded(name, document) for name, document in base.documents.items()}
    for name, document in base.documents.items():
        for path in places(document):
            if not path and isinstance(document, list) and name.endswith(("jsonl", "ndjson")):
                continue
            for value in ODD:
                with suppress(CannotBeWritten):
                    content = encoded(name, put(document, path, value))
                    yield f"{name} {path} {value!r:.40}", {**whole, name: content}


@pytest.mark.parametrize("form", BASES)
def test_base_is_read(form, tmp_path):
    base = BASES[form]
    with ExitStack() as open_ones:
        contents = {name: encoded(name, document) for name, document in base.documents.items()}
        found = read(base, opened(base, contents, tmp_path, open_ones))
    assert sum(len(rows.item_ids) for rows in found.rows) > 0
    assert found.statuses["ok"] > 0


@pytest.mark.parametrize("form", one_in(3, BASES))
def test_any_value_anywhere_is_read_or_refused(form, tmp_path: Path):
    base = BASES[form]
    for number, (where, contents) in enumerate(variants(base)):
        for asked in ("rows", "survey") if number % SURVEYED == 0 else ("rows",):
            with ExitStack() as open_ones:
                try:
                    files = opened(base, contents, tmp_path, open_ones)
                    if asked == "rows":
                        answer: Any = [rows.item_ids for rows in read(base, files).rows]
                    else:
                        answer = survey(files, str(base.mapping["format"]))
                except ForelockError as problem:
                    assert problem.status in (400, 413, 422), where
                    answer = problem.document()
                except Exception as broken:
                    raise AssertionError(f"{asked} of {where}") from broken
            text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
            assert len(text.encode()) < LONGEST, (asked, where)
