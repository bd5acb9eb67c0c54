"""Lists of items read piece by piece, against reading them whole."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forelock.bundles import manifests
from forelock.bundles.container import Reader, Writer
from forelock.bundles.faults import Broken
from service.domain.plans.manifest import Manifest
from service.errors import InvalidData


def counted(data: bytes) -> int:
    file = io.BytesIO()
    writer = Writer(file)
    writer.add("manifests/0.json", data)
    writer.end()
    return manifests.count_items(Reader(file), "manifests/0.json")


TEXTS = st.text(min_size=1, max_size=12)


@given(
    st.lists(TEXTS, min_size=1, max_size=30, unique=True),
    st.sampled_from([1, 2, 5, 64, 1 << 18]),
    st.booleans(),
)
def test_what_the_service_writes_is_counted(ids: list[str], piece: int, clusters: bool) -> None:
    try:
        manifest = Manifest.create(ids, ['c, "]'] * len(ids) if clusters else None)
    except InvalidData:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifests, "PIECE", piece)
        assert counted(manifest.canonical_bytes()) == manifest.n


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"item_ids": ["a", 1]},
        {"item_ids": ["a", ["b"]]},
        {"item_ids": "a"},
        {"items": ["a"]},
        {"clusters": ["a"]},
        {"item_ids": ["a"], "clusters": ["a", "b"]},
        {"item_ids": ["a"], "other": []},
    ],
)
def test_what_is_no_list_of_items_is_refused(value: Any) -> None:
    with pytest.raises(Broken):
        counted(json.dumps(value, separators=(",", ":"), sort_keys=True).encode())


def test_a_string_that_no_item_has_is_not_waited_for() -> None:
    with pytest.raises(Broken):
        counted(b'{"item_ids":["' + b"a" * 600_000 + b'"]}')


@pytest.mark.parametrize(
    "data",
    [
        b'{"item_ids": ["a"]}', b'{"item_ids":["a","b"]} ', b'{"item_ids":["a","b",]}',
        b'{"item_ids":["a""b"]}', b'{"item_ids":["a"]', b'{"item_ids":["a', b'{"item_ids":["\\u0061"]}',
        b'{"item_ids":["\\/"]}', b'{"item_ids":["\\ud800"]}', b'{"item_ids":["\xff"]}',
        b'{"item_ids":["a\n"]}', b'{"item_ids":["a"],"clusters":["b"]}',
        b'{"clusters":["a"],"clusters":["a"],"item_ids":["a"]}',
    ],
)  # fmt: skip
def test_another_spelling_is_refused(data: bytes) -> None:
    with pytest.raises(Broken):
        counted(data)
