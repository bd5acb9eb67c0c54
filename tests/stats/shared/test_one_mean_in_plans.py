"""Bounds of one mean on many data sets at once are those of one data set, and the rules' power and level are theirs."""

from __future__ import annotations

import numpy as np
import pytest

from service.stats.shared.data.score_range import UNIT
from service.stats.shared.methods.one_mean import OneMean
from service.stats.shared.methods.one_mean_in_plans import OneMeanSets
from tests.drawing import mostly_slow

SIZES = {"equal": np.full(12, 8), "unequal": np.array([40, 20, 9, 8, 5, 5, 3, 2, 2, 1, 1])}


@pytest.mark.parametrize("name", mostly_slow(SIZES))
@pytest.mark.parametrize("binary", mostly_slow([True, False]))
def test_of_clusters_as_one_by_one(name, binary):
    rng, sizes = np.random.default_rng(5), SIZES[name]
    codes = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.beta(6, 2, (8, len(sizes)))[:, codes]
    values = (
        (rng.random(shared.shape) < shared).astype(float)
        if binary
        else (shared + rng.random(shared.shape)) / 2
    )
    values[0] = 1.0  # nothing varies
    many = OneMeanSets(values, sizes, UNIT)
    for limit in (0.5, 0.7, 0.9):
        single = [OneMean(row, codes, UNIT, furthest=True).deciding[1] for row in values]
        close = 0.01  # of scores, and of whole clusters, by the saddle point
        assert many.p_above(limit) == pytest.approx([each.p_above(limit) for each in single], abs=close)
        assert many.p_below(limit) == pytest.approx([each.p_below(limit) for each in single], abs=close)
        low = np.array([each.ends(0.025)[0] for each in single])
        clear = np.abs(low - limit) > 1e-3
        assert ((many.margins("low", limit, 0.025) >= limit) == (low >= limit))[clear].all()


@pytest.mark.parametrize("share", ["clopper-pearson", "wilson", "jeffreys"])
def test_of_counts_as_of_values(share):
    n = 23
    values = np.array([[1.0] * right + [0.0] * (n - right) for right in range(n + 1)])
    one = OneMeanSets(values, None, UNIT, share)
    other = OneMeanSets(None, None, UNIT, share, np.arange(n + 1.0), n)
    single = [OneMean(row, None, UNIT, share).deciding[1] for row in values]
    assert one.p_above(0.8) == pytest.approx(other.p_above(0.8), abs=0)
    assert one.p_above(0.8) == pytest.approx([each.p_above(0.8) for each in single], abs=1e-12)
    assert one.means == pytest.approx(other.means, abs=1e-12)


def test_nothing_lies_beyond_an_end():
    values = np.ones((1, 5))
    assert OneMeanSets(values, None, UNIT).p_above(1.0)[0] == 0.0
    assert OneMeanSets(values, None, UNIT).p_above(0.0)[0] == 1.0
