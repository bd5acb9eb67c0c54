"""Errors, coverage and power in worlds where the truth is known, against docs/simulations.md."""

from __future__ import annotations

import pytest

from service.stats.shared.declaring import registry, warnings
from tests.simulation.catalogue import NOTES, batches
from tests.simulation.record import PAGE, band, read_page, render, split_page
from tests.stats.cases import cases_of, file_of

BATCHES = batches()
RECORDED = read_page(split_page(PAGE.read_text("utf-8"))[0])


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES, ids=[batch.id for batch in BATCHES])
def test_type_one_error_coverage_and_power_are_as_recorded(batch):
    for row in batch.records():
        recorded = RECORDED[row.key]
        low, high = band(recorded.rate, row.simulations)
        assert low <= row.rate <= high, "the rate moved: if that is meant, python -m tests.simulation"
        assert (row.reading, row.warnings) == (recorded.reading, recorded.warnings)


def test_the_page_lists_what_is_simulated():
    keys = [key for batch in BATCHES for key in batch.row_keys()]
    assert len(keys) == len(set(keys))
    assert set(RECORDED) == set(keys)
    assert render(RECORDED.values(), NOTES) == split_page(PAGE.read_text("utf-8"))[0]


def test_every_test_holds_its_level_or_says_why_not():
    """A liberal row carries a warning of the service, or a note for the reader of the page."""
    missed = {key: row for key, row in RECORDED.items() if row.missed}
    silent = [key for key, row in missed.items() if not row.warnings and key not in NOTES]
    assert not silent
    assert set(NOTES) <= set(missed)
    assert {code for row in missed.values() for code in row.warnings} <= set(warnings.kinds())


def test_every_test_with_a_p_value_or_an_interval_is_simulated():
    promises = [
        name
        for name, test in registry.latest().items()
        if {"p_value", "ci", "adjusted", "equivalent"} & set(test.analysis.model_fields)
    ]
    simulated = {batch.test for batch in BATCHES}
    silent = [name for name in promises if name not in simulated and not cases_of(name).unsimulated]
    assert not silent, f"fill `simulated` of CASES in {', '.join(map(file_of, silent))}"


def test_equivalence_is_simulated_at_the_margin_and_rules_against_power():
    what = [read.quantity for batch in BATCHES for read in batch.reads]
    assert what.count("power") >= 3
    assert len({batch.world for batch in BATCHES if batch.reads[0].quantity == "size at the margin"}) >= 6
