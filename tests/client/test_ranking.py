"""A table of several arms becomes the leaderboard's request, long or wide; what is no such table is refused by line."""

from __future__ import annotations

import pytest

from forelock.hints import Refused
from forelock.problem import FileFault
from forelock.ranking import request_of

LONG = "item_id,arm,value,cluster\na,x,1,p\na,y,0,p\nb,y,.5,q\nb,x,1,q\n"
WIDE = "item_id,x,y,cluster\na,1,0,p\nb,1,.5,q\n"
ASKED = {"arms": {"x": [1, 1], "y": [0, 0.5]}, "clusters": ["p", "q"]}


@pytest.fixture
def asked(tmp_path):
    def read(content):
        path = tmp_path / "results.csv"
        path.write_text(content, "utf-8")
        return request_of(str(path))[0]

    return read


@pytest.mark.parametrize("content", [LONG, WIDE, LONG.replace(",", ";"), WIDE.replace(",", "\t")])
def test_long_and_wide_tables_of_any_separator_ask_the_same(asked, content):
    assert asked(content) == ASKED


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (WIDE.splitlines()[0], "holds no row"),
        (WIDE + "c,1\n", "line 4: has 2 cells and the header 4"),
        (WIDE.replace("y", "x"), "names the column 'x' twice"),
        (WIDE + "c,1,one,p\n", "line 4: y is no number"),
        (WIDE + "c,1,True,p\n", "line 4: y is no number; write 1 for right and 0 for wrong"),
        (WIDE + 'c,1,"0,5",p\n', "line 4: y is no number; write it with a point"),
        (WIDE + "c,1,1_0,p\n", "line 4: y is no number"),
        (WIDE + "c,1,٣,p\n", "line 4: y is no number"),
        (",item_id,x,y\n0,a,1,0\n", "a column without a name, as data frames write their index"),
        ("Unnamed: 0,item_id,x,y\n0,a,1,0\n", "a column without a name"),
        (WIDE + "c,1,1,\n", "line 4 has no cluster"),
        ("item_id,x\na,1\n", "a column for each of two arms"),
        (LONG + "a,x,1,p\n", "line 6: has item 'a' of arm 'x' again"),
        (LONG + "c,x,1,p\n", "arm 'y' lacks item 'c'"),
        (LONG + "c,,1,p\n", "line 6: has no arm"),
        (LONG + "a,z,1,q\n", "line 6: puts item 'a' into another cluster"),
        (LONG + "c,x,inf,p\nc,y,1,p\n", "line 6: value is no number"),
    ],
)
def test_what_is_no_such_table_is_refused_by_line(asked, content, says):
    with pytest.raises(FileFault, match=says):
        asked(content)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (
            "id,model,score,cluster",
            ["item_id is the column id, arm is the column model, value is the column score"],
        ),
        (
            "Item ID,arm,value,conversation",
            ["item_id is the column Item ID", "not read: conversation; if items of one"],
        ),
    ],
)
def test_columns_of_other_names_are_taken_where_they_are_plain_and_that_is_said(tmp_path, header, said):
    path = tmp_path / "results.csv"
    path.write_text(LONG.replace("item_id,arm,value,cluster", header))
    found, remarks = request_of(str(path))
    assert found["arms"] == ASKED["arms"]
    assert ("clusters" in found) == header.endswith("cluster")
    assert len(remarks) == len(said)
    assert all(words in remark for words, remark in zip(said, remarks, strict=True))


def test_columns_are_named_where_several_could_be_meant(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text(LONG.replace("item_id,arm,value,cluster", "id,arm,value,task_id"))
    with pytest.raises(Refused, match="it has id, arm, value, task_id") as refused:
        request_of(str(path))
    assert next(way.option for way in refused.value.ways) == "--set item_id=id"
    assert request_of(str(path), refused.value.ways[0].asked)
    given = {"item_id": "id", "cluster": "task_id"}
    assert request_of(str(path), given) == (ASKED, ())
    with pytest.raises(FileFault, match="has no column 'nowhere'; it has id"):
        request_of(str(path), {"item_id": "nowhere"})
    with pytest.raises(FileFault, match="--set takes COLUMN of item_id, arm, value, cluster"):
        request_of(str(path), given | {"weight": "id"})
