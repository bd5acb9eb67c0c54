"""docs/series.md says what its worlds give: false alarms no more often than promised, and drops that are shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.simulation.series import (
    CLUSTERS,
    ITEMS,
    NIGHTS,
    SEED,
    WORLDS,
    World,
    alarms_by_kind,
    clustered_scores,
    count_alarms,
    drifting,
    independent,
    scored,
    together,
    unsettled,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "series.md"


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


def test_alarms_are_no_more_than_promised_but_for_large_swings_that_last():
    lasting = "nine tenths kept, SD 3 pp"
    assert all(alarms <= 1 for (world, _), (alarms, _, _) in rows().items() if not world.endswith(lasting))


def test_a_gate_that_is_read_every_night_alarms_far_more_often():
    assert all(gate > max(10 * alarms, 5) for alarms, gate, _ in rows().values())


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)
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
    ("drop", "reference", "before", "kind", "within"),
    [
        (0.05, 5, 10, "alike", 15),
        (0.10, 1, 10, "alike", 6),
        (0.10, 5, 0, "alike", 12),
        (0.05, 5, 50, "vary", 16),
        (0.10, 5, 10, "vary", 14),
        (0.20, 5, 0, "vary", 10),
    ],
)
def test_drops_are_shown_within_the_nights_that_the_page_has(drop, reference, before, kind, within):
    shown = 0
    for run in range(20):
        begins = reference + before
        rng = np.random.default_rng([SEED, 98, int(100 * drop), reference, before, run])
        values = independent(rng, begins + within, drop, begins)
        shown += bool(alarms_by_kind(values, reference)[kind][before:].any())
    assert shown >= 14


def test_swings_are_alarms_where_nights_are_said_to_be_alike_and_none_where_they_may_vary():
    world = World("", together(0.04))
    values = world.draw(np.random.default_rng(5), 120)
    assert count_alarms(values, world, 5, alike=True) > 1
    assert count_alarms(values, world, 5) == 0


def test_worlds_of_noise_have_the_mean_and_the_noise_that_they_say():
    rng = np.random.default_rng(2)
    for draw in (scored, drifting, clustered_scores, unsettled):
        means = draw(rng, 400).mean(axis=1)
        assert np.abs(means[:200].mean() - means[200:].mean()) < 0.005
    loud, quiet = (
        drifting(rng, 200)[slice_].std(axis=0).mean() for slice_ in (slice(30, 70), slice(130, 170))
    )
    assert loud > 2 * quiet
    settled, coins = (
        (values * (1 - values)).mean()
        for values in (
            unsettled(rng, 4000).reshape(20, 200, ITEMS)[:, night].mean(axis=0) for night in (50, 150)
        )
    )
    assert coins > 2 * settled
    days = clustered_scores(rng, 100)
    within = np.corrcoef((days - days.mean(axis=0))[:, CLUSTERS == 0].T)
    assert within[0, 1:].mean() == pytest.approx(0.5, abs=0.15)


def test_nights_that_drift_keep_their_spread_and_resemble_their_neighbours():
    values = together(0.2, kept=0.9)(np.random.default_rng(1), 3000).mean(axis=1)
    fresh = together(0.2)(np.random.default_rng(2), 3000).mean(axis=1)
    assert values.std() == pytest.approx(fresh.std(), rel=0.25)
    assert np.corrcoef(values[1:], values[:-1])[0, 1] > 0.8
    assert abs(np.corrcoef(fresh[1:], fresh[:-1])[0, 1]) < 0.1
