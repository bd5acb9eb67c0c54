"""Characteristic functions from power sums, held against their definition: sines and cosines in long doubles."""

from __future__ import annotations

import numpy as np
import pytest

from service.kernels.exact import characteristic
from service.kernels.exact.characteristic import (
    COSINE,
    EXPONENT,
    frequencies,
    power_of_mean,
    power_sums,
    product_of_cosines,
)

LENGTH = 60


def draw_steps(shape, n=300):
    """Steps about their mean whose squares add up to 1."""
    rng = np.random.default_rng(8)
    values = rng.normal(0, 1, n)
    if shape == "rising":
        values = rng.exponential(size=n)
    elif shape == "falling":
        values = -rng.exponential(size=n)
    elif shape == "heavy":
        values = rng.standard_t(1.5, n)
    steps = values - values.mean()
    return steps / np.sqrt(steps @ steps)


def define_power_of_mean(steps, t):
    angles = np.outer(t, steps).astype(np.longdouble)
    even, odd = np.cos(angles).mean(axis=1), np.sin(angles).mean(axis=1)
    size, angle = np.hypot(even, odd) ** len(steps), len(steps) * np.arctan2(odd, even)
    return size * np.cos(angle) + 1j * size * np.sin(angle)


def define_product_of_cosines(steps, t):
    return np.cos(np.outer(t, steps).astype(np.longdouble)).prod(axis=1)


@pytest.mark.parametrize("shape", ["normal", "rising", "falling", "heavy"])
@pytest.mark.parametrize("last", [0.5, 3.0, 9.0, 25.0, 60.0])
@pytest.mark.parametrize("n", [30, 300])
def test_the_error_is_what_is_promised(shape, last, n):
    steps = draw_steps(shape, n)
    t = frequencies(LENGTH, last)
    powers = power_of_mean(steps, last, LENGTH) - define_power_of_mean(steps, t)
    cosines = product_of_cosines(steps, last, LENGTH) - define_product_of_cosines(steps, t)
    assert np.abs(powers).max() < 1e-12
    assert np.abs(cosines).max() < 1e-12


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_step_beyond_the_series_is_taken_by_sines_on_either_side(side):
    # One step holds nearly all of the sum of squares; the others alone would leave the functions near 1.
    steps = np.concatenate([np.full(40, 1e-3), [side * np.sqrt(1 - 40e-6)]])
    for last in (COSINE * 1.5, EXPONENT * 1.5, 40.0):
        t = frequencies(LENGTH, last)
        powers = power_of_mean(steps, last, LENGTH) - define_power_of_mean(steps, t)
        cosines = product_of_cosines(steps, last, LENGTH) - define_product_of_cosines(steps, t)
        assert np.abs(powers).max() < 1e-12
        assert np.abs(cosines).max() < 1e-12


def test_the_series_has_no_more_terms_than_its_last_one_needs(monkeypatch):
    asked = []

    def count_terms(values, terms):
        asked.append(terms)
        return power_sums(values, terms)

    monkeypatch.setattr(characteristic, "power_sums", count_terms)
    steps = np.full(400, 0.05)
    steps[::2] *= -1
    # Term k of all steps together is at most last^2 (widest last)^(k - 2) / k!, here 100 / 2^(k - 2) / k!. Term 13 may
    # be 8e-12 and term 14 3e-13; term 15, below 1e-14, is the first that may be left out.
    power_of_mean(steps, 10.0, LENGTH)
    assert asked == [14]


def test_power_sums_are_sums_of_powers(monkeypatch):
    values = np.random.default_rng(3).uniform(-1.2, 1.2, 50)
    expected = [(values.astype(np.longdouble) ** k).sum() for k in range(31)]
    assert power_sums(values, 30) == pytest.approx(np.array(expected, float), rel=1e-13, abs=1e-13)
    monkeypatch.setattr(characteristic, "PART", 7)
    assert power_sums(values, 30) == pytest.approx(np.array(expected, float), rel=1e-13, abs=1e-13)
