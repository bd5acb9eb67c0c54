"""What a transform can come back to: the bounds hold, and data that return are told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from service.kernels.exact import inversion, lattice, returns
from tests.drawing import mostly_slow, one_in


def transform(values, t):
    """|mean of exp(i t y)| at the frequencies t."""
    return np.abs(np.exp(1j * np.outer(t, values)).mean(axis=1))


def standardized(values):
    away = values - values.mean()
    return away / math.sqrt(float(away @ away))


@pytest.mark.parametrize("fine", [4, 8])
def test_a_value_between_two_places_is_off_by_no_more_than_stated(fine):
    most = 64
    scale, slip = returns._interpolation(most, fine)
    share = np.linspace(0, 1, 201)
    for k in (0, 1, most // 2, most):
        angle = 2 * math.pi * k / (fine * most)
        between = (1 - share) + share * np.exp(1j * angle)
        assert np.abs(np.exp(1j * angle * share) - scale[k] * between).max() <= slip[k] + 1e-15


@pytest.mark.parametrize("fine", [4, 8])
@pytest.mark.parametrize("shape", ["uniform", "lattice", "two places", "one far"])
def test_no_peak_of_the_transform_is_above_its_bound(shape, fine):
    rng = np.random.default_rng(3)
    values = {
        "uniform": rng.random(200),
        "lattice": rng.integers(0, 9, 200) / 8 + rng.normal(0, 0.002, 200),
        "two places": rng.integers(0, 2, 200) * 0.731 + rng.normal(0, 1e-3, 200),
        "one far": np.append(rng.random(199) * 0.01, 1.0),
    }[shape]
    values = values - values.min()
    period, deviation, most = float(values.max()) * (1 + 1e-9), float(values.std()), 64
    bounds = returns._sizes(values, period, deviation, most, fine)
    # 40 points per frequency; peaks lie between them
    t = np.arange(1, 40 * most) * (2 * math.pi / period / 40)
    sizes = transform(values, t)
    peaks = np.flatnonzero((sizes[1:-1] >= sizes[:-2]) & (sizes[1:-1] >= sizes[2:])) + 1
    nearest = np.rint(t[peaks] * period / (2 * math.pi)).astype(int)
    assert len(peaks) > 5
    assert (sizes[peaks] <= bounds[nearest] + 1e-12).all()


@pytest.mark.parametrize("n", [64, 120, 300, 500])
@pytest.mark.parametrize("unit", one_in(3, [0.02, 0.0005, 0.0002]))
def test_a_lattice_under_noise_is_told_or_covered_by_the_error(n, unit):
    rng = np.random.default_rng(n)
    points = np.rint(rng.normal(0, 1, n) / unit).astype(np.int64)
    values = points * unit + rng.normal(0, unit * 1e-4, n)
    found = inversion.smooth_mean(values)
    if found is None:
        return
    # the noise moves a mean by 1e-5 units: the lattice's own distribution is the truth, at its points and between
    exact = lattice.distribution(lattice.resample_groups(points))
    for q in (0.001, 0.025, 0.4, 0.8, 0.99):
        k = exact.quantile(q)
        between = (k + 0.5) * unit / n
        assert found.at_most(between) == pytest.approx(exact.at_most(k), abs=found.error + 1e-9)


@pytest.mark.parametrize("signs", mostly_slow([False, True], 2))
@pytest.mark.parametrize("n", mostly_slow([64, 256, 600], 2))
def test_every_peak_beyond_the_band_is_counted(n, signs):
    """The sum of the bounds is at least the integral of the transform itself, as far as it can be followed."""
    rng = np.random.default_rng(n)
    steps = standardized(rng.integers(0, 2, n) + rng.normal(0, 0.03, n))
    power = n / 2 if signs else n

    def at_most(size):
        return np.asarray(np.exp(power * np.log((1 + size) / 2 if signs else size)))

    band = 40.0
    counted, _unseen = returns.beyond(steps, band, at_most)
    t = np.linspace(band, 20 * band, 15_000)
    truth = float((at_most(transform(steps, t)) / (math.pi * t)).sum() * (t[1] - t[0]))
    assert truth <= counted + 1e-12


def test_gaps_suffice_for_everyday_data():
    """No scan of 2^20 points for scores as they come."""
    rng = np.random.default_rng(1)
    for n in (256, 500, 1000, 10_000):
        for values in (rng.normal(size=n), rng.random(n), rng.gamma(2.0, 1.0, n), rng.standard_t(5, n)):
            steps = standardized(values)
            added, unseen = returns.beyond(steps, 30.0, inversion._power(n), scan=False)
            assert added < returns.TOLERATED
            assert unseen < 1e-5


@pytest.mark.parametrize("unit", [1e-3, 40.0])
def test_bounds_of_sizes_know_no_unit(unit):
    rng = np.random.default_rng(8)
    values = np.sort(rng.random(200))
    values -= values[0]
    period, deviation = float(values[-1]) * 1.5, float(values.std())
    bounds = returns._sizes(values, period, deviation, 64, 8)
    of_others = returns._sizes(values * unit, period * unit, deviation * unit, 64, 8)
    assert of_others == pytest.approx(bounds, rel=1e-9)
    # and are near what they bound, so that a bound of 1 everywhere would not do
    assert bounds[3:].max() < 0.7
