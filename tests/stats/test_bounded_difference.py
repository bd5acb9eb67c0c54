"""Bounds of bounded scores: against Clopper and Pearson's, by what they have to hold, and in clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from service.errors import InvalidData
from service.kernels.numeric.clusters import cluster_sums, codes_of, robust_errors
from service.kernels.randomization.flip_interval import flip_interval
from service.stats.shared.methods.bounded import Bounded
from tests.stats.bodies import bodies_of_pairs, clustered
from tests.stats.cases import Cases
from tests.stats.oracle import ask

NAME = "bounded-difference"
RANGE = {"low": 0, "high": 1}


def analyse(baseline, candidate, **options):
    return ask(NAME, {"baseline": list(baseline), "candidate": list(candidate)}, **options).analysis


def codes(answer):
    return [each.code for each in answer.warnings]


def test_losses_alone_have_clopper_and_pearsons_bounds():
    # 3 of 40 items lost outright, the rest alike: two values, at 0 and at the greatest loss
    found = analyse([1] * 3 + [0.5] * 37, [0] * 3 + [0.5] * 37, range=RANGE)
    assert found.delta == pytest.approx(-3 / 40)
    assert found.ci.low == pytest.approx(-stats.beta.ppf(0.975, 4, 37), rel=1e-9)
    # all gained: the least p that so many items can give
    best = analyse([0] * 9, [1] * 9, alternative="greater")
    assert best.min_attainable_p == 2.0**-9
    assert best.p_value == pytest.approx(2.0**-9, rel=1e-12)
    assert best.ci.low == pytest.approx(2 * 0.025 ** (1 / 9) - 1, rel=1e-9)


def test_five_alike_and_one_gained_of_six_tell_nothing():
    found = analyse([0.5] * 6, [0.5] * 5 + [1], range=RANGE)
    assert found.ci.low < -0.4
    assert found.ci.high > 0.5
    assert found.p_value == 1.0


@pytest.mark.parametrize("n", [71, 72])
def test_72_items_alike_rule_out_a_loss_of_a_twentieth(n):
    low = analyse([0.5] * n, [0.5] * n, range=RANGE).ci.low
    assert low == pytest.approx(0.025 ** (1 / n) - 1, rel=1e-9)
    assert (low > -0.05) is (n == 72)


def test_a_wider_range_takes_more():
    rng = np.random.default_rng(1)
    baseline = rng.uniform(1, 5, 60)
    candidate = np.clip(baseline + rng.normal(0.2, 0.3, 60), 1, 5)
    lows = [analyse(baseline, candidate, range={"low": 1, "high": high}).ci.low for high in (5, 7, 10)]
    assert lows == sorted(lows, reverse=True)
    assert lows[0] > lows[2] + 0.1
    stretched = analyse(10 * baseline, 10 * candidate, range={"low": 10, "high": 50})
    assert stretched.ci.low == pytest.approx(10 * lows[0], rel=1e-9)


def test_p_is_the_interval_turned_around():
    rng = np.random.default_rng(2)
    difference = rng.choice([-1, -0.5, 0, 0.5, 1], 120, p=[0.03, 0.1, 0.6, 0.15, 0.12])
    labels = rng.integers(0, 14, 120)
    for groups in (None, codes_of(labels.tolist())):
        bounded = Bounded(difference, groups, 1.0)
        for alpha in (0.1, 0.025, 0.001):
            low, high = bounded.ends(alpha)
            assert bounded.p_above(low) == pytest.approx(alpha, rel=1e-6 if groups is None else 0.2)
            assert bounded.p_below(high) == pytest.approx(alpha, rel=1e-6 if groups is None else 0.2)


def test_each_end_in_clusters_is_the_furthest_of_three():
    rng = np.random.default_rng(3)
    sizes = np.maximum(1, rng.lognormal(2, 1.2, 20)).astype(int)
    groups = np.repeat(np.arange(20), sizes)
    difference = np.clip(rng.normal(0.1, 0.5, 20)[groups] + rng.normal(0, 0.2, len(groups)), -1, 1)
    low, high = Bounded(difference, groups, 1.0).ends(0.025)
    found = cluster_sums(difference, groups)
    error = robust_errors(found)["cr2"]
    half = stats.t.ppf(0.975, error.df) * error.se
    least, most = flip_interval(found.sums, found.sizes, 0.025)
    assert low <= max(min(found.item_weighted - half, least), -1) + 1e-12
    assert high >= min(max(found.item_weighted + half, most), 1) - 1e-12


def test_items_that_follow_their_cluster_count_for_less():
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(40), 10)
    alike = rng.choice([-0.5, 0, 0.5], 40)[groups]
    mixed = rng.permutation(alike)
    wide, narrow = Bounded(alike, groups, 1.0), Bounded(mixed, groups, 1.0)
    assert wide.design_effect > 8
    assert 1 <= narrow.design_effect < 2.5
    assert wide.ends(0.025)[0] < narrow.ends(0.025)[0] - 0.05


def test_clusters_that_do_not_differ_count_as_so_many_items():
    found = analyse([0.5] * 90, [0.5] * 90, clusters=[k // 10 for k in range(90)])
    assert found.design_effect == 10
    assert found.ci.low == pytest.approx(0.025 ** (1 / 9) - 1, rel=1e-9)


def test_whole_clusters_that_were_not_seen_take_more():
    rng = np.random.default_rng(5)
    body = {"baseline": [0.5] * 400, "candidate": (0.5 + rng.choice([0, 0.25], 400)).tolist()}
    body["clusters"] = [k // 20 for k in range(400)]
    items, clusters = (ask(NAME, body, unseen=each) for each in ("items", "clusters"))
    assert items.analysis.ci.low > 0.05
    assert clusters.analysis.ci.low < 0
    assert "UNSEEN_CLUSTERS" in codes(items)
    assert "UNSEEN_CLUSTERS" not in codes(clusters)
    # 20 clusters alike, one more at the limit: as of 20 items
    flat = analyse([0.5] * 400, [0.5] * 400, clusters=body["clusters"], unseen="clusters")
    assert flat.ci.low == pytest.approx(0.025 ** (1 / 20) - 1, rel=1e-9)


def test_fewer_than_six_clusters_leave_the_whole_range():
    found = analyse([0] * 20, [1] * 20, clusters=[k % 5 for k in range(20)])
    assert (found.ci.low, found.ci.high) == (-1, 1)
    assert found.p_value >= 0.05


def test_scores_outside_the_range_and_no_range_at_all_are_refused():
    with pytest.raises(InvalidData, match="lie outside 0 to 1"):
        analyse([1, 2, 3], [2, 3, 3])
    with pytest.raises(InvalidData, match="candidate holds 6"):
        analyse([1, 2, 3], [2, 6, 3], range={"low": 1, "high": 5})
    with pytest.raises(InvalidData, match="not above low"):
        analyse([1, 2, 3], [2, 3, 3], range={"low": 5, "high": 5})


def test_a_range_that_was_taken_is_said():
    body = {"baseline": [0.5, 0.2, 0.9], "candidate": [0.6, 0.3, 0.9]}
    assert "RANGE_TAKEN" in codes(ask(NAME, body))
    assert "RANGE_TAKEN" not in codes(ask(NAME, body, range=RANGE))
    assert "RANGE_TAKEN" not in codes(ask(NAME, {"baseline": [1, 0], "candidate": [1, 1]}))


@pytest.mark.slow
def test_a_million_items_are_answered():
    rng = np.random.default_rng(6)
    difference = np.clip(rng.normal(0.01, 0.2, 1_000_000), -1, 1)
    low, high = Bounded(difference, None, 1.0).ends(0.025)
    half = 1.96 * difference.std() / 1000
    assert low == pytest.approx(difference.mean() - half, abs=2e-5)
    assert high == pytest.approx(difference.mean() + half, abs=2e-5)


EVERY = {"range": {"low": -1e150 / 4, "high": 1e150 / 4}}

CASES = Cases(
    degenerate=lambda: [*bodies_of_pairs(), *bodies_of_pairs(**EVERY)],
    growing=[
        lambda k: {**clustered(2000 * k), "range": {"low": -20, "high": 20}},
        lambda k: {**clustered(2000 * k), "clusters": None, "range": {"low": -20, "high": 20}},
    ],
    mirrored={
        "binary": [{}],
        "paired scores": [{"range": {"low": -16, "high": 16}}],
        "clusters": [{"range": {"low": -16, "high": 16}}],
    },
    unsimulated="docs/rare-losses.md has its level, in worlds of bounded scores",
    varied={"unseen": ["items", "clusters"]},
    shown={"range": [{"low": -20, "high": 20}]},
)
