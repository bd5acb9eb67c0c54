from __future__ import annotations

import json

import pytest

from forelock.item_files import read_items
from forelock.problem import FileFault
from service.ingest.manifests import parse


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "item_id,cluster,note\nq1,c1,x\nq2,c1,\n"),
        ("a.csv", "\ufeffcluster;item_id\nc1;q1\nc1;q2\n"),
        ("a.tsv", "item_id\tcluster\nq1\tc1\nq2\tc1\n"),
        ("a.ndjson", '{"item_id": "q1", "cluster": "c1"}\n{"item_id": "q2", "cluster": "c1"}\n'),
        ("a.json", '[{"item_id": "q1", "cluster": "c1"}, {"item_id": "q2", "cluster": "c1"}]'),
        ("a.json", '{"item_ids": ["q1", "q2"], "clusters": ["c1", "c1"]}'),
    ],
)
def test_every_form_holds_the_same_items(tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="utf-8")
    body = read_items(str(tmp_path / name)).body()
    assert json.loads(body) == {"item_ids": ["q1", "q2"], "clusters": ["c1", "c1"]}
    assert parse(body, "application/json", max_items=9).n == 2


def test_other_columns_stay_at_home_and_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("item_id,note,cluster\nq1,x,\n")
    items = read_items(str(tmp_path / "a.csv"))
    assert items.columns == {"item_ids": ["q1"]}
    assert items.unused == ("note",)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "", "holds no item"),
        ("a.csv", "item_id\n", "holds no item"),
        ("a.csv", "item\nq1\n", "line 1: is no header with a column item_id; rename 'item' to item_id"),
        (
            "a.csv",
            "q1\nq2\n",
            "line 1: is no header with a column item_id; write one, such as item_id,cluster",
        ),
        ("a.csv", "id,cluster\nq1,c\n", "line 2: there is no item_id; rename 'id' to item_id"),
        ("a.csv", "item_id\nq1\nq2\nq1\n", "line 4: repeats line 2 (item 'q1'); name every item once"),
        ("a.csv", "item_id,cluster\nq1,c\nq2,\n", "line 3: has no cluster; other rows do"),
        ("a.csv", "item_id,cluster\n,c\n", "line 2: has no item_id"),
        ("a.ndjson", '{"item_id": 7}', "line 1: item_id is not a string; write it in quotes"),
        ("a.json", '{"item_ids": ["q1"], "values": [1]}', "unknown fields values"),
        ("a.txt", "q1", "name it .csv"),
    ],
)
def test_a_fault_names_its_line(tmp_path, name, content, says):
    (tmp_path / name).write_text(content)
    with pytest.raises(FileFault) as fault:
        read_items(str(tmp_path / name))
    assert says in str(fault.value)
