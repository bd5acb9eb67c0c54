"""Files that a command reads in its own process: what they may take of its machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from service.offline import files
files.MOST_BYTES = 128 << 20
print(json.dumps(files.read_paths([sys.argv[1]], "parquet", None, None)))
"""


def test_a_file_that_takes_too_much_memory_is_refused(tmp_path):
    """Its footer tells of a few kilobytes and a million values; its one row is a list of long texts.

    In a process of its own: what libraries do once memory is refused is nothing for the tests after it.
    """
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 1_000_000, arrow.int32()), arrow.array(["x" * 900])
    )
    tokens = arrow.ListArray.from_arrays(arrow.array([0, 1_000_000], arrow.int32()), texts)
    path = tmp_path / "rows.parquet"
    parquet.write_table(arrow.table({"item_id": ["a"], "value": [1.0], "tokens": tokens}), path)
    printed = subprocess.check_output([sys.executable, "-c", PROGRAM, str(path)], cwd=ROOT, text=True)
    problem = json.loads(printed)["problem"]
    assert problem["code"] == "import_too_large"
    assert "takes at most 128 MiB" in problem["detail"]
