"""The interval of sign flips, against the test it turns around."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.kernels.randomization.flip_interval import (
    LISTED_UP_TO,
    MOST_CLUSTERS,
    _lower_end,
    flip_interval,
    flip_tail,
)
from service.kernels.randomization.sign_flip import sign_flip

STEP = 1e-7


def drawn(g, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(0.5, 6, g).round(), rng.integers(5, 40, g).astype(float)


def brute_tail(sums, sizes, difference):
    """All sign patterns, one by one."""
    moved = sums - difference * sizes
    signs = np.array(list(itertools.product((1, -1), repeat=len(sums))))
    return float(np.mean(signs @ moved >= moved.sum() - 1e-9))


@pytest.mark.parametrize("g", [6, 9, 13])
def test_ends_by_definition(g):
    sums, sizes = drawn(g)
    low, high = flip_interval(sums, sizes, 0.025)
    assert brute_tail(sums, sizes, low - STEP) <= 0.025 < brute_tail(sums, sizes, low + STEP)
    assert brute_tail(-sums, sizes, -high - STEP) <= 0.025 < brute_tail(-sums, sizes, -high + STEP)


@pytest.mark.parametrize("g", [17, 24])
def test_ends_agree_with_the_test_of_sign_flips(g):
    sums, sizes = drawn(g)
    low, high = flip_interval(sums, sizes, 0.025)
    assert sign_flip(sums - (low - STEP) * sizes).at_least <= 0.025
    assert sign_flip(sums - (low + STEP) * sizes).at_least > 0.025
    assert sign_flip(sums - (high + STEP) * sizes).at_most <= 0.025
    assert sign_flip(sums - (high - STEP) * sizes).at_most > 0.025


def test_counting_in_halves_agrees_with_listing():
    sums, sizes = drawn(LISTED_UP_TO)
    rank = int(np.ceil(0.025 * 2**LISTED_UP_TO)) - 1
    assert _lower_end(sums, sizes, rank) == pytest.approx(flip_interval(sums, sizes, 0.025)[0], abs=1e-9)
    assert flip_tail(sums, sizes, 0.0) == sign_flip(sums).at_least


def test_few_clusters_bound_nothing():
    assert flip_interval(*drawn(5), 0.025) == (None, None)  # 1/32 is above .025
    assert flip_interval(*drawn(6), 0.025)[0] is not None  # 1/64 is not
    assert flip_interval(*drawn(5), 0.05)[0] == pytest.approx(np.min(np.divide(*drawn(5))))


def test_more_clusters_than_can_be_counted_are_refused():
    with pytest.raises(ValueError, match="too many sets"):
        flip_interval(np.ones(MOST_CLUSTERS + 1), np.ones(MOST_CLUSTERS + 1), 0.025)


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 30)), min_size=6, max_size=10))
def test_mirrored_arms_mirror_the_interval(clusters):
    sums, sizes = np.array(clusters, dtype=float).T
    low, high = flip_interval(sums, sizes, 0.025)
    mirrored = flip_interval(-sums, sizes, 0.025)
    assert mirrored == pytest.approx((-high, -low), abs=1e-12)
    means = sums / sizes
    assert means.min() <= low <= high + 1e-12
    assert high <= means.max()
