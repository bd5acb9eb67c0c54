"""Headings that are nothing but decoration are looked through once."""

from __future__ import annotations

import time

import pytest

from service.reports.prereg.labels import section_of


@pytest.mark.parametrize("unit", ["_", "*", " ", "`", ":", "_ "])
def test_a_heading_of_decoration_is_looked_through_once(unit: str) -> None:
    began = time.process_time()
    section_of(unit * 100_000 + "x" + unit * 100_000 + "x")
    assert time.process_time() - began < 1


@pytest.mark.parametrize("written", ["SESOI", "**SESOI**", "## *SESOI* ** ::", "`SESOI`"])
def test_decoration_around_a_heading_is_no_part_of_it(written: str) -> None:
    assert section_of(written) == section_of("SESOI") is not None
