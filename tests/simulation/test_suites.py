"""docs/suites-coverage.md says what its worlds give, and that suites hold their level there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.simulation.suites import (
    FAMILY_RUNS,
    LEVEL,
    METHODS,
    PAGE,
    RUNS,
    TAIL,
    Cell,
    cells,
    coverage,
    families,
    family,
    samples,
)


def rows(columns):
    """Cells of the tables with so many columns, as numbers; no clusters are 0."""
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        told = [part.strip(" *").replace("none", "0") for part in line.strip("| ").split(" | ")]
        if len(told) == columns and told[0].isdigit():
            found.append([float(part) for part in told])
    return found


def test_the_page_has_every_world():
    assert len(rows(4 + len(METHODS))) == len(cells(False)) + len(cells(True))
    assert len(rows(4)) == len(families())
    assert len(rows(5)) == len(samples())
    assert f"{RUNS} data sets a cell" in PAGE.read_text("utf-8")


def test_a_suite_holds_its_level():
    least = stats.binom.ppf(0.001, RUNS, LEVEL) / RUNS
    assert min(row[-1] for row in rows(4 + len(METHODS))) >= least
    for row in rows(4):
        assert row[2] <= stats.binom.ppf(0.999, FAMILY_RUNS, TAIL) / FAMILY_RUNS
        assert row[3] >= stats.binom.ppf(0.001, FAMILY_RUNS, LEVEL) / FAMILY_RUNS


def test_tasks_like_these_hold_their_level_where_clusters_span_them():
    least = stats.binom.ppf(0.001, RUNS, LEVEL) / RUNS
    measured = rows(5)
    assert min(row[-1] for row in measured) >= least
    assert min(row[-2] for row in measured) < 0.6  # t over tasks knows nothing of what clusters share


def test_the_error_of_pooled_items_misses_far_more_often():
    assert min(row[-3] for row in rows(4 + len(METHODS))) < 0.3


def test_worlds_have_the_share_they_say():
    cell = Cell(False, 10, 100, 0.9, 0.1)
    means = [cell.weighed(np.random.default_rng(seed)).mean for seed in range(60)]
    assert np.mean(means) == pytest.approx(0.9, abs=0.01)


@pytest.mark.slow
def test_the_page_is_what_is_measured():
    cell = Cell(False, 3, 8, 0.98, 0.1)
    shown = {tuple(row[:4]): row[4:] for row in rows(4 + len(METHODS))}
    assert [round(rate, 3) for rate in coverage(cell, RUNS)] == shown[3.0, 8.0, 0.98, 0.1]
    lost, held = family(families()[1], FAMILY_RUNS)
    assert [round(lost, 3), round(held, 3)] == rows(4)[1][2:]
    world = samples()[4]
    assert [round(rate, 3) for rate in world.coverage(RUNS)] in [row[3:] for row in rows(5)]
