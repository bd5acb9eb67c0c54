"""docs/series.md says what its worlds give: false alarms no more often than promised, and drops that are shown."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from service.kernels.sequential.run_changes import chances, weigh
from tests.simulation.series import EVERY, NIGHTS, SEED, WORLDS, count_alarms, independent, together

PAGE = Path(__file__).resolve().parents[2] / "docs" / "series.md"
DEPENDENT = ("not declared", "SD 3 pp", "drift")
"""Words of worlds whose blocks are not independent of one another, or where nights resemble their neighbours."""


def rows() -> dict[tuple[str, int], tuple[float, float, int]]:
    """By world and reference runs: alarms in 1,000 nights, those of a nightly gate, and how many series."""
    found = {}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 6 and cells[0] in {world.name for world in WORLDS}:
            found[cells[0], int(cells[1])] = float(cells[2]), float(cells[3]), int(cells[5])
    return found


def test_the_page_has_every_world():
    assert {world for world, _ in rows()} == {world.name for world in WORLDS}


def test_where_blocks_are_independent_alarms_are_no_more_than_promised():
    for (world, _), (alarms, _, series) in rows().items():
        if not any(word in world for word in DEPENDENT) or "margin" in world:
            assert alarms * series <= stats.poisson.ppf(0.999, series * NIGHTS / EVERY), world


def test_a_gate_that_is_read_every_night_alarms_far_more_often():
    assert all(gate > max(2 * alarms, 15) for alarms, gate, _ in rows().values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "world", [world for world in WORLDS if "scores" not in world.name], ids=lambda w: w.name
)
def test_alarms_are_as_recorded(world):
    number, series = WORLDS.index(world), 4
    alarms = sum(
        count_alarms(world.draw(np.random.default_rng([SEED, number, 1, 10_000 + run]), NIGHTS + 1), world, 1)
        for run in range(series)
    )
    recorded, _, told = rows()[world.name, 1]
    # given their sum, the alarms of these series are binomial where both rates are one
    total = alarms + round(recorded * told)
    assert stats.binomtest(alarms, total, series / (series + told)).pvalue > 1e-4 if total else alarms == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drop", "reference", "before", "within"), [(0.05, 5, 10, 15), (0.10, 1, 10, 6), (0.10, 5, 0, 12)]
)
def test_drops_are_shown_within_the_nights_that_the_page_has(drop, reference, before, within):
    shown = 0
    for run in range(20):
        begins = reference + before
        rng = np.random.default_rng([SEED, 98, int(100 * drop), reference, before, run])
        values = independent(rng, begins + within, drop, begins)
        p_values = np.array([low.chance.p for low in chances(values, None, reference, 0.0)])
        shown += bool((weigh(p_values).change[before:] >= math.log(EVERY)).any())
    assert shown >= 14


def test_nights_that_drift_keep_their_spread_and_resemble_their_neighbours():
    values = together(0.2, kept=0.9)(np.random.default_rng(1), 3000).mean(axis=1)
    fresh = together(0.2)(np.random.default_rng(2), 3000).mean(axis=1)
    assert values.std() == pytest.approx(fresh.std(), rel=0.25)
    assert np.corrcoef(values[1:], values[:-1])[0, 1] > 0.8
    assert abs(np.corrcoef(fresh[1:], fresh[:-1])[0, 1]) < 0.1
