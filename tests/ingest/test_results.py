"""Batches of results: every format says the same, and nothing but a plain fault ever comes back."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import tracemalloc
import unicodedata

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.domain.results.batches import ReceivedBatch
from service.domain.results.secret_rows import NO_TIME
from service.errors import ForelockError, InvalidData, MalformedBody, TooLarge, UnsupportedMediaType
from service.ingest.results import parse

JSON, NDJSON, CSV = "application/json", "application/x-ndjson", "text/csv"
COLUMNS = {"arm": "C1", "endpoint": "accuracy", "item_ids": ["q1", "q2"], "values": [1, 0]}
ROW = {"arm": "C1", "endpoint": "accuracy", "item_id": "q1", "value": 1}
PLURAL = {"item_id": "item_ids", "value": "values", "replicate": "replicates"}
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SCALARS = ("population", "arm", "endpoint", "run")


def read(body, content_type=JSON, max_items=1000):
    raw = (
        body
        if isinstance(body, bytes)
        else body.encode()
        if isinstance(body, str)
        else json.dumps(body).encode()
    )
    return parse(raw, content_type, max_items=max_items)


def refused(body, content_type=JSON, error=InvalidData, **options):
    with pytest.raises(error) as caught:
        read(body, content_type, **options)
    return caught.value


def told(error):
    return [(fault.path, fault.message) for fault in error.faults]


def as_columns(rows):
    first = rows[0]
    document = {name: first[name] for name in SCALARS if name in first}
    for name in first:
        if name not in SCALARS:
            document[PLURAL.get(name, name)] = [row[name] for row in rows]
    return json.dumps(document).encode()


def as_csv(rows):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(rows[0])
    writer.writerows([["" if cell is None else cell for cell in row.values()] for row in rows])
    return text.getvalue().encode()


def posted_every_way(rows):
    yield as_columns(rows), JSON
    yield json.dumps(rows).encode(), "application/json; charset=utf-8"
    yield b"".join(json.dumps(row).encode() + b"\n" for row in rows), NDJSON
    yield b"\r\n\r\n".join(json.dumps(row).encode() for row in rows), "application/jsonlines"
    yield as_csv(rows), CSV
    yield b"\xef\xbb\xbf" + as_csv(rows), "text/csv; header=present"


def contents(batch: ReceivedBatch):
    return (
        (batch.population, batch.arm, batch.endpoint, batch.run, batch.item_ids),
        [None if math.isnan(value) else value for value in batch.rows.values],
        batch.rows.statuses.tolist(),
        batch.replicates.tolist(),
        None if batch.rows.observed_at is None else batch.rows.observed_at.tolist(),
    )


def test_columns_are_read():
    batch = read({**COLUMNS, "values": [0.25, None], "status": ["ok", "missing"], "run": "r1"})
    assert contents(batch) == (
        (None, "C1", "accuracy", "r1", ("q1", "q2")),
        [0.25, None],
        [0, 2],
        [1, 1],
        None,
    )
    assert batch.rows.values.dtype == np.float64
    assert batch.rows.statuses.dtype == np.uint8
    assert batch.replicates.dtype == np.uint16


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
ROWS = st.builds(
    lambda scalars, times, rows: [
        {
            **scalars,
            "item_id": item_id,
            "value": value if status in (None, "ok") else None,
            "replicate": replicate,
            "status": status,
            **({"observed_at": "2027-01-31T12:00:00.5+02:00"} if times else {}),
        }
        for item_id, value, replicate, status in rows
    ],
    st.fixed_dictionaries({"population": TEXT, "arm": TEXT, "endpoint": TEXT, "run": TEXT}),
    st.booleans(),
    st.lists(
        st.tuples(
            TEXT,
            st.floats(allow_nan=False, allow_infinity=False),
            st.integers(1, 65535),
            st.sampled_from(["ok", "error", "missing", None]),
        ),
        min_size=1,
        max_size=8,
    ),
)


@PATIENT
@given(ROWS)
def test_formats_of_the_same_rows_agree(rows):
    expected, *others = (contents(read(body, kind)) for body, kind in posted_every_way(rows))
    assert all(other == expected for other in others)
    assert expected[0][4] == tuple(unicodedata.normalize("NFC", row["item_id"]) for row in rows)


@PATIENT
@given(st.binary(max_size=200), st.sampled_from([JSON, NDJSON, CSV]))
def test_arbitrary_bytes_raise_only_our_errors(body, kind):
    with pytest.raises(ForelockError):
        read(body, kind)


JSON_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@PATIENT
@given(
    st.dictionaries(
        st.sampled_from([*SCALARS, "item_ids", "values", "replicates", "status", "observed_at"]), JSON_VALUE
    ),
    st.lists(
        st.dictionaries(st.sampled_from(["arm", "item_id", "value", "status", "x"]), JSON_VALUE), max_size=3
    ),
)
def test_odd_json_raises_only_our_errors(fields, rows):
    bodies = ({**COLUMNS, **fields}, [{**ROW, **row} for row in rows])
    for body in bodies:
        try:
            batch = read(body)
        except ForelockError:
            continue
        assert len(batch.item_ids) == len(batch.rows.values)
        assert not np.isinf(batch.rows.values).any()


@PATIENT
@given(
    st.lists(
        st.sampled_from([*'{}[]",:\n\r\\ ', "arm", "value", "item_id", "1", "NaN", "\ud800", "endpoint"])
    )
)
def test_near_formats_raise_only_our_errors(parts):
    text = "".join(parts).encode("utf-8", "surrogatepass")
    for prefix in (b"arm,endpoint,item_id,value\n", b""):
        for kind in (JSON, NDJSON, CSV):
            with contextlib.suppress(ForelockError):
                read(prefix + text, kind)


@pytest.mark.parametrize("value", [True, "12", [1], {}, 10**400, "0x1"])
def test_only_json_numbers_are_values(value):
    error = refused({**COLUMNS, "values": [0, value]})
    assert [path for path, _ in told(error)] == ["values"]
    assert "row 2" in error.faults[0].message


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("kind", [JSON, NDJSON])
def test_json_constants_are_refused(literal, kind):
    body = json.dumps(ROW).replace("1}", literal + "}")
    refused(f"[{body}]" if kind == JSON else body, kind, MalformedBody)


def test_numbers_beyond_the_double_range_are_refused():
    refused(json.dumps(COLUMNS).replace("[1, 0]", "[1e999, 0]"))
    refused("arm,endpoint,item_id,value\nC1,a,q1,1e999\n", CSV)
    assert refused("[" * 100_000, error=MalformedBody).problem_code == "malformed_json"
    refused(json.dumps(COLUMNS).replace("[1, 0]", f"[{'9' * 5000}, 0]"), error=MalformedBody)


def test_large_integers_become_floats():
    assert read({**COLUMNS, "values": [2**60, -(2**53) - 1]}).rows.values.tolist() == [2.0**60, -(2.0**53)]


@pytest.mark.parametrize("cell", ["1", "-1.5", "+2", ".5", "5.", "1e3", "1E-3"])
def test_decimal_cells_are_numbers(cell):
    assert read(f"arm,endpoint,item_id,value\nC1,a,q1,{cell}\n", CSV).rows.values.tolist() == [float(cell)]


@pytest.mark.parametrize(
    "cell", [" 1", "1 ", "inf", "nan", "NaN", "0x10", "1_000", "true", "e5", ".", "-", "１", "1,0"]
)
def test_other_cells_are_not_numbers(cell):
    error = refused(f'arm,endpoint,item_id,value\nC1,a,q1,"{cell}"\n', CSV)
    assert told(error) == [("value", "row 1 is not a number")]


@pytest.mark.parametrize("cell", ["0", "1.0", "-1", "65536", "two", " 1", "99999999999"])
def test_replicate_cells_are_whole_numbers_from_one(cell):
    error = refused(f"arm,endpoint,item_id,value,replicate\nC1,a,q1,1,{cell}\n", CSV)
    assert [path for path, _ in told(error)] == ["replicate"]


@pytest.mark.parametrize("value", [0, -1, 65536, 1.0, True, "1"])
def test_replicates_are_whole_numbers_from_one(value):
    assert told(refused({**COLUMNS, "replicates": [1, value]}))[0][0] == "replicates"


def test_an_absent_replicate_or_status_is_one_and_ok():
    batch = read({**COLUMNS, "replicates": [2, None], "status": [None, "ok"]})
    assert batch.replicates.tolist() == [2, 1]
    assert batch.rows.statuses.tolist() == [0, 0]


def test_ok_needs_a_value_and_other_statuses_have_none():
    error = refused({**COLUMNS, "values": [None, 0], "status": ["ok", "error"]})
    assert told(error) == [
        ("values", "row 1 has no value"),
        ("values", "row 2 has a value and a status other than ok"),
    ]
    assert told(refused("arm,endpoint,item_id,value\nC1,a,q1,\n", CSV)) == [("value", "row 1 has no value")]


@pytest.mark.parametrize("status", ["OK", "", "skipped", 0, False, [], {}])
def test_unknown_statuses_are_refused(status):
    assert told(refused({**COLUMNS, "status": ["ok", status]})) == [("status", "row 2 is not known")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T02:00:00.25+02:00", 250_000),
        ("1969-12-31t23:59:59.999999z", -1),
        ("1970-01-01T00:00:00.0000019-00:00", 1),
    ],
)
def test_times_become_microseconds(text, expected):
    assert read({**COLUMNS, "observed_at": [text, None]}).rows.observed_at.tolist() == [expected, NO_TIME]


@pytest.mark.parametrize(
    "text",
    [
        "2027-01-31", "2027-01-31T12:00:00", "20270131T120000Z", "2027-02-30T00:00:00Z",
        "2027-01-31 12:00:00Z", "2027-01-31T24:00:01Z", "2027-01-31T12:00:00+25:00", "2027-W05-1T12:00:00Z",
        "0000-01-01T00:00:00Z", 5,
    ],
)  # fmt: skip
def test_times_without_date_or_offset_are_refused(text):
    assert told(refused({**COLUMNS, "observed_at": [None, text]}))[0][0] == "observed_at"


def test_a_column_of_no_times_is_no_column():
    assert read({**COLUMNS, "observed_at": [None, None]}).rows.observed_at is None


def test_names_and_ids_are_nfc():
    batch = read({**COLUMNS, "arm": "e\u0301", "item_ids": ["e\u0301", "q"]})
    assert (batch.arm, batch.item_ids[0]) == ("é", "é")


@pytest.mark.parametrize("item_id", ["", "x" * 513, "a\0b", "\ud800", 5, None, True, ["q"]])
def test_ids_are_text(item_id):
    error = refused(json.dumps({**COLUMNS, "item_ids": ["q1", item_id]}))
    assert [path for path, _ in told(error)] == ["item_ids"]
    assert "row 2" in error.faults[0].message
    assert told(refused(json.dumps({**COLUMNS, "arm": item_id})))[0][0] == "arm"


def test_ids_may_be_long_and_hold_slashes():
    ids = ["a/b c", "x" * 512]
    assert read({**COLUMNS, "item_ids": ids}).item_ids == tuple(ids)


@pytest.mark.parametrize("name", ["arm", "endpoint", "item_ids", "values"])
def test_needed_fields_are_asked_for(name):
    assert told(refused({key: value for key, value in COLUMNS.items() if key != name})) == [
        (name, "is missing")
    ]


@pytest.mark.parametrize("name", ["population", "arm", "endpoint", "run"])
def test_scalars_must_agree_on_every_row(name):
    rows = [{**ROW, name: "a"}, {**ROW, name: "a"}, {**ROW, name: "b"}]
    for body, kind in (
        (json.dumps(rows), JSON),
        ("\n".join(map(json.dumps, rows)), NDJSON),
        (as_csv(rows), CSV),
    ):
        assert told(refused(body, kind)) == [(name, "row 3 differs from row 1")]
    assert told(refused([{**ROW, "run": "a"}, ROW])) == [("run", "row 2 differs from row 1")]


def test_columns_of_different_length_are_refused():
    assert told(refused({**COLUMNS, "values": [1]})) == [("values", "has 1 values where item_ids has 2")]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('{"arm": "C1", "arm": "C1", "endpoint": "a", "item_ids": ["q"], "values": [1]}', JSON),
        ('[{"arm": "C1", "arm": "C1", "endpoint": "a", "item_id": "q", "value": 1}]', JSON),
        ('{"arm": "C1", "arm": "C1", "endpoint": "a", "item_id": "q", "value": 1}', NDJSON),
    ],
)
def test_duplicate_keys_are_refused(body, kind):
    error = refused(body, kind, MalformedBody)
    assert (error.problem_code, error.faults[0].path) == ("duplicate_key", "arm")


@pytest.mark.timeout(60)
def test_a_key_that_is_twice_among_very_many_is_told_at_once():
    keys = [*(f"k{at}" for at in range(100_000)), "last", "last"]
    body = "{" + ",".join(f'"{key}": 1' for key in keys) + "}"
    assert refused(body, NDJSON, MalformedBody).faults[0].path == "last"


def test_duplicate_csv_columns_are_refused():
    assert told(refused("arm,endpoint,item_id,value,arm\nC1,a,q,1,C1\n", CSV)) == [
        ("arm", "is twice in the header")
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [({**COLUMNS, "score": [1, 2]}, JSON), ([{**ROW, "score": 1}], JSON), ({**ROW, "score": 1}, NDJSON)],
)
def test_unknown_fields_are_named(body, kind):
    assert told(refused(body, kind))[0][0] == "score"


def test_a_csv_without_header_is_not_repeated():
    error = refused("C1,accuracy,q1,0.125\n", CSV)
    assert "0.125" not in f"{error.detail}{error.faults}"
    assert told(error) == [("", "column 1 of the header is not known")]


@pytest.mark.parametrize(
    "body", ["arm,endpoint,item_id,value\nC1,a,q\n", "arm,endpoint,item_id,value\nC1,a,q,1,2\n", "", "\n\n"]
)
def test_ragged_and_empty_csv_is_refused(body):
    refused(body, CSV)


@pytest.mark.parametrize(
    "body", ['arm,endpoint,item_id,value\nC1,a,"q"x,1\n', 'arm,endpoint,item_id,value\nC1,a,"q']
)
def test_broken_quotes_are_refused(body):
    assert refused(body, CSV, MalformedBody).problem_code == "malformed_csv"


def test_quoted_cells_hold_commas_and_newlines():
    body = 'arm,endpoint,item_id,value\r\nC1,a,"q,\n""1""",1\r\n'
    assert read(body, CSV).item_ids == ('q,\n"1"',)


@pytest.mark.parametrize("kind", [JSON, NDJSON, CSV])
def test_other_encodings_are_refused(kind):
    refused(b"arm,endpoint,item_id,value\nC1,a,\xff,1\n", kind, MalformedBody)
    refused(json.dumps([ROW]).encode("utf-16"), kind, MalformedBody)
    refused(COLUMNS, f"{kind}; charset=latin-1", UnsupportedMediaType)


def test_a_json_byte_order_mark_is_refused():
    refused(b"\xef\xbb\xbf" + json.dumps(COLUMNS).encode(), JSON, MalformedBody)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/jsonx", "multipart/form-data"])
def test_other_content_types_are_refused(kind):
    refused(COLUMNS, kind, UnsupportedMediaType)


@pytest.mark.parametrize("body", [[], {**COLUMNS, "item_ids": [], "values": []}, "[]", '"text"', "5", "null"])
def test_bodies_without_rows_are_refused(body):
    refused(body)


@pytest.mark.parametrize("element", [5, None, [], "row", [ROW]])
def test_array_elements_are_flat_objects(element):
    refused([ROW, element])
    refused([{**ROW, "value": {"arm": "C1"}}])


def test_more_rows_than_allowed_are_too_many():
    rows = [{**ROW, "item_id": f"q{i}"} for i in range(5)]
    for body, kind in posted_every_way(rows):
        assert len(read(body, kind, max_items=5).item_ids) == 5
        assert refused(body, kind, TooLarge, max_items=4).problem_code == "too_many_items"


def test_twenty_faults_are_listed_and_all_are_counted():
    error = refused({**COLUMNS, "item_ids": ["q"] * 50, "values": ["secret-0.125"] * 50})
    assert len(error.faults) == 20
    assert error.detail.startswith("50 faults, the first 20 are listed")


@PATIENT
@given(
    st.floats(0.1, 0.9).map(lambda x: f"{x:.9f}"),
    st.sampled_from(["status", "value", "replicate", "observed_at"]),
)
def test_faults_never_repeat_what_was_sent(secret, name):
    rows = [{**ROW, "status": "ok", "value": 1, "replicate": 1, "observed_at": None, name: f"x{secret}"}]
    for body, kind in posted_every_way(rows):
        error = refused(body, kind)
        assert secret not in f"{error.detail}{error.faults}"


def test_errors_keep_no_reference_to_the_text():
    for body, kind in (
        ('{"a": 0.125,', JSON),
        ('{"a": 0.125', NDJSON),
        (b"\xff0.125", CSV),
        (b"\xff0.125", JSON),
    ):
        error = refused(body, kind, MalformedBody)
        assert error.__cause__ is None
        assert error.__context__ is None


def test_a_batch_shows_no_outcome_in_its_repr():
    assert repr(read(COLUMNS)) == "ReceivedBatch(population=None, arm='C1', endpoint='accuracy', run=None)"


@pytest.mark.parametrize("kind", [JSON, NDJSON, CSV])
def test_memory_stays_within_eight_times_the_body(kind):
    rows = [{"arm": "C1", "endpoint": "a", "item_id": f"q{i}", "value": i % 2} for i in range(20_000)]
    body = {JSON: as_columns, NDJSON: lambda rows: "\n".join(map(json.dumps, rows)).encode(), CSV: as_csv}[
        kind
    ](rows)
    tracemalloc.start()
    parse(body, kind, max_items=len(rows))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(body) + 100_000
