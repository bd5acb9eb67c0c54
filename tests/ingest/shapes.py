"""What a smallest file is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Base(NamedTuple):
    """Documents by file name; those of `.jsonl` and `.ndjson` are lists of lines."""

    documents: Mapping[str, Any]
    mapping: Mapping[str, Any]
    key: str = "exact"
    zipped: bool = False
