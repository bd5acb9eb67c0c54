"""Example answers are kept as files; they are what the code makes."""

from __future__ import annotations

import pytest

from service.api.examples.made import DIRECTORY
from tests.api.examples_made import files


@pytest.mark.parametrize("name", sorted(files()))
def test_an_example_is_what_the_code_makes(name: str) -> None:
    assert (DIRECTORY / name).read_text("utf-8") == files()[name], "run python -m tests.api.examples_made"


def test_no_example_is_left_over() -> None:
    assert {path.name for path in DIRECTORY.iterdir()} == set(files())
