"""Sign flips of the clusters of many data sets: as of each alone."""

from __future__ import annotations

import numpy as np
import pytest

from service.kernels.pairs import gaffke
from service.kernels.planning import gaffke_many
from service.kernels.planning.sets_of_clusters import low_ends, means_of_sets, tails
from service.kernels.randomization.flip_interval import flip_interval, flip_tail

SIZES = np.array([1, 2, 5, 5, 8, 13, 1, 3])


def sums(rng, sizes, sets=20):
    return rng.normal(0.1, 0.5, (sets, len(sizes))) * sizes


def test_few_clusters_have_all_their_sets_listed():
    rng = np.random.default_rng(1)
    drawn = sums(rng, SIZES)
    means = means_of_sets(drawn, SIZES, rng)
    assert means.shape == (20, 2**8 - 1)
    for tail in (0.025, 0.05, 0.2):
        alone = [flip_interval(each, SIZES.astype(float), tail)[0] for each in drawn]
        np.testing.assert_allclose(low_ends(means, tail), alone, rtol=1e-12)
    alone = [flip_tail(each, SIZES.astype(float), -0.05) for each in drawn]
    np.testing.assert_allclose(tails(means, -0.05), alone, rtol=1e-12)


def test_more_clusters_have_sets_drawn_for_all_data():
    rng, sizes = np.random.default_rng(2), np.tile(SIZES, 3)
    drawn = sums(rng, sizes)
    means = means_of_sets(drawn, sizes, rng)
    alone = np.array([flip_tail(each, sizes.astype(float), 0.0) for each in drawn])
    error = 4 * np.sqrt(alone * (1 - alone) / means.shape[1]) + 1 / means.shape[1]
    assert np.all(np.abs(tails(means, 0.0) - alone) <= error)


def test_so_few_clusters_reject_nothing():
    rng = np.random.default_rng(3)
    means = means_of_sets(sums(rng, SIZES[:4]), SIZES[:4], rng)
    assert np.all(np.isneginf(low_ends(means, 0.025)))


@pytest.mark.parametrize("alpha", [0.025, 0.1])
def test_blocks_of_many_data_sets_are_bounded_as_of_each(alpha):
    rng, sizes = np.random.default_rng(4), SIZES.astype(np.float64)
    drawn = np.clip(rng.normal(0.1, 0.3, (12, len(sizes))), -1, 1) * sizes
    ones, largest = np.ones(len(sizes)), float(sizes.max())
    alone = [gaffke.lower_end(each, sizes, ones, -1.0, largest, alpha) for each in drawn]
    many = gaffke_many.lower_ends_of_blocks(drawn, sizes, -1.0, alpha, largest)
    np.testing.assert_allclose(many, alone, atol=0.012)
    at = np.linspace(-0.3, 0.2, 12)
    alone = [
        gaffke.chance_below(each, sizes, ones, -1.0, largest, mean)
        for each, mean in zip(drawn, at, strict=True)
    ]
    many = gaffke_many.chances_of_blocks(drawn, sizes, -1.0, at, largest)
    np.testing.assert_allclose(many, alone, atol=0.012)
