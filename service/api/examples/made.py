"""Example answers that code made: kept as files, so that no start computes them. A test makes them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "made"


def of_json(name: str) -> Any:
    """The example in `NAME.json`."""
    return json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))


def of_markdown(name: str) -> str:
    """The example in `NAME.md`."""
    return (DIRECTORY / f"{name}.md").read_text("utf-8")
