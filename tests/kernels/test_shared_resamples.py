"""Ends of resampled differences that many data sets share, by walking through them one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from service.kernels.planning.simulated_pairs import QUANTILE_SLACK, SharedResamples


def smallest_reaching(values, chances, level):
    """The smallest value with at least that chance at or below it."""
    reached = 0.0
    for value, chance in sorted(zip(values, chances, strict=True)):
        reached += chance
        if reached >= level - QUANTILE_SLACK:
            return value
    return max(values)


@pytest.mark.parametrize("units", [3, 6, 7, 60])  # listed with unlike chances, and drawn alike
@pytest.mark.parametrize("tied", [True, False])
def test_ends_are_the_smallest_values_that_reach_their_levels(units, tied):
    generator = np.random.default_rng([units, tied])
    shared = SharedResamples(generator.integers(1, 4, units), generator)
    sums = generator.integers(-1, 2, (5, units)) if tied else generator.normal(size=(5, units))
    deltas = shared.deltas(sums.astype(float))
    for levels in [(0.025, 0.975), (0.05, 0.95), (0.0005, 0.9995), (1e-9, 1 - 1e-9), (0.25, 0.5)]:
        by_definition = [
            [smallest_reaching(row, shared.chances, level) for row in deltas] for level in levels
        ]
        assert np.array_equal(shared.quantiles(deltas, levels), by_definition)
