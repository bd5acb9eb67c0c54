from __future__ import annotations

import io
import sys

import pytest

from forelock import FileFault, files
from forelock.result_files import read_parts, require_distinct

NOTHING: dict[str, str | None] = {}
CALL = {"arm": "bm25", "endpoint": "hit"}


def read_results(path, given, *, column=None):
    return [part.results for part in read_parts(path, given, column=column)]


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
    (results,) = read_results(file(name, content), NOTHING)
    assert (results.arm, results.endpoint) == ("bm25", "hit")
    assert results.item_ids == ["a/b", "ü"]
    assert results.values == [1, 0]
    assert results.status is None


def test_a_file_with_several_arms_becomes_several_results(file):
    path = file("r.csv", "arm,endpoint,item_id,value\nA,hit,x,1\nB,hit,x,0\nA,hit,y,0\nA,rank,x,.5\n")
    found = read_results(path, NOTHING)
    assert [(each.arm, each.endpoint, each.item_ids) for each in found] == [
        ("A", "hit", ["x", "y"]),
        ("B", "hit", ["x"]),
        ("A", "rank", ["x"]),
    ]


def test_the_call_names_what_the_file_does_not(file):
    (results,) = read_results(file("r.csv", "item_id,value\nx,1\n"), {**CALL, "population": "p", "run": "7"})
    assert (results.population, results.arm, results.endpoint, results.run) == ("p", "bm25", "hit", "7")


def test_a_column_can_be_named_and_others_stay_home(file):
    path = file("r.csv", "item_id,answer,bm25.hit,words.hit\nx,secret text,0,1\n")
    (results,) = read_results(path, CALL, column="words.hit")
    assert results.values == [1]


def test_statuses_and_replicates(file):
    path = file("r.csv", "item_id,value,status,replicate\nx,,error,1\nx,0.5,,2\n")
    (results,) = read_results(path, CALL)
    assert results.values == [None, 0.5]
    assert results.status == ["error", "ok"]
    assert results.replicates == [1, 2]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("r.txt", "item_id,value\nx,1\n", "name it .csv"),
        ("r.csv", "item_id,value\n", "holds no result"),
        ("r.csv", "item_id,answer,score\nx,why,1\n", r"line 2: there is no value; .*--column answer"),
        ("r.csv", "item_id,arm\nx,bm25\n", "line 2: there is no value; add a column value"),
        ("r.csv", "item_id,value\nx,1,2\n", "line 2: has 3 cells and the header 2"),
        ("r.csv", "item_id,value\nx\n", "line 2: has 1 cells and the header 2"),
        ("r.csv", 'item_id,value\n"x,1\n', "is not CSV"),
        ("r.csv", "item_id,value,value\nx,1,1\n", "names the column 'value' twice"),
        (
            "r.csv",
            "q1,1\nq2,0\n",
            "line 1: is no header with a column item_id; write one, such as item_id,value",
        ),
        ("r.csv", "item,score\nx,1\n", "line 1: is no header .* rename 'item' to item_id"),
        ("r.csv", "item,value\nx,1\n", "there is no item_id; rename 'item' to item_id"),
        (
            "r.csv",
            "item_id,value\nx,1\ny,yes\n",
            r"line 3 \(arm 'bm25'\): value 'yes' is not a number; write 1 for",
        ),
        ("r.csv", "item_id,value\nx,TRUE\n", "'TRUE' is not a number; write 1 for right and 0 for wrong"),
        ("r.csv", "item_id;value\nx;1,0\n", "line 2 .*'1,0' is not a number; write a decimal point"),
        (
            "r.csv",
            "item_id,value\nx,100%\n",
            "'100%' is not a number; write a proportion or a score, without",
        ),
        ("r.csv", "item_id,value\nx,NA\n", "'NA' is not a number; leave it empty and add a column status"),
        ("r.csv", "item_id,value\nx,nan\n", "'nan' is not a number; leave it empty and add a column status"),
        ("r.csv", "item_id,value\nx,1_0\n", "'1_0' is not a number"),
        ("r.csv", "item_id,value\nx,\n", "value is empty; give it, or a column status"),
        ("r.csv", "item_id,value,status\nx,1,error\n", "has a value beside a status that is not ok"),
        ("r.csv", "item_id,value,status\nx,1,fine\n", "status 'fine' is none of ok, error, missing"),
        ("r.csv", "item_id,value\n,1\n", r"line 2 \(arm 'bm25'\): has no item_id"),
        (
            "r.csv",
            "item_id,value,replicate\nx,1,one\n",
            "line 2 .*replicate 'one' is not a whole number from 1",
        ),
        ("r.csv", "item_id,value,replicate\nx,1,0\n", "replicate '0' is not a whole number from 1"),
        ("r.csv", "item_id,value,arm\nx,1,words\n", r"line 2: names another arm \('words'\) than --arm"),
        ("r.csv", b"item_id,value\nx,1\n\xff,1\n", "line 3: is not UTF-8"),
        ("r.ndjson", '{"item_id": "y", "value": 1}\n{"item_id": "x"\n', "line 2, column 16: is not JSON"),
        ("r.ndjson", "3\n", "line 1: is not a JSON object"),
        (
            "r.json",
            '[{"item_id": "x", "value": true}]',
            "entry 1 .*'True' is not a number; write 1 for right",
        ),
        ("r.json", '[{"item_id": "x", "value": Infinity}]', "entry 1 .*is not a number; leave it empty"),
        ("r.json", '[{"item_id": 3, "value": 1}]', "not a string"),
        ("r.json", '[\n {"item_id": "x"\n  "value": 1}]', "line 3, column 3: is not JSON"),
        ("r.json", '{"item_ids": ["x"], "values": [1, 2]}', "lists of one length"),
        ("r.json", '{"item_ids": "x", "values": [1]}', "lists of one length"),
        ("r.json", '{"item_ids": ["x"], "value": [1]}', "unknown fields value"),
    ],
)
def test_faults_say_where_and_what_to_write(file, name, content, sentence):
    with pytest.raises(FileFault, match=sentence):
        read_results(file(name, content), CALL)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_read(file, separator):
    (results,) = read_results(file("r.csv", f"item_id{separator}value\nx{separator}0.5\n"), CALL)
    assert (results.item_ids, results.values) == (["x"], [0.5])


def test_columns_that_nobody_asked_for_stay_home(file):
    (part,) = read_parts(file("r.csv", "item_id,value,answer,latency\nx,1,secret text,3\n"), CALL)
    assert (part.results.values, part.unused) == ([1], ("answer", "latency"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", "item_id,value,status\nx,0.7351,error\n"),
        ("r.csv", "item_id,value,replicate\nx,0.7351,first\n"),
        ("r.csv", "item_id,value\nx,0.7351\ny,yes\n"),
        ("r.csv", "item_id,value\n,0.7351\n"),
        ("r.ndjson", '{"item_id": "x", "value": 0.7351]\n'),
    ],
)
def test_faults_never_tell_a_value_that_is_one(file, name, content):
    with pytest.raises(FileFault) as caught:
        read_results(file(name, content), CALL)
    assert "0.7351" not in str(caught.value)


def test_two_lines_about_one_item_are_told_apart(file):
    first = read_parts(file("a.csv", "item_id,value\nx,1\ny,1\n"), CALL)
    second = read_parts(file("b.csv", "item_id,value\nz,1\nx,0\n"), CALL)
    with pytest.raises(
        FileFault, match=r"b\.csv line 3 \(arm 'bm25'\): repeats .*a\.csv line 2 \(item 'x'\)"
    ):
        require_distinct([*first, *second])
    other_arm = read_parts(file("c.csv", "item_id,value\nx,1\n"), {**CALL, "arm": "words"})
    replicates = read_parts(file("d.csv", "item_id,value,replicate\nx,1,2\n"), CALL)
    require_distinct([*first, *other_arm, *replicates])


@pytest.mark.parametrize("missing", ["arm", "endpoint"])
def test_arm_and_endpoint_are_needed(file, missing):
    given = {name: value for name, value in CALL.items() if name != missing}
    with pytest.raises(FileFault, match=f"names no {missing}"):
        read_results(file("r.csv", "item_id,value\nx,1\n"), given)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileFault, match=r"nowhere\.json: No such file"):
        files.read_object(str(tmp_path / "nowhere.json"))


def test_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}')))
    assert files.read_object("-") == {"a": 1}


def test_a_plan_is_an_object(file):
    with pytest.raises(FileFault, match="does not hold a JSON object"):
        files.read_object(file("plan.json", "[]"))


@pytest.mark.parametrize("content", ['{"n": NaN}', '{"n": Infinity}'])
def test_a_plan_holds_no_number_that_json_has_not(file, content):
    with pytest.raises(FileFault, match="no JSON number"):
        files.read_object(file("plan.json", content))
