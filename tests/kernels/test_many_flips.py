"""Sign flips of many clusters by a saddlepoint, against every pattern of signs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from service.kernels.randomization.flip_interval import flip_interval, flip_tail
from service.kernels.randomization.many_flips import low_of_many, tail_of_many
from service.kernels.randomization.sign_flip import sign_flip
from tests.drawing import mostly_slow


def clusters(g, seed):
    rng = np.random.default_rng(seed)
    sizes = np.maximum(1, np.round(rng.lognormal(2.7, 1.2, g)))
    return sizes * np.clip(rng.normal(0.3, 1, g), -1, 1), sizes


@pytest.mark.parametrize("seed", mostly_slow(range(4), 2))
def test_close_to_the_share_of_all_patterns(seed):
    sums, sizes = clusters(28 + seed, seed)
    mean = sums.sum() / sizes.sum()
    for below in (0.05, 0.1, 0.2, 0.4):
        exact = flip_tail(sums, sizes, mean - below)
        if 1e-3 < exact < 0.06:
            assert tail_of_many(sums, sizes, mean - below) == pytest.approx(exact, rel=0.1)
    assert low_of_many(sums, sizes, 0.025) == pytest.approx(flip_interval(sums, sizes, 0.025)[0], abs=0.01)


def test_close_to_the_inverted_transform_of_a_hundred():
    rng = np.random.default_rng(4)
    sums = rng.normal(0.15, 1, 100)
    assert tail_of_many(sums, np.ones(100), 0.0) == pytest.approx(sign_flip(sums).at_least, rel=0.02)


def test_ends_and_signs():
    assert tail_of_many(np.ones(40), np.ones(40), 0.0) == 2.0**-40
    assert tail_of_many(np.array([1.0, -1.0] * 20), np.ones(40), 0.0) == 0.5
    sums, sizes = clusters(50, 9)
    here = tail_of_many(sums, sizes, 0.1)
    assert tail_of_many(-sums, sizes, -0.1) == pytest.approx(1 - here, rel=1e-9)
    told = [tail_of_many(sums, sizes, each) for each in np.linspace(-1, 1, 41)]
    assert all(a <= b + 1e-12 for a, b in pairwise(told))
    assert tail_of_many(sums, sizes, low_of_many(sums, sizes, 0.025)) == pytest.approx(0.025, rel=1e-6)
    assert low_of_many(np.full(40, 0.5), np.ones(40), 0.025) == 0.5
