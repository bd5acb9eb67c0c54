"""Documents of many samples: read many at a time, they say what they say to the standard library."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import ForelockError
from service.ingest.harnesses import json_slices
from service.ingest.harnesses.json_values import Members, loads
from tests.ingest.test_hostile_files import header, mapping_for
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


@settings(max_examples=60)
@given(samples=SAMPLES, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
def test_array_reads_as_the_standard_library_reads_it(samples, indent, ascii_only):
    written = json.dumps(samples, indent=indent, ensure_ascii=ascii_only)
    document = written.encode("utf-8", "surrogatepass")
    if "\ud800" in written:  # not UTF-8 at all
        with pytest.raises(ForelockError):
            list(json_slices.each(document, 0, WANTED, "samples"))
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
    found = list(json_slices.each(document, 0, Counted({"id"}, only=True), "samples"))
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
