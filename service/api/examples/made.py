"""Example answers that code made: kept as files, so that no start computes them. A test makes them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "made"


def read_json(name: str) -> Any:
    """Read the example answer that is kept as `NAME.json`."""
    return json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))


def read_markdown(name: str) -> str:
    """Read the example page that is kept as `NAME.md`."""
    return (DIRECTORY / f"{name}.md").read_text("utf-8")
