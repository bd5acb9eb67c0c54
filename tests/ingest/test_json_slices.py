"""Documents of many samples: read many at a time, they say what they say to the standard library."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import ForelockError
from service.ingest.documents import json_slices, limits
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import Members, loads
from service.ingest.harnesses.samples import bound_samples
from tests.drawing import draws
from tests.ingest.mapped import header, mapping_for
from tests.ingest.truth import read

WANTED = Members({"id", "scores", "metadata"}, only=True)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**25), 10**25),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(['"}, {"id": "', "}, {", '\\"}, {"id"', "\ud800", "é", "\x00", "]"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "a", "scores"]), inner, max_size=3)
    ),
    max_leaves=6,
)
SAMPLES = st.lists(
    st.fixed_dictionaries({"id": LEAVES}, optional={"scores": VALUES, "other": VALUES, "metadata": VALUES}),
    min_size=1,
    max_size=40,
)


def same(one, other) -> bool:
    """Equal, NaN to NaN as well, and of the same types."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def wanted_of(found):
    return {name: value for name, value in found.items() if name in WANTED.names}


@settings(max_examples=draws(60))
@given(samples=SAMPLES, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_array_reads_as_the_standard_library_reads_it(samples, indent, ascii_only):
    written = json.dumps(samples, indent=indent, ensure_ascii=ascii_only)
    document = written.encode("utf-8", "surrogatepass")
    if "\ud800" in written:  # not UTF-8 at all
        with pytest.raises(ForelockError):
            list(json_slices.objects(document, 0, WANTED, "samples"))
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_slices, "_RUN", 60)
        patched.setattr(json_slices, "_WINDOW", 400)
        array = json_slices.Array(document + b"   ", 0, WANTED, "samples")
        found = list(array)
    assert array.position == len(document)
    assert len(found) == len(samples)
    for one, other in zip(found, json.loads(written), strict=True):
        assert same(wanted_of(one), wanted_of(other))


def test_samples_that_are_alike_are_read_together():
    calls = []

    class Counted(Members):
        def of_run(self, piece):
            calls.append(super().of_run(piece))
            return calls[-1]

    samples = [{"id": f"i{k}", "scores": {}, "messages": [{"id": k}, {"id": k}]} for k in range(5_000)]
    document = json.dumps(samples, indent=2).encode()
    found = list(json_slices.objects(document, 0, Counted({"id"}, only=True), "samples"))
    assert [each["id"] for each in found] == [f"i{k}" for k in range(5_000)]
    assert None not in calls
    assert sum(map(len, calls)) > 4_000


@pytest.mark.parametrize(
    "written", ["NaN", "1e999", '"\\ud800"', "12345678901234567890123", '{"a": 1, "a": 2}']
)
def test_value_reads_as_the_standard_library_reads_it(written):
    found = loads(written.encode(), "")
    assert same(found, json.loads(written))
    assert math.isnan(found) if written == "NaN" else found == json.loads(written)


SPACED = st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : ")])
TEXTS = st.lists(st.sampled_from(['"', "\\", "{", "]", "}", "[", "a", "é", "\n"]), max_size=9).map("".join)


@settings(max_examples=draws(150))
@given(
    value=st.recursive(
        TEXTS | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=12
    ),
    separators=SPACED,
    window=st.integers(1, 9),
    before=st.sampled_from(["", "  ", "[]"]),
)
def test_end_by_arrays_is_the_end_by_brackets(value, separators, window, before):
    written = json.dumps([value], separators=separators, ensure_ascii=False).encode()
    document = before.encode() + written + b', "]"}]'
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_slices, "_WINDOW", window)
        ends = []
        for few in (0, 10**9):
            patched.setattr(json_slices, "_FEW", few)
            ends.append(json_slices._end(document, len(before), "the file"))
            with pytest.raises(ForelockError, match="cut off"):
                json_slices._end(document[: len(before) + len(written) - 1], len(before), "the file")
    assert ends == [len(before) + len(written)] * 2


@pytest.mark.parametrize("unit", [b"[],", b"{},", b'"",', b"[[{}]],", b'"\\\\\\"",'])
def test_many_brackets_are_not_looked_at_one_by_one(monkeypatch, unit):
    """They were, at a microsecond each: half a megabyte in an archive held a process for two minutes."""
    looked, tokens = [], json_slices._TOKEN

    class Counting:
        def finditer(self, document, start):
            for token in tokens.finditer(document, start):
                looked.append(token.start())
                yield token

    monkeypatch.setattr(json_slices, "_TOKEN", Counting())
    document = b"[" + unit * 300_000 + b"1]"
    assert json_slices.whole(document, "the file") == 0
    assert len(looked) <= json_slices._FEW + 1


def test_object_with_more_members_than_a_run_has_around_its_samples_is_refused(monkeypatch):
    monkeypatch.setattr(json_slices.limits, "MOST_MEMBERS", 3)
    keys = [name for name, _, _ in json_slices.members(b'{"a":1,"b":2,"c":3}', 0, "the file")]
    assert keys == ["a", "b", "c"]
    with pytest.raises(ForelockError) as caught:
        list(json_slices.members(b'{"a":1,"b":2,"c":3,"d":4}', 0, "the file"))
    assert caught.value.problem_code == "import_too_large"


def lines_of(tmp_path, content):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(content)
    with ExitStack() as stack:
        return list(Files.at([path], stack).lines("lines.jsonl"))


def test_lines_are_numbered_whatever_blank_ones_stand_between_them(tmp_path):
    assert lines_of(tmp_path, b"\xef\xbb\xbf\n \t\n{}\n\r\n\n  []\r\n\n1") == [
        (3, b"{}"),
        (6, b"[]\r"),
        (8, b"1"),
    ]
    assert lines_of(tmp_path, b"\n" * 3_000_000 + b"1") == [(3_000_001, b"1")]
    assert lines_of(tmp_path, b" \n ") == []


def test_more_lines_and_samples_than_a_run_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_SAMPLES", 3)
    assert len(lines_of(tmp_path, b"{}\n" * 3)) == len(list(bound_samples(iter("abc")))) == 3
    for read_all in (lambda: lines_of(tmp_path, b"{}\n" * 4), lambda: list(bound_samples(iter("abcd")))):
        with pytest.raises(ForelockError) as caught:
            read_all()
        assert caught.value.problem_code == "import_too_large"


@pytest.mark.parametrize("few", [0, 10**9])
def test_depth_is_refused_however_the_end_is_looked_for(monkeypatch, few):
    monkeypatch.setattr(json_slices, "_FEW", few)
    deepest = json_slices._DEEPEST
    assert json_slices._end(b"[" * deepest + b"]" * deepest + b"[" * 9999, 0, "") == 2 * deepest
    with pytest.raises(ForelockError, match="too deeply"):
        json_slices._end(b"[" * (deepest + 1) + b"]" * (deepest + 1), 0, "")


def document(tail="}", samples='[{"id": "i0", "epoch": 1, "scores": {"match": {"value": "C"}}}]', head=None):
    return f'{(head or header())[:-1]}, "samples": {samples}{tail}'.encode()


def refused(tmp_path, content):
    path = tmp_path / "log.json"
    path.write_bytes(content)
    with pytest.raises(ForelockError) as caught:
        read([path], mapping_for("inspect"), "match", arm="baseline")
    assert caught.value.problem_code == "malformed_import"
    return caught.value.detail


@pytest.mark.parametrize(
    ("tail", "fault"),
    [
        ("", "cut off"),
        (", ", "cut off"),
        (', "reductions": [', "cut off"),
        ("} {}", "more than one"),
        (', "status": "error"}', "once more"),
        (', "samples": []}', "once more"),
    ],
)
def test_what_follows_the_samples_of_a_log_is_looked_at(tmp_path, tail, fault):
    assert fault in refused(tmp_path, document(tail))


def test_log_that_names_its_samples_first_is_read(tmp_path):
    path = tmp_path / "log.json"
    samples = '[{"id": "i0", "epoch": 1, "scores": {"match": {"value": "C"}}}]'
    path.write_text(f'{{"samples": {samples}, {header()[1:]}')
    assert read([path], mapping_for("inspect"), "match", arm="baseline").rows[0].values == [1.0]


def test_encoding_of_what_nobody_reads_counts_too(tmp_path):
    samples = '[{"id": "i0", "epoch": 1, "input": "é", "scores": {"match": {"value": "C"}}}]'
    whole = document(samples=samples)
    assert "UTF-8" in refused(tmp_path, whole.decode().encode("latin-1"))


def test_path_to_what_an_import_does_not_read_otherwise_is_read(tmp_path):
    samples = (
        '[{"id": 1, "input": "q", "my.key": {"x": "i9"}, "scores": {"match": {"value": "C", "answer": "a"}}}]'
    )
    path = tmp_path / "log.json"
    path.write_bytes(document(samples=samples))
    for item_id, found in (("input", "q"), ("my.key.x", "i9"), ("scores.match.answer", "a")):
        mapping = mapping_for("inspect", item_id=item_id, replicate="order")
        assert read([path], mapping, "match", arm="baseline").rows[0].item_ids == [found]
