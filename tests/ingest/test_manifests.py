"""Item manifests: every format says the same; ids keep their order."""

from __future__ import annotations

import json

import pytest

from service.errors import ForelockError, InvalidData, TooLarge
from service.ingest.manifests import parse

ROWS = [
    {"item_id": "q1", "cluster": "a", "stratum": "x"},
    {"item_id": "e\u0301", "cluster": "a", "stratum": "y"},
    {"item_id": "q/3", "cluster": "b", "stratum": "x"},
]
COLUMNS = {"item_ids": ["q1", "é", "q/3"], "clusters": ["a", "a", "b"], "strata": ["x", "y", "x"]}
BODIES = [
    (json.dumps(COLUMNS), "application/json"),
    (json.dumps(ROWS), "application/json"),
    ("\n".join(map(json.dumps, ROWS)), "application/x-ndjson"),
    ("item_id,cluster,stratum\nq1,a,x\né,a,y\nq/3,b,x\n", "text/csv"),
    ("stratum,item_id,cluster\r\nx,q1,a\r\ny,é,a\r\nx,q/3,b\r\n", "text/csv"),
]


def read(body, kind="application/json", max_items=100):
    return parse(
        body.encode() if isinstance(body, str) else json.dumps(body).encode(), kind, max_items=max_items
    )


@pytest.mark.parametrize(("body", "kind"), BODIES)
def test_formats_agree(body, kind):
    manifest = read(body, kind)
    assert manifest.item_ids == ("q1", "é", "q/3")
    assert manifest.clusters == ("a", "a", "b")
    assert manifest.strata == ("x", "y", "x")
    assert manifest.sha256() == read(COLUMNS).sha256()


@pytest.mark.parametrize(("body", "kind"), BODIES)
def test_more_items_than_allowed_are_too_many(body, kind):
    with pytest.raises(TooLarge):
        read(body, kind, max_items=2)


def test_clusters_and_strata_are_optional():
    for body, kind in (
        ({"item_ids": ["q1"]}, "application/json"),
        ({"item_ids": ["q1"], "clusters": None}, "application/json"),
        ([{"item_id": "q1"}], "application/json"),
        ("item_id,cluster\nq1,\n", "text/csv"),
    ):
        manifest = read(body, kind)
        assert (manifest.clusters, manifest.strata) == (None, None)


@pytest.mark.parametrize(
    ("body", "path", "fault"),
    [
        ([{"item_id": "q1", "cluster": "a"}, {"item_id": "q2"}], "cluster", "row 2 is missing"),
        ([{"item_id": "q1", "cluster": "a"}, {"cluster": "a"}], "item_id", "row 2 is missing"),
        ([{"cluster": "a"}], "item_id", "row 1 is missing"),
        ({"item_ids": [1]}, "item_ids", "row 1 is not a string"),
        ({"item_ids": ["q1"], "clusters": [["a"]]}, "clusters", "row 1 is not a string"),
        ({"clusters": ["a"]}, "item_ids", "is missing"),
        ({"item_ids": []}, "item_ids", "holds no item"),
        ({"item_ids": "q1"}, "item_ids", "is not an array"),
        ({"item_ids": ["q1"], "arm": "C1"}, "arm", "is not a field of this body"),
        ({"item_ids": ["q1"], "clusters": ["a", "b"]}, "clusters", "has 2 values where item_ids has 1"),
    ],
)
def test_faults_name_field_and_row(body, path, fault):
    with pytest.raises(InvalidData) as caught:
        read(body)
    assert [(each.path, each.message) for each in caught.value.faults] == [(path, fault)]


def test_an_id_twice_is_refused_after_normalisation():
    with pytest.raises(ForelockError):
        read({"item_ids": ["é", "e\u0301"]})


def test_a_fault_of_the_whole_body_begins_with_what_is_the_matter():
    with pytest.raises(InvalidData) as refused:
        read("item\nq1\n", "text/csv")
    assert refused.value.detail == "column 1 of the header is not known"


def test_hashes_of_content_are_part_of_what_is_locked_and_a_list_without_them_keeps_its_hash():
    digests = ["0f" * 32, "a1" * 32, "b2" * 32]
    pinned = read(COLUMNS | {"content_sha256": digests})
    assert pinned.content_sha256 == tuple(digests)
    rows = [row | {"content_sha256": digest} for row, digest in zip(ROWS, digests, strict=True)]
    assert read(rows) == pinned
    # computed by hand from the canonical text, of a list as it was before there were such hashes
    assert read(COLUMNS).canonical_bytes() == (
        '{"clusters":["a","a","b"],"item_ids":["q1","é","q/3"],"strata":["x","y","x"]}'.encode()
    )
    assert (
        pinned.canonical_bytes()
        == (
            f'{{"clusters":["a","a","b"],"content_sha256":{json.dumps(digests, separators=(",", ":"))},'
            '"item_ids":["q1","é","q/3"],"strata":["x","y","x"]}'
        ).encode()
    )
    for wrong in ("0F" * 32, "0f" * 31, "x" * 64):
        with pytest.raises(InvalidData) as refused:
            read(COLUMNS | {"content_sha256": [*digests[:2], wrong]})
        assert "content_sha256[2]" in str(refused.value)
    with pytest.raises(ForelockError):
        read([rows[0], ROWS[1], rows[2]])
