"""Item manifests."""

from __future__ import annotations

import hashlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.canonical import canonical
from service.domain.plans.manifest import Manifest
from service.errors import InvalidData

IDS = st.lists(
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6), min_size=1, max_size=8
)


@given(IDS, st.booleans(), st.booleans())
def test_hash_is_that_of_the_canonical_columns(ids, clustered, stratified):
    labels = [f"g\n{len(each)}" for each in ids]
    try:
        manifest = Manifest.create(ids, labels if clustered else None, labels if stratified else None)
    except InvalidData:
        assert len({canonical(each) for each in ids}) < len(ids)
        return
    columns = {
        "item_ids": ids,
        "clusters": labels if clustered else None,
        "strata": labels if stratified else None,
    }
    present = {name: column for name, column in columns.items() if column is not None}
    assert manifest.sha256() == hashlib.sha256(canonical(present)).hexdigest()


def test_order_clusters_and_strata_change_the_hash():
    ids = ["a", "b"]
    hashes = {
        Manifest.create(ids).sha256(),
        Manifest.create(ids[::-1]).sha256(),
        Manifest.create(ids, ["x", "x"]).sha256(),
        Manifest.create(ids, None, ["x", "x"]).sha256(),
        Manifest.create(ids, ["x", "y"]).sha256(),
    }
    assert len(hashes) == 5


def test_facts_count_clusters_by_first_appearance():
    facts = Manifest.create(["a", "b", "c", "d"], ["late", "early", "late", "late"]).facts()
    assert (facts.n, facts.n_clusters, facts.cluster_sizes) == (4, 2, (3, 1))
    assert Manifest.create(["a"]).facts().n_clusters is None


def test_positions_are_those_of_the_manifest_in_any_normalisation():
    manifest = Manifest.create(["b/1", "cafe\u0301", "a"])
    assert [manifest.position(each) for each in ("b/1", "café", "cafe\u0301", "a", "z")] == [0, 1, 1, 2, None]
    assert dict(manifest.positions) == {"b/1": 0, "café": 1, "a": 2}


@pytest.mark.parametrize(
    ("columns", "path"),
    [
        (([],), "item_ids"),
        ((["a", "a"],), "item_ids[1]"),
        ((["café", "cafe\u0301"],), "item_ids[1]"),
        ((["a", ""],), "item_ids[1]"),
        ((["a" * 513],), "item_ids[0]"),
        ((["a", "b"], ["x"]), "clusters"),
        ((["a", "b"], None, ["x", ""]), "strata[1]"),
        (("ab",), "item_ids"),
        (([1, 2],), "item_ids"),
        ((["\ud800"],), "item_ids"),
    ],
)
def test_faulty_columns_are_refused_by_position(columns, path):
    with pytest.raises(InvalidData) as refused:
        Manifest.create(*columns)
    assert refused.value.faults[0].path == path


def test_ids_of_512_characters_pass():
    assert Manifest.create(["a" * 512]).n == 1


def test_travels_to_another_process_without_its_index():
    manifest = Manifest.create(["a", "b"], ["x", "y"])
    before = len(pickle.dumps(manifest))
    assert manifest.position("b") == 1
    assert manifest.sha256()
    assert len(pickle.dumps(manifest)) == before
    assert pickle.loads(pickle.dumps(manifest)) == manifest
