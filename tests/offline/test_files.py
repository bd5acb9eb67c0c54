"""Files that a command reads in its own process: what they may take of its machine."""

from __future__ import annotations

import pytest

from service.offline import files


def test_a_file_that_takes_too_much_memory_is_refused(tmp_path, monkeypatch):
    """Its footer tells of a few kilobytes and a million values; its one row is a list of long texts."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 1_000_000, arrow.int32()), arrow.array(["x" * 900])
    )
    tokens = arrow.ListArray.from_arrays(arrow.array([0, 1_000_000], arrow.int32()), texts)
    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"item_id": ["a"], "value": [1.0], "tokens": tokens}), path)
    monkeypatch.setattr(files, "MOST_BYTES", 128 << 20)
    answer = files.read_paths([str(path)], "parquet", None, None)
    assert answer["problem"]["code"] == "import_too_large"
    assert "takes at most 128 MiB" in answer["problem"]["detail"]
