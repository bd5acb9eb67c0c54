"""Gaffke's bounds of many data sets by the saddle point: against the inversion, one data set at a time."""

from __future__ import annotations

import numpy as np
import pytest

from service.kernels.pairs import gaffke
from service.kernels.planning import gaffke_many
from tests.drawing import mostly_slow


def drawn() -> np.random.Generator:
    """The same for every test, in whichever order they run."""
    return np.random.default_rng(1)


SHAPES = {
    "normal": lambda n: np.clip(drawn().normal(0.1, 0.2, (4, n)), -1, 1),
    "ties": lambda n: drawn().choice([-1.0, 0, 0, 0, 0, 1], (4, n)),
    "rare": lambda n: drawn().choice([-1.0, 0.0, 0.1], (4, n), p=[0.02, 0.48, 0.5]),
    "skewed": lambda n: np.clip(0.1 - drawn().exponential(0.1, (4, n)), -1, 1),
    "alike": lambda n: np.full((4, n), 0.2),
    "all gained": lambda n: np.ones((4, n)),
}


@pytest.mark.parametrize("shape", mostly_slow(SHAPES, 8))
@pytest.mark.parametrize(("n", "close"), mostly_slow([(2, 0.008), (5, 0.006), (20, 0.003), (400, 0.0003)], 8))
def test_bounds_and_chances_agree_with_the_inversion(shape, n, close):
    values = SHAPES[shape](n)
    cells, shapes = gaffke_many.spread_over_grid(values)
    for alpha in (0.025, 0.1):
        low = gaffke_many.lower_ends(cells, shapes, -1.0, alpha)
        expected = [gaffke.lower_end(row, np.ones(n), np.ones(n), -1.0, 1.0, alpha) for row in values]
        assert low == pytest.approx(expected, abs=close)
    mean = float(np.median(expected))
    chances = gaffke_many.chances_below(cells, shapes, -1.0, mean)
    for row, chance in zip(values, chances, strict=True):
        exact = gaffke.chance_below(row, np.ones(n), np.ones(n), -1.0, 1.0, mean)
        assert min(chance, 1 - chance) == pytest.approx(min(exact, 1 - exact), rel=0.08, abs=1e-9)


def test_counts_are_values_that_repeat():
    counts = np.array([[3.0, 10, 7], [0, 12, 8], [20, 0, 0]])
    whole = [np.repeat([-1.0, 0, 1], row.astype(int)) for row in counts]
    low = gaffke_many.lower_ends(np.array([[-1.0, 0, 1]]), counts, -1.0, 0.05)
    every = [gaffke_many.lower_ends(row[None], np.ones((1, 20)), -1.0, 0.05)[0] for row in whole]
    assert low == pytest.approx(every, abs=1e-6)
    assert low[2] == -1.0


def test_a_bound_put_back_gives_its_level():
    values = SHAPES["skewed"](50)
    low = gaffke_many.lower_ends(values, np.ones((1, 50)), -1.0, 0.05)
    for row, end in zip(values, low, strict=True):
        assert gaffke_many.chances_below(row[None], np.ones((1, 50)), -1.0, float(end)) == pytest.approx(
            0.05, rel=1e-5
        )


def test_beyond_every_value_the_chance_is_1_and_at_the_limit_too():
    values = SHAPES["normal"](30)
    assert (gaffke_many.chances_below(values, np.ones((1, 30)), -1.0, 1.5) == 1).all()
    assert (gaffke_many.chances_below(values, np.ones((1, 30)), -1.0, -1.0) == 1).all()
