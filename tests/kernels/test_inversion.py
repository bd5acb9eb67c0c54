"""Inversion against exact lattices, drawing, symmetry, and the data it must refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from service.kernels.exact import characteristic, inversion, lattice
from service.kernels.exact.inversion import continuous, smooth_flips, smooth_mean
from tests.drawing import draws, mostly_slow

seeds = st.integers(0, 10_000)
shapes = st.sampled_from(["normal", "skewed", "bimodal", "tied"])


def sample(seed, n, shape="normal"):
    rng = np.random.default_rng(seed)
    if shape == "normal":
        return rng.normal(0.2, 1, n)
    if shape == "skewed":
        return rng.exponential(size=n) - 0.8
    if shape == "bimodal":
        return rng.normal(0, 0.1, n) + rng.choice([-1.0, 1.5], n)
    return np.where(rng.random(n) < 0.3, 0.0, rng.normal(0.1, 1, n))


def on_fine_lattice(values, points=2**11):
    """The nearest values on a lattice, and the exact distribution of their bootstrap sum."""
    unit = np.ptp(values) / points
    cells = np.rint((values - values.min()) / unit).astype(np.int64)
    return values.min() + cells * unit, lattice.distribution(lattice.resample_groups(cells)), unit


@pytest.mark.parametrize("shape", ["normal", "skewed", "tied"])
@pytest.mark.parametrize(("seed", "n"), [(1, 60), (2, 90), (3, 120)])
def test_bootstrap_agrees_with_the_exact_lattice(monkeypatch, seed, n, shape):
    # a lattice is refused as such; between its points the sum is right to an atom all the same
    values, exact, unit = on_fine_lattice(sample(seed, n, shape))
    assert smooth_mean(values) is None
    monkeypatch.setattr(inversion, "continuous", lambda _: True)
    monkeypatch.setattr(inversion, "beyond", lambda *_, **__: (0.0, 0.0))
    found = smooth_mean(values)
    mean, se = found.moments()
    start = values.min() * n
    for z in (-3.0, -1.0, 0.0, 0.5, 2.0):
        k = math.floor(((mean + z * se) * n - start) / unit)
        between = (start + (k + 0.5) * unit) / n
        assert found.at_most(between) == pytest.approx(exact.at_most(k), abs=exact.pmf.max())
    assert se * n == pytest.approx(exact.standard_deviation() * unit, rel=1e-6)


@pytest.mark.parametrize("shape", mostly_slow(["normal", "skewed", "bimodal", "tied"], 3))
@pytest.mark.parametrize("n", mostly_slow([60, 400], 3))
def test_bootstrap_agrees_with_drawing(shape, n):
    values = sample(3, n, shape)
    found = smooth_mean(values)
    rng = np.random.default_rng(1)
    drawn = np.concatenate([values[rng.integers(0, n, (20_000, n))].mean(axis=1) for _ in range(2)])
    for q in (0.005, 0.1, 0.5, 0.975):
        assert np.mean(drawn <= found.quantile(q)) == pytest.approx(
            q, abs=4.5 * math.sqrt(q * (1 - q) / 40_000)
        )


@settings(deadline=None, max_examples=draws(40))
@given(seeds, shapes, st.floats(0.01, 100), st.floats(-50, 50))
def test_mirror_shift_and_scale(seed, shape, scale, shift):
    values = sample(seed, 80, shape)
    one, other = smooth_mean(values), smooth_mean(-values * scale + shift)
    assert (one is None) == (other is None)
    if one is None:
        return
    for q in (0.01, 0.3, 0.9):
        assert other.quantile(1 - q) == pytest.approx(
            shift - scale * one.quantile(q), rel=1e-6, abs=1e-6 * scale
        )


@settings(deadline=None, max_examples=draws(40))
@given(seeds, st.floats(0.001, 0.999))
def test_quantile_and_distribution_are_inverse(seed, q):
    found = smooth_mean(sample(seed, 50))
    if found is not None:
        assert found.at_most(found.quantile(q)) == pytest.approx(q, abs=1e-8)
        assert found.at_most(found.quantile(q)) + found.at_least(found.quantile(q)) == pytest.approx(1)


def test_distribution_rises_from_0_to_1():
    found = smooth_mean(sample(1, 45, "skewed"))
    grid = np.linspace(-3, 3, 400)
    cdf = np.array([found.at_most(x) for x in grid])
    assert np.all(np.diff(cdf) > -2e-9)
    assert (cdf[0], cdf[-1]) == pytest.approx((0, 1), abs=1e-9)
    assert found.at_most(-1e9) == 0
    assert found.at_most(1e9) == 1


@pytest.mark.parametrize("n", [80, 300])
def test_flips_agree_with_drawing_and_mirror(n):
    values = sample(5, n, "skewed")
    total, spread = smooth_flips(values)
    assert spread == pytest.approx(math.sqrt((values**2).sum()))
    rng = np.random.default_rng(2)
    drawn = rng.choice([-1.0, 1.0], (40_000, n)) @ values
    for z in (-1.5, 0.3, 1.0, 2.0):
        share = np.mean(drawn <= z * spread)
        assert total.at_most(z) == pytest.approx(
            share, abs=4.5 * math.sqrt(share * (1 - share) / 40_000) + 1e-6
        )
        assert total.at_most(z) + total.at_most(-z) == pytest.approx(1, abs=1e-9)


def test_many_values_are_normal():
    values = sample(4, 200_000)
    found = smooth_mean(values)
    for z in (-2.0, 0.0, 1.0):
        assert found.at_most(found.mean + z * found.se) == pytest.approx(stats.norm.cdf(z), abs=5e-4)


@pytest.mark.parametrize("values", [
    sample(1, 29), np.round(sample(1, 100), 2), np.where(np.arange(60) % 5 < 3, math.pi, sample(1, 60)),
    np.full(50, math.pi), np.arange(100) / 7, np.concatenate([np.zeros(49), [math.e]]),
])  # fmt: skip
def test_data_it_would_be_wrong_for_are_refused(values):
    assert smooth_mean(values) is None


@pytest.mark.parametrize(("n", "tight", "refused"), [(92, 0.1, True), (92, 0.6, False), (5000, 0.1, False)])
def test_two_tight_groups_are_nearly_a_lattice(n, tight, refused):
    rng = np.random.default_rng(4)
    values = rng.choice([-1.0, 1.5], n) + rng.normal(0, tight, n)
    found = smooth_mean(values)
    assert (found is None) == refused
    if found is not None:
        drawn = np.concatenate([values[rng.integers(0, n, (5000, n))].mean(axis=1) for _ in range(4)])
        for q in (0.1, 0.5, 0.975):
            share = np.mean(drawn <= found.quantile(q))
            assert share == pytest.approx(q, abs=4.5 * math.sqrt(q * (1 - q) / 20_000))


@pytest.mark.parametrize("points", [50, 5000])
def test_a_lattice_with_noise_is_refused(points):
    rng = np.random.default_rng(6)
    assert smooth_mean(rng.integers(0, points, 200) + rng.normal(0, 1e-3, 200)) is None
    assert smooth_flips(rng.integers(1, points, 200) + rng.normal(0, 1e-3, 200)) is None


def test_a_transform_that_does_not_vanish_is_refused():
    values = np.concatenate([sample(1, 40) * 1e-3, [1000 * math.pi]])
    assert continuous(values)
    assert smooth_mean(values) is None
    assert smooth_flips(values) is None


def test_work_in_pieces_changes_nothing(monkeypatch):
    values = sample(2, 500)
    whole = smooth_mean(values).quantile(0.2)
    flips = smooth_flips(values)[0].at_most(0.7)
    monkeypatch.setattr(characteristic, "CELLS", 64 * 13)
    monkeypatch.setattr(characteristic, "PART", 64)
    assert smooth_mean(values).quantile(0.2) == pytest.approx(whole, abs=1e-12)
    assert smooth_flips(values)[0].at_most(0.7) == pytest.approx(flips, abs=1e-12)
