"""Example answers are kept as files; they are what the code makes."""

from __future__ import annotations

import re

import pytest

from service.api.examples.made import DIRECTORY
from tests.api.examples_made import files

NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
"""Its last digits are the processor's: numpy and scipy add in another order where vectors are longer."""


def words_and_numbers(text: str) -> tuple[str, list[float]]:
    return NUMBER.sub("#", text), [float(each) for each in NUMBER.findall(text)]


@pytest.mark.parametrize("name", sorted(files()))
def test_an_example_is_what_the_code_makes(name: str) -> None:
    kept, made = (words_and_numbers(each) for each in ((DIRECTORY / name).read_text("utf-8"), files()[name]))
    assert kept[0] == made[0], "run python -m tests.api.examples_made"
    assert kept[1] == pytest.approx(made[1], rel=1e-9, abs=1e-12), "run python -m tests.api.examples_made"


def test_no_example_is_left_over() -> None:
    assert {path.name for path in DIRECTORY.iterdir()} == set(files())
