"""Sign flips against every pattern, and the three routes against one another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.kernels.randomization import sign_flip as kernel
from service.kernels.randomization.sign_flip import sign_flip


def every_pattern(values):
    signs = np.array(list(itertools.product([-1, 1], repeat=len(values))))
    sums, s = signs @ values, values.sum()
    slack = 1e-10 * np.abs(values).sum()
    return (
        np.mean(sums >= s - slack),
        np.mean(sums <= s + slack),
        np.mean(np.abs(sums) >= abs(s) - slack),
    )


@settings(deadline=None, max_examples=80)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=10))
def test_integers_by_definition(values):
    column = np.array(values, dtype=float)
    found = sign_flip(column)
    expected = every_pattern(column)
    assert (found.at_least, found.at_most, found.two_sided) == pytest.approx(expected, abs=0)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=10))
def test_scores_by_definition(values):
    column = np.array(values)
    column[np.abs(column) < 1e-6] = 0.0
    found = sign_flip(column)
    assert (found.at_least, found.at_most, found.two_sided) == pytest.approx(every_pattern(column), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=200))
def test_mirrored_values_swap_the_tails(values):
    column = np.array(values, dtype=float)
    one, other = sign_flip(column), sign_flip(-column)
    assert one.at_least == pytest.approx(other.at_most, rel=1e-9)
    assert one.two_sided == pytest.approx(other.two_sided, rel=1e-12)
    assert sign_flip(column[::-1]).two_sided == pytest.approx(one.two_sided, rel=1e-9)


@pytest.mark.parametrize("g", [1, 6, 30, 53, 1000])
def test_all_one_sign_gives_the_floor(g):
    assert sign_flip(np.ones(g)).two_sided == pytest.approx(2.0 ** (1 - g), rel=1e-9)


def test_routes_agree():
    rng = np.random.default_rng(4)
    values = rng.integers(-30, 40, 38).astype(float)
    by_lattice, by_halves = sign_flip(values), kernel._enumerate(values[values != 0])
    assert by_lattice.route == "convolution"
    assert by_lattice.two_sided == pytest.approx(by_halves.two_sided, abs=1e-12)
    scores = rng.normal(0.2, 1, 38)
    by_halves, by_grid = sign_flip(scores), kernel._round_to_grid(scores)
    assert by_halves.route == "enumeration"
    assert by_grid.two_sided == pytest.approx(by_halves.two_sided, abs=by_grid.error)
    assert by_grid.two_sided >= by_halves.two_sided - 1e-9
    assert by_grid.error < 0.01


def test_many_scores_agree_with_drawing():
    rng = np.random.default_rng(8)
    scores = rng.normal(0.12, 1, 300)
    found = sign_flip(scores)
    assert found.route == "inversion"
    signs = rng.choice([-1.0, 1.0], (40_000, 300))
    drawn = np.mean(np.abs(signs @ scores) >= abs(scores.sum()))
    assert found.two_sided == pytest.approx(drawn, abs=4 * np.sqrt(drawn / 40_000) + found.error)


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0, 0.0]])
def test_nothing_to_flip(values):
    found = sign_flip(np.array(values))
    assert (found.at_least, found.at_most, found.two_sided) == (1, 1, 1)
