"""A comparison that grows keeps its level, however often it is read, and an interval that is read again does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.simulation.looks import ALPHA, LAST, SEED, WORLDS, follow, rates

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_truth_is_ever_lost_no_more_often_than_the_level_says(world):
    number, runs = WORLDS.index(world), 1000
    lost = sum(
        follow(world, np.random.default_rng([SEED, number, 1, run]), intervals=False).lost_by_sequence
        for run in range(runs)
    )
    assert stats.binomtest(lost, runs, ALPHA, alternative="greater").pvalue > 1e-4


def test_an_interval_that_is_read_ten_times_loses_it_far_more_often():
    sequence, interval, _, price = rates(WORLDS[0], 120)
    assert sequence <= 0.05
    assert interval > 0.1
    assert 0.4 < price < 0.8


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_worlds_have_the_difference_that_they_say(world):
    drawn = [world.draw(np.random.default_rng([7, run])) for run in range(300)]
    differences = np.array([(candidate - baseline).mean() for baseline, candidate in drawn])
    assert differences.mean() == pytest.approx(
        world.truth, abs=5 * differences.std() / np.sqrt(len(drawn)) + 1e-12
    )
    assert all(len(column) == LAST for arms in drawn for column in arms)
