"""Bounds of many data sets in clusters, for power and levels: as of each data set alone."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.power.distributions.shapes import find_shape, sums_of
from service.stats.shared.declaring.simulated import Units
from service.stats.shared.methods.bounded import Bounded
from service.stats.shared.methods.bounded_in_plans import bound_sets

SIZES = np.array([20, 12, 9, 5, 5, 3, 2, 1, 1, 1, 1, 1])


def scores(rng, sets):
    drawn = find_shape("rare_losses").scale(0.2).move(0.05).draw_items(rng, sets, SIZES, 0.2)
    return np.clip(drawn, -1, 1)


@pytest.mark.parametrize("unseen", ["items", "clusters"])
@pytest.mark.parametrize("kind", ["scores", "binary"])
def test_many_data_sets_are_bounded_as_each_alone(unseen, kind):
    rng = np.random.default_rng(5)
    items, won = scores(rng, 4), None
    if kind == "binary":
        items = rng.choice([-1.0, 0.0, 1.0], (4, SIZES.sum()), p=[0.1, 0.6, 0.3])
        won = tuple(sums_of(items == sign, SIZES).astype(np.int64) for sign in (1, -1))
    units = Units(SIZES, sums_of(items, SIZES), won, True, 1, items=None if won else items)
    many, codes = bound_sets(units, 1.0, unseen), np.repeat(np.arange(len(SIZES)), SIZES)
    low, high = many.ends(0.025)
    above, below = many.above(-0.1), many.below(0.05)
    for at, each in enumerate(items):
        alone = Bounded(each, codes, 1.0, unseen)
        assert (low[at], high[at]) == pytest.approx(alone.ends(0.025), abs=0.015)
        assert (above[at], below[at]) == pytest.approx((alone.p_above(-0.1), alone.p_below(0.05)), abs=0.03)


def test_sums_alone_say_nothing_of_items():
    units = Units(SIZES, np.zeros((2, len(SIZES))), None, True, 1)
    assert bound_sets(units, 1.0) is None


def test_items_of_a_unit_correlate_as_asked_and_keep_their_shape():
    shape = find_shape("rare_losses")
    drawn = shape.draw_items(np.random.default_rng(6), 20_000, np.array([2, 1]), 0.3)
    assert np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1] == pytest.approx(0.3, abs=0.03)
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 2])[0, 1]) < 0.03
    assert set(np.unique(drawn)) <= set(shape.quantiles)
    assert drawn.mean(axis=0) == pytest.approx(shape.mean, abs=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_who_asks_for_clusters_not_seen_is_never_told_less(seed):
    """Clusters of one item each but one have fewer items than clusters at risk: items bounded alone lay further out."""
    rng = np.random.default_rng(seed)
    (items,), codes = scores(rng, 1), np.repeat(np.arange(len(SIZES)), SIZES)
    items = items + 0.2 * (codes == 0)
    (low, high), (wide_low, wide_high) = (
        Bounded(np.clip(items, -1, 1), codes, 1.0, unseen).ends(0.025) for unseen in ("items", "clusters")
    )
    assert wide_low <= low
    assert wide_high >= high
