"""Files that somebody made to do harm, or that came to harm: a clear problem, and little memory."""

from __future__ import annotations

import io
import json
import random
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard

from service.domain.plans.importing.imports import FORMATS
from service.errors import ForelockError
from service.ingest.columns import MAX_REPLICATE
from service.ingest.documents import limits
from service.ingest.documents.archive import Archive
from tests.drawing import one_in
from tests.ingest.mapped import header, mapping_for
from tests.ingest.truth import folder, read


def refused(paths, form="inspect", **more) -> ForelockError:
    with pytest.raises(ForelockError) as caught:
        read(paths, mapping_for(form, **more), "match" if form == "inspect" else "value", arm="baseline")
    assert caught.value.status in (400, 413, 422)
    return caught.value


def archive(path: Path, entries, compression=zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, content in entries:
            made.writestr(name, content)
    return path


def sample(value: str = '"C"', item_id: str = '"i0"') -> str:
    return f'{{"id": {item_id}, "epoch": 1, "scores": {{"match": {{"value": {value}}}}}}}'


def log(path: Path, content: str | bytes) -> Path:
    return archive(path, [("header.json", header()), ("samples/i0_epoch_1.json", content)])


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "content",
    one_in(
        3,
        [
            b"",
            b"{",
            b"PK\x03\x04",
            b"\xff\xfe{\x00}\x00",
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b'{"testCases": [], "results": {"results": [',
            b'"' + b'\\"' * 200_000,
            b"\x00" * 1000,
            b"PAR1" + b"\x00" * 100 + b"PAR1",
            b'{"resolved_ids": [{}], "schema_version": 2}',
        ],
    ),
    ids=["empty", "cut", "zip", "utf16", "deep", "deep-object", "open", "escapes", "nul", "parquet", "types"],
)
def test_no_reader_takes_rubbish_for_results(tmp_path, form, content):
    path = tmp_path / ("samples_x.jsonl" if form == "lm_eval" else "file")
    path.write_bytes(content)
    try:
        found = read([path], mapping_for(form), "value", arm="baseline")
    except ForelockError as problem:
        assert problem.status in (400, 413, 422)
    else:
        assert sum(len(rows.item_ids) for rows in found.rows) == 0


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("file", ["baseline.eval", "baseline_json.json"])
def test_log_that_is_cut_off_is_refused(tmp_path, file, kept):
    whole = (folder("inspect") / file).read_bytes()
    path = tmp_path / file
    path.write_bytes(whole[: int(len(whole) * kept)])
    assert "cut off" in refused([path]).detail


def test_flipped_byte_is_seen(tmp_path):
    whole = bytearray((folder("inspect") / "baseline.eval").read_bytes())
    whole[3_000] ^= 255
    path = tmp_path / "flipped.eval"
    path.write_bytes(whole)
    assert refused([path]).problem_code == "malformed_import"


def test_bomb_is_refused_before_it_is_inflated(tmp_path):
    path = archive(
        tmp_path / "bomb.eval", [("header.json", header()), ("samples/i0_epoch_1.json", b" " * (64 << 20))]
    )
    tracemalloc.start()
    assert refused([path]).problem_code == "import_too_large"
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_entry_that_is_larger_than_it_says_is_refused(tmp_path):
    path = log(tmp_path / "lies.eval", sample() + " " * 5000)
    whole = bytearray(path.read_bytes())
    at = whole.rindex(b"PK\x01\x02")
    struct.pack_into("<L", whole, at + 24, 100)
    path.write_bytes(whole)
    assert "larger than the archive says" in refused([path]).detail


def zstd_archive(frame: bytes, content: bytes) -> bytes:
    """An archive of one entry `a` that says it is compressed by Zstandard."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as written:
        written.writestr("a", frame)
    whole = bytearray(buffer.getvalue())
    for at, base in ((0, 8), (whole.rindex(b"PK\x01\x02"), 10)):
        struct.pack_into("<H", whole, at + base, 93)
        struct.pack_into("<L", whole, at + base + 6, zlib.crc32(content))
        struct.pack_into("<L", whole, at + base + 14, len(content))
    return bytes(whole)


def zstd_frame(content: bytes, **parameters) -> bytes:
    given = zstandard.ZstdCompressionParameters.from_level(3, **parameters)
    made = zstandard.ZstdCompressor(compression_params=given).compressobj()
    return made.compress(content) + made.flush()


@pytest.mark.parametrize("size", [10, 300_000])
def test_zstandard_window_beyond_the_limit_is_refused(size):
    content = random.Random(1).randbytes(size)
    frame = zstd_frame(content, window_log=27, write_content_size=0)
    assert zstandard.get_frame_parameters(frame).window_size == 1 << 27
    with pytest.raises(ForelockError) as caught:
        Archive(io.BytesIO(zstd_archive(frame, content))).read("a")
    assert caught.value.problem_code == "malformed_import"


@pytest.mark.parametrize("sized", [0, 1])
def test_zstandard_frames_may_follow_one_another_and_need_not_say_their_size(sized):
    parts = [b"first", b"second" * 70_000, b""]
    frames = b"".join(zstd_frame(part, write_content_size=sized) for part in parts)
    assert bytes(Archive(io.BytesIO(zstd_archive(frames, b"".join(parts)))).read("a")) == b"".join(parts)
    assert bytes(Archive(io.BytesIO(zstd_archive(zstd_frame(b""), b""))).read("a")) == b""


def test_zstandard_frame_that_says_it_is_huge_takes_no_memory():
    frame = bytearray(zstandard.ZstdCompressor().compress(b"x" * 70_000))
    said = frame.index(struct.pack("<L", 70_000), 4)
    struct.pack_into("<L", frame, said, 1 << 31)
    tracemalloc.start()
    with pytest.raises(ForelockError) as caught:
        Archive(io.BytesIO(zstd_archive(bytes(frame), b"x" * 70_000))).read("a")
    assert caught.value.problem_code == "malformed_import"
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("method", ["deflate", "zstd"])
def test_bomb_that_hides_its_size_stops_at_what_the_archive_says(method):
    content = b" " * (64 << 20)
    packed = zlib.compressobj(9, 8, -15)
    frame = zstd_frame(content) if method == "zstd" else packed.compress(content) + packed.flush()
    whole = bytearray(zstd_archive(frame, b" " * 1000))
    if method == "deflate":
        for at in (8, whole.rindex(b"PK\x01\x02") + 10):
            struct.pack_into("<H", whole, at, 8)
    tracemalloc.start()
    with pytest.raises(ForelockError) as caught:
        Archive(io.BytesIO(bytes(whole))).read("a")
    assert "larger than the archive says" in caught.value.detail
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_archive_behind_other_bytes_and_one_with_wide_numbers_are_read(tmp_path):
    """As `cat` and Zip64 make them."""
    path = tmp_path / "wide.eval"
    with zipfile.ZipFile(path, "w") as made:
        for name, content in (("header.json", header()), ("samples/i0_epoch_1.json", sample())):
            with made.open(name, "w", force_zip64=True) as entry:
                entry.write(content.encode())
    assert read([path], mapping_for("inspect"), "match", arm="baseline").rows[0].values == [1.0]
    whole = path.read_bytes()
    for before in (b"", b"#!/bin/sh\n" * 9):
        assert Archive(io.BytesIO(before + whole)).read("header.json") == header().encode()


@pytest.mark.parametrize(
    "name", ["../samples/i0_epoch_1.json", "/etc/passwd", "samples/../../x_epoch_1.json"]
)
def test_names_that_lead_out_of_the_archive_are_refused(tmp_path, name):
    path = archive(tmp_path / "out.eval", [("header.json", header()), (name, sample())])
    assert "leads out" in refused([path]).detail


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(tmp_path):
    twice = [("header.json", header()), ("samples/i0_epoch_1.json", sample())]
    assert "one name" in refused([archive(tmp_path / "twice.eval", [*twice, twice[1]])]).detail


def test_archive_of_a_million_entries_is_refused_by_its_last_record(tmp_path):
    path = log(tmp_path / "many.eval", sample())
    whole = bytearray(path.read_bytes())
    at = whole.rindex(b"PK\x05\x06")
    end = bytes(whole[at:])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 10**6, 10**6, 10**8, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, at, 1)
    path.write_bytes(bytes(whole[:at]) + record + locator + end)
    tracemalloc.start()
    assert refused([path]).problem_code == "import_too_large"
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_archive_with_more_entries_than_it_says_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_ENTRIES", 5)
    path = archive(tmp_path / "many.eval", [(f"e{k}", b"") for k in range(9)])
    whole = bytearray(path.read_bytes())
    struct.pack_into("<2H", whole, whole.rindex(b"PK\x05\x06") + 8, 2, 2)
    path.write_bytes(whole)
    assert refused([path]).status in (400, 413)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("1e999", "import.values"),
        ("Infinity", "import.values"),
        ("1" * 400, "import.values"),
        ('"P"', "import.values"),
        ('"0.5"', "import.values"),
        ("[1, 2]", "import.scorer"),
        ('{"a": 1}', "import.scorer"),
    ],
)
def test_value_that_the_plan_does_not_map_names_the_line_and_not_the_value(tmp_path, value, line):
    problem = refused([log(tmp_path / "value.eval", sample(value))])
    assert [fault.path for fault in problem.faults] == [line]
    assert value.strip('"') not in str(problem.document()).replace('"P"', "") or value == "1" * 400


def test_integer_of_more_digits_than_python_reads_is_malformed(tmp_path):
    assert "digits" in refused([log(tmp_path / "digits.eval", sample("1" * 5000))]).detail


@pytest.mark.parametrize(
    "item_id", ["1.5", "true", '""', '"a\\u0000b"', '"\\ud800"', '"' + "x" * 600 + '"', "null"]
)
def test_id_that_is_none_names_the_line(tmp_path, item_id):
    problem = refused([log(tmp_path / "id.eval", sample(item_id=item_id))])
    assert [fault.path for fault in problem.faults] == ["import.item_id"]


def test_half_of_a_binary_endpoint_is_refused_unless_it_is_mapped(tmp_path):
    path = log(tmp_path / "half.eval", sample("0.5"))
    with pytest.raises(ForelockError) as caught:
        read([path], mapping_for("inspect"), "match", arm="baseline", binary=True)
    assert [fault.path for fault in caught.value.faults] == ["import.values"]
    found = read([path], mapping_for("inspect", values={"0.5": 0}), "match", arm="baseline", binary=True)
    assert found.rows[0].values == [0.0]


def test_wrong_encoding_is_told(tmp_path):
    path = log(tmp_path / "latin.eval", sample().replace("i0", "é").encode("latin-1"))
    assert "UTF-8" in refused([path]).detail
    table = tmp_path / "latin.csv"
    table.write_bytes("item_id,value\né,1\n".encode("latin-1"))
    assert "UTF-8" in refused([table], "csv").detail


def test_true_and_integer_ids_of_a_table_need_the_plan(tmp_path):
    path = tmp_path / "rows.ndjson"
    path.write_text('{"item_id": 7, "value": true}\n')
    problem = refused([path], "ndjson")
    assert {fault.path for fault in problem.faults} == {"import.integer_ids", "import.values"}
    mapping = mapping_for("ndjson", integer_ids="text", values={"true": 1})
    found = read([path], mapping, "value", arm="baseline")
    assert (found.rows[0].item_ids, found.rows[0].values) == (["7"], [1.0])


def test_same_item_twice_is_refused_by_the_line_that_tells_them_apart(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("item_id,value\na,1\na,0\n")
    assert [fault.path for fault in refused([path], "csv").faults] == ["import.item_id"]
    found = read([path], mapping_for("csv", replicate="order"), "value", arm="baseline")
    assert found.rows[0].replicates == [1, 2]


def test_repeats_that_a_file_counts_from_0_are_counted_from_1_in_every_arm(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("item_id,arm,trial,value\na,baseline,0,1\na,baseline,1,0\na,candidate,1,0\n")
    mapping = mapping_for("csv", arm="arm", replicate="trial")
    rows = {rows.arm: rows.replicates for rows in read([path], mapping, "value", arm=None).rows}
    assert rows == {"baseline": [1, 2], "candidate": [2]}
    path.write_text(f"item_id,trial,value\na,0,1\na,{MAX_REPLICATE},0\n")
    faults = refused([path], "csv", replicate="trial").faults
    assert [fault.path for fault in faults] == ["import.replicate"]
    path.write_text("item_id,trial,value\na,-1,1\n")
    assert "no number from 1" in refused([path], "csv", replicate="trial").detail


def test_large_sample_is_read_part_by_part(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "IN_MEMORY", limits.MIB)
    filler = json.dumps([{"role": "user", "content": "x" * 20, "n": k} for k in range(30_000)])
    path = archive(
        tmp_path / "large.eval",
        [("header.json", header()), ("samples/i0_epoch_1.json", f'{{"messages": {filler}, ' + sample()[1:])],
        zipfile.ZIP_STORED,
    )
    assert path.stat().st_size > limits.IN_MEMORY
    tracemalloc.start()
    found = read([path], mapping_for("inspect"), "match", arm="baseline")
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
    assert found.rows[0].values == [1.0]


def test_parquet_reads_like_csv(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"item_id": ["a", "b"], "value": [1.0, None], "k": ["x", "y"]}), path)
    found = read([path], mapping_for("parquet", cluster="k"), "value", arm="baseline")
    assert found.rows[0].item_ids == ["a", "b"]
    assert list(found.rows[0].statuses) == [0, 2]
    assert found.rows[0].clusters == ["x", "y"]


@pytest.mark.parametrize(
    ("limit", "most", "says"),
    [("MOST_SAMPLES", 999, "more rows"), ("MOST_INFLATED", 8000, "larger inflated")],
)
def test_parquet_that_says_it_is_too_large_is_refused_before_it_is_inflated(
    tmp_path, monkeypatch, limit, most, says
):
    """Its footer alone is read: the rows of this one are broken, and nobody gets as far."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(
        arrow.table({"item_id": [f"i{k}" for k in range(1000)], "value": [1.0] * 1000}),
        path,
        compression="zstd",
        use_dictionary=False,
    )
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 400 + whole[404:])
    assert refused([path], "parquet").problem_code == "malformed_import"
    monkeypatch.setattr(limits, limit, most)
    problem = refused([path], "parquet")
    assert (problem.problem_code, says in problem.detail) == ("import_too_large", True)


@pytest.mark.parametrize("as_categories", [False, True])
@pytest.mark.parametrize("size", [1000, 100_000])
def test_parquet_whose_rows_repeat_one_long_text_stops_where_they_are_too_much(
    tmp_path, monkeypatch, size, as_categories
):
    """A dictionary holds it once, and the footer counts it once."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr(limits, "MOST_INFLATED", 30_000_000)
    notes = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 2000, arrow.int32()), arrow.array(["x" * size])
    )
    columns = {"item_id": [f"i{k}" for k in range(2000)], "value": [1.0] * 2000, "note": notes}
    parquet.write_table(
        arrow.table(columns), tmp_path / "rows.parquet", compression="zstd", store_schema=as_categories
    )
    assert (tmp_path / "rows.parquet").stat().st_size < 50_000
    if size == 1000:
        rows = read([tmp_path / "rows.parquet"], mapping_for("parquet"), "value", arm="baseline").rows
        assert len(rows[0].item_ids) == 2000
    else:
        assert "larger inflated" in refused([tmp_path / "rows.parquet"], "parquet").detail


def test_parquet_whose_lists_have_more_entries_than_a_table_is_refused_by_its_footer(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr(limits, "MOST_CELLS", 1000)
    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"item_id": ["a"], "value": [1.0], "tokens": [[0] * 999]}), path)
    assert "more values" in refused([path], "parquet").detail


def test_parquet_whose_texts_are_no_utf_8_is_refused(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"item_id": ["caf\u00e9"], "value": [1.0]}), path, compression="none")
    path.write_bytes(path.read_bytes().replace("caf\u00e9".encode(), b"caf\xac\xac"))
    assert "not UTF-8" in refused([path], "parquet").detail


@pytest.mark.parametrize(("unit", "huge"), [("us", 2**62), ("s", 2**50)])
def test_parquet_with_a_date_beyond_the_calendar_is_refused(tmp_path, unit, huge):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    dates = arrow.array([huge], arrow.timestamp(unit))
    parquet.write_table(arrow.table({"item_id": ["a"], "value": [1.0], "at": dates}), path)
    assert "calendar" in refused([path], "parquet").detail


def test_parquet_that_names_a_column_twice_is_refused(tmp_path):
    """A row made of it would hold the last one's value, and nobody would know."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table([["a"], [1.0], [0.0]], names=["item_id", "value", "value"]), path)
    assert "names a column twice" in refused([path], "parquet").detail
