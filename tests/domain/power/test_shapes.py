"""The shapes of scores: their means, what is tied, bounds, and sums over units."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from scipy import stats

from service.domain.power.distributions.shapes import ShapeName, by_mean, every_shape, shape_of_pilot

SHAPES = [*every_shape(), shape_of_pilot([-3.0, 0.0, 0.0, 0.5, 0.7, 2.0, 0.0, 0.1])]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
@pytest.mark.parametrize("span", [None, 1.0])
@pytest.mark.parametrize("truth", [0.0, -0.1])
def test_the_mean_lies_exactly_at_the_truth_within_the_scale(shape, span, truth):
    placed = shape.at(truth, 0.4, span, by_mean)
    assert placed.mean == pytest.approx(truth, abs=1e-11)
    drawn = placed.draw(np.random.default_rng(1), (200, 500))
    assert drawn.mean() == pytest.approx(truth, abs=5 * placed.sd / np.sqrt(drawn.size))
    assert drawn.std() == pytest.approx(placed.sd, rel=0.05)
    assert span is None or np.abs(drawn).max() <= span
    if span is None and truth == 0:
        assert placed.sd == pytest.approx(0.4)


def test_ties_stay_ties_where_the_claim_fails_at_a_margin():
    for shape in SHAPES:
        at_zero, at_margin = (shape.at(truth, 0.4, None, by_mean) for truth in (0.0, -0.05))
        shares = [
            (each.draw(np.random.default_rng(2), (1, 40_000)) == 0).mean() for each in (at_zero, at_margin)
        ]
        assert shares[0] == pytest.approx(shares[1], abs=0.02)
        assert bool(shares[0] > 0.3) is (
            shape.name in ("ties", "steps", "rare_losses", "rare_gains", "pilot")
        )


def test_a_shape_is_what_its_name_says():
    by_name = {each.name: each for each in every_shape()}
    assert set(by_name) == set(get_args(ShapeName)) - {"pilot", "unseen_losses", "unseen_gains"}
    assert by_name["skewed_left"].quantile(0.5) > 0.1
    assert by_name["rare_losses"].skewness < -3
    assert by_name["skewed_left"].skewness == pytest.approx(-by_name["skewed_right"].skewness)
    drawn = by_name["normal"].draw(np.random.default_rng(3), (20_000,))
    assert stats.kstest(drawn, "norm").pvalue > 0.01


@pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.name)
def test_sums_over_units_have_the_moments_of_correlated_items(shape):
    """Variance of a unit's sum: m sd^2 (1 + (m - 1) icc); its skewness is that of m items where none correlate."""
    sizes = np.array([1, 4, 25])
    sums = shape.draw_sums(np.random.default_rng(4), 60_000, sizes, 0.3)
    assert sums.mean(axis=0) == pytest.approx([0.0] * 3, abs=0.3)
    assert sums.var(axis=0) == pytest.approx(sizes * (1 + (sizes - 1) * 0.3), rel=0.12)
    alone = shape.draw_sums(np.random.default_rng(5), 60_000, sizes, 0.0)
    assert stats.skew(alone[:, 2]) == pytest.approx(shape.skewness / 5, abs=0.12)


def test_a_pilot_that_does_not_vary_has_no_shape():
    assert shape_of_pilot([1.0, 1.0, 1.0]) is None
