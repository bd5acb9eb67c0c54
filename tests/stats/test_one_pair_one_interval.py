"""One pair of arms has one interval: a comparison, a ranking of the two and their runs give the same."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.kernels.numeric.clusters import cluster_sums, robust_errors
from service.kernels.planning.many_clusters import ManyPairs
from service.stats.leaderboard import clustered
from service.stats.shared.methods.bounded import Bounded
from tests.drawing import one_in
from tests.stats.oracle import analyse

SIZES = [31, 8, 14, 22, 9, 17, 40, 12, 6, 25, 11]
CODES = np.repeat(np.arange(len(SIZES)), SIZES)


def drawn(kind, seed, arms=2):
    rng = np.random.default_rng(seed)
    chance = 0.5 + rng.normal(0, 0.15, (len(SIZES), arms))[CODES] + np.linspace(0, 0.15, arms)
    if kind == "scores":
        return np.clip(chance + 0.1 * rng.standard_normal(chance.shape), 0, 1)
    if kind == "grades":
        return np.round(8 * chance + rng.standard_normal(chance.shape))
    return (rng.random(chance.shape) < chance).astype(float)


def compared(columns, codes):
    item_ids = [str(at) for at in range(len(columns))]
    body = {
        name: {"item_ids": item_ids, "values": column.tolist()}
        | ({} if codes is None else {"clusters": [f"c{code}" for code in codes]})
        for name, column in zip(("baseline", "candidate"), columns.T, strict=True)
    }
    return compare(ComparisonRequest.model_validate(body))


@pytest.mark.parametrize("kind", one_in(3, ["right", "scores", "grades"]))
@pytest.mark.parametrize("codes", [CODES, None])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_comparison_a_ranking_and_runs_give_one_interval(kind, codes, seed):
    columns = drawn(kind, seed)
    gate = compared(columns, codes).ci
    more = {} if codes is None else {"clusters": codes.tolist()}
    runs = {
        name: [[value] for value in column.tolist()]
        for name, column in zip(("baseline", "candidate"), columns.T, strict=True)
    }
    noise = analyse("repeated", {**runs, **more, "n_resamples": 100}).ci_unseen
    assert (noise.low, noise.high) == (pytest.approx(gate.low, abs=1e-9), pytest.approx(gate.high, abs=1e-9))
    assert noise.method == gate.method
    arms = dict(zip(("baseline", "candidate"), columns.T.tolist(), strict=True))
    (pair,) = analyse("leaderboard", {"arms": arms, **more, "n_resamples": 1000}).pairs
    ends = (pair.ci.low, pair.ci.high) if pair.first == "candidate" else (-pair.ci.high, -pair.ci.low)
    assert ends == (pytest.approx(gate.low, abs=1e-9), pytest.approx(gate.high, abs=1e-9))
    exact = kind == "right" and codes is None  # the exact test has to reject as well
    assert pair.apart == (not gate.low <= 0 <= gate.high and (not exact or pair.p_value < 0.05))
    assert pair.apart == (pair.p_value < 0.05)


@pytest.mark.parametrize("kind", ["right", "scores", "grades"])
def test_no_pair_of_many_arms_in_clusters_is_bounded_closer_than_alone(kind):
    columns = drawn(kind, 5, 4)
    better = {"better": "lower"} if kind == "grades" else {}
    arms = {f"s{arm}": column.tolist() for arm, column in enumerate(columns.T)}
    board = analyse("leaderboard", {"arms": arms, "clusters": CODES.tolist(), **better})
    limit = float(np.ptp(columns)) if kind == "grades" else 1.0
    for pair in board.pairs:
        one, other = (columns[:, int(name[1])] for name in (pair.first, pair.second))
        low, high = Bounded((one - other) * (-1 if better else 1), CODES, limit).ends(0.025)
        assert pair.ci.low <= low + 0.01 * limit
        assert pair.ci.high >= high - 0.01 * limit
        assert pair.apart == (not pair.ci.low <= 0 <= pair.ci.high)


def test_many_pairs_with_gaps_are_bounded_as_each_alone():
    """By the saddle point, beside the inversion of every pair by itself."""
    rng = np.random.default_rng(8)
    columns = drawn("scores", 8, 3)
    columns[rng.random(columns.shape) < 0.2] = np.nan
    present = ~np.isnan(columns)
    starts = np.flatnonzero(np.r_[True, CODES[1:] != CODES[:-1]])
    table = clustered._Columns(np.where(present, columns, 0.0), present, starts, binary=False)
    first, second = np.triu_indices(3, 1)
    many = table.pairs(first, second)
    assert isinstance(many, ManyPairs)
    lows, chances = many.low(0.01), many.above_zero()
    for at, (i, j) in enumerate(zip(first, second, strict=True)):
        both = present[:, i] & present[:, j]
        difference, codes = columns[both, i] - columns[both, j], CODES[both]
        error = robust_errors(cluster_sums(difference, codes))["cr2"]
        assert (many.robust[0][at], many.robust[1][at]) == (pytest.approx(error.se), pytest.approx(error.df))
        bounded = Bounded(difference, codes, 1.0)
        side, unit = bounded._above, bounded._unit
        assert many.worth[at] == pytest.approx(side.worth, rel=1e-3)  # values of items lie on a grid
        expected = unit * min(side._of_items(0.01), side._of_clusters(0.01))
        assert lows[at] == pytest.approx(expected, abs=0.005)
        expected = max(side._chance_of_items(0.0), side._chance_of_clusters(0.0))
        assert chances[at] == pytest.approx(expected, rel=0.1, abs=1e-3)
