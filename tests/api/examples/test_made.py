"""Example answers are kept as files; they are what the code makes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.api.examples.made import DIRECTORY
from tests.api.examples_made import files


@pytest.mark.parametrize("name", sorted(files()))
def test_an_example_is_what_the_code_makes(name: str) -> None:
    kept: Any = (DIRECTORY / name).read_text("utf-8")
    made: Any = files()[name]
    if name.endswith(".json"):
        kept, made = _to_nine_digits(kept), _to_nine_digits(made)
    assert kept == made, "run python -m tests.api.examples_made"


def _to_nine_digits(text: str) -> Any:
    """Processors differ in the last digits of the same sum."""
    return json.loads(text, parse_float=lambda digits: f"{float(digits):.9g}")


def test_no_example_is_left_over() -> None:
    assert {path.name for path in DIRECTORY.iterdir()} == set(files())
