"""A JSON object of columns is the table of its rows; what only looks like one is not taken for it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import ForelockError
from service.ingest.documents import columns_object
from service.ingest.documents.columns_object import columns_in

CELLS = st.one_of(st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.text(max_size=5))
TABLES = st.integers(0, 5).flatmap(
    lambda n: st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters='"\\'), max_size=8),
        st.lists(CELLS, min_size=n, max_size=n),
        min_size=1,
        max_size=5,
    )
)


@given(TABLES, st.sampled_from([None, 1]))
def test_columns_are_read_as_they_were_written(table, indent):
    plain = {name: cells for name, cells in table.items() if name not in columns_object._SINGULAR}
    if not plain:
        return
    for text in (json.dumps(plain, indent=indent), "\ufeff \n" + json.dumps(plain, ensure_ascii=False)):
        assert columns_in(text.encode()) == plain


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[[1]]",
        '{"a": 1}',
        '{"a": [1], "b": 2}',
        '{"tags": ["x"], "item_id": "q1", "value": 1}\n{"tags": ["y"], "item_id": "q2", "value": 0}',
        '{"results": {"a": [1]}}',
    ],
)
def test_rows_and_other_objects_are_none(text):
    assert columns_in(text.encode()) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": [1, 2], "b": [1]}', "'b' has 1 values where 'a' has 2"),
        ('{"a": [1], "a": [2]}', "'a' stands there twice"),
        ('{"a": [1], "b": [1', "cut off"),
        ('{"a": [1, }', "not JSON"),
        ('{"a": [1] "b": [2]}', "not JSON"),
        ('{"a": ["\udc80"]}', "not UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(text, said):
    with pytest.raises(ForelockError, match=said):
        columns_in(text.encode("utf-8", "surrogateescape"))


def test_the_names_of_requests_are_those_of_tables():
    text = '{"item_ids": ["a"], "values": [1], "value": [2], "clusters": ["c"]}'
    assert columns_in(text.encode()) == {"item_id": ["a"], "values": [1], "value": [2], "cluster": ["c"]}


def test_more_than_is_read_at_once_is_refused(monkeypatch):
    monkeypatch.setattr(columns_object, "MOST_BYTES", 100)
    with pytest.raises(ForelockError, match="object of columns"):
        columns_in(json.dumps({"a": [1] * 100}).encode())


def test_columns_whose_cells_go_by_rows_are_read_with_their_names():
    frame = {"gpt": {"q0": 1, "q1": 0, "q2": None}, "claude": {"q0": 1, "q2": 0}}  # as a data frame writes it
    read = {"Unnamed: 0": ["q0", "q1", "q2"], "gpt": [1, 0, None], "claude": [1, None, 0]}
    by_rows = {row: {name: frame[name].get(row) for name in frame} for row in ("q0", "q1", "q2")}
    assert columns_in(json.dumps(frame).encode()) == read
    assert columns_in(json.dumps(by_rows).encode()) == read  # of rows there are more


@pytest.mark.parametrize(
    "objects",
    [
        {"a": {"x": 1}, "b": 2},
        {"a": {"x": [1]}},
        {"a": {"x": {"y": 1}}},
        {"Unnamed: 0": {"x": 1}},
        {f"row {at}": {f"column {at}": 1} for at in range(99)},  # its table would have 9,801 cells
    ],
)
def test_other_objects_of_objects_are_none(objects):
    assert columns_in(json.dumps(objects).encode()) is None


def test_what_stands_there_twice_is_refused():
    with pytest.raises(ForelockError, match="'a' stands there twice"):
        columns_in(b'{"a": {"x": 1}, "a": {"x": 2}}')


@pytest.mark.parametrize("index", [[0, 1], ["x", "y"]])
def test_data_frames_are_read_as_pandas_writes_them(index):
    frame = {"columns": ["item_id", "gpt"], "index": index, "data": [["a", 1], ["b", None]]}
    rows = {"Unnamed: 0": index} if index != [0, 1] else {}
    read = {**rows, "item_id": ["a", "b"], "gpt": [1, None]}
    assert columns_in(json.dumps(frame).encode()) == read
    assert columns_in(json.dumps({name: frame[name] for name in ("columns", "data")}).encode()) == {
        "item_id": ["a", "b"],
        "gpt": [1, None],
    }
    schema = {"fields": [{"name": "index"}], "primaryKey": ["index"], "pandas_version": "1.4.0"}
    data = [
        {"index": at, "item_id": item, "gpt": cell}
        for at, (item, cell) in zip(index, frame["data"], strict=True)
    ]
    assert columns_in(json.dumps({"schema": schema, "data": data}).encode()) == read


@pytest.mark.parametrize(
    "other",
    [
        {"schema": {"fields": []}, "data": [[1]]},
        {"schema": {"fields": []}, "data": [], "more": 1},
        {"schema": {"fields": []}, "data": [{f"column {at}": 1} for at in range(99)]},
    ],
)
def test_what_only_begins_as_a_data_frame_is_none(other):
    assert columns_in(json.dumps(other).encode()) is None


def test_columns_that_are_called_as_parts_of_a_data_frame_are_columns():
    plain = {"columns": ["a", "b"], "data": [1, 0]}
    assert columns_in(json.dumps(plain).encode()) == plain
    with pytest.raises(ForelockError, match="column 'a' stands there twice"):
        columns_in(b'{"columns": ["a", "a"], "data": [[1, 0]]}')


@pytest.mark.parametrize("twice", ["schema", "data"])
def test_a_part_of_a_data_frame_that_is_there_twice_is_refused(twice):
    document = b'{"schema": {"fields": []}, "%s": 5, "data": [{"a": 1}]}' % twice.encode()
    with pytest.raises(ForelockError, match=f"'{twice}' stands there twice"):
        columns_in(document)
