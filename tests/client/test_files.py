from __future__ import annotations

import io
import sys

import pytest

from forelock import FileFault, files

NOTHING: dict[str, str | None] = {}
CALL = {"arm": "bm25", "endpoint": "hit"}


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", "arm,endpoint,item_id,value\nbm25,hit,a/b,1\nbm25,hit,ü,0\n"),
        ("r.csv", "\ufeffarm,endpoint,item_id,value\r\nbm25,hit,a/b,1\r\nbm25,hit,ü,0\r\n"),
        (
            "r.ndjson",
            '{"arm":"bm25","endpoint":"hit","item_id":"a/b","value":1}\n\n'
            '{"arm":"bm25","endpoint":"hit","item_id":"ü","value":0}\n',
        ),
        (
            "r.json",
            '[{"arm":"bm25","endpoint":"hit","item_id":"a/b","value":1},'
            '{"arm":"bm25","endpoint":"hit","item_id":"ü","value":0}]',
        ),
        ("r.json", '{"arm":"bm25","endpoint":"hit","item_ids":["a/b","ü"],"values":[1,0]}'),
    ],
)
def test_every_format_reads_the_same(file, name, content):
    (results,) = files.read_results(file(name, content), NOTHING)
    assert (results.arm, results.endpoint) == ("bm25", "hit")
    assert results.item_ids == ["a/b", "ü"]
    assert results.values == [1, 0]
    assert results.status is None


def test_a_file_with_several_arms_becomes_several_results(file):
    path = file("r.csv", "arm,endpoint,item_id,value\nA,hit,x,1\nB,hit,x,0\nA,hit,y,0\nA,rank,x,.5\n")
    found = files.read_results(path, NOTHING)
    assert [(each.arm, each.endpoint, each.item_ids) for each in found] == [
        ("A", "hit", ["x", "y"]),
        ("B", "hit", ["x"]),
        ("A", "rank", ["x"]),
    ]


def test_the_call_names_what_the_file_does_not(file):
    (results,) = files.read_results(
        file("r.csv", "item_id,value\nx,1\n"), {**CALL, "population": "p", "run": "7"}
    )
    assert (results.population, results.arm, results.endpoint, results.run) == ("p", "bm25", "hit", "7")


def test_a_column_can_be_named_and_others_stay_home(file):
    path = file("r.csv", "item_id,answer,bm25.hit,words.hit\nx,secret text,0,1\n")
    (results,) = files.read_results(path, CALL, column="words.hit")
    assert results.values == [1]


def test_statuses_and_replicates(file):
    path = file("r.csv", "item_id,value,status,replicate\nx,,error,1\nx,0.5,,2\n")
    (results,) = files.read_results(path, CALL)
    assert results.values == [None, 0.5]
    assert results.status == ["error", "ok"]
    assert results.replicates == [1, 2]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("r.txt", "item_id,value\nx,1\n", "name it .csv"),
        ("r.csv", "item_id,value\n", "holds no result"),
        ("r.csv", "item_id,value,answer\nx,1,why\n", r"unknown fields answer; .*--column"),
        ("r.csv", "item_id,value\nx,1,2\n", "line 2 has another length"),
        ("r.csv", "item_id,value\nx\n", "line 2 has another length"),
        ("r.csv", 'item_id,value\n"x,1\n', "is not CSV"),
        ("r.csv", "item_id,value\nx,yes\n", "value of result 1 is not a number"),
        ("r.csv", "item_id,value\nx,nan\n", "value of result 1 is not a number"),
        ("r.csv", "item_id,value\n,1\n", "result 1 has no item_id"),
        ("r.csv", "item_id,value,replicate\nx,1,one\n", "replicate is not a whole number"),
        ("r.csv", "item_id,value,arm\nx,1,words\n", "names another arm than the call"),
        ("r.csv", b"item_id,value\n\xff,1\n", "is not UTF-8"),
        ("r.ndjson", '{"item_id": "x"\n', "line 1: is not JSON"),
        ("r.ndjson", "3\n", "does not hold JSON objects"),
        ("r.json", '[{"item_id": "x", "value": true}]', "value of result 1 is not a number"),
        ("r.json", '[{"item_id": "x", "value": Infinity}]', "value of result 1 is not a number"),
        ("r.json", '[{"item_id": 3, "value": 1}]', "not a string"),
        ("r.json", '{"item_ids": ["x"], "values": [1, 2]}', "lists of one length"),
        ("r.json", '{"item_ids": "x", "values": [1]}', "lists of one length"),
        ("r.json", '{"item_ids": ["x"], "value": [1]}', "unknown fields value"),
    ],
)
def test_faults_say_where(file, name, content, sentence):
    with pytest.raises(FileFault, match=sentence):
        files.read_results(file(name, content), CALL)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", "item_id,value\nx,SECRET\n"),
        ("r.json", '[{"item_id": "x", "value": "SECRET"}]'),
        ("r.ndjson", '{"item_id": "x", "value": SECRET}\n'),
        ("r.csv", "item_id,value,replicate\nx,1,SECRET\n"),
    ],
)
def test_faults_never_tell_a_value(file, name, content):
    with pytest.raises(FileFault) as caught:
        files.read_results(file(name, content), CALL)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("missing", ["arm", "endpoint"])
def test_arm_and_endpoint_are_needed(file, missing):
    given = {name: value for name, value in CALL.items() if name != missing}
    with pytest.raises(FileFault, match=f"names no {missing}"):
        files.read_results(file("r.csv", "item_id,value\nx,1\n"), given)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileFault, match=r"nowhere\.json: No such file"):
        files.read_object(str(tmp_path / "nowhere.json"))


def test_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}')))
    assert files.read_object("-") == {"a": 1}


def test_a_plan_is_an_object(file):
    with pytest.raises(FileFault, match="does not hold a JSON object"):
        files.read_object(file("plan.json", "[]"))
