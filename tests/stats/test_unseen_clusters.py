"""Clusters that are bad as a whole and were not seen: what bounds of one arm and of two reckon with."""

from __future__ import annotations

import numpy as np
import pytest

from service.stats.shared.data.score_range import UNIT
from service.stats.shared.methods.bounded import Bounded
from service.stats.shared.methods.one_mean import OneMean
from tests.stats.oracle import analyse, ask, codes

NAME = "one-sample-mean"
SEEN = {
    "values": [1.0] * 118 + [0.0] * 2,
    "clusters": [at // 20 for at in range(120)],
}
"""Six clusters of 20 items, two of which fail in the last."""


def test_the_bound_of_whole_clusters_reckons_with_a_part_of_one_that_was_not_seen():
    """By its definition, drawn: exponential weights of the clusters, and one of .4 clusters that is all wrong."""
    found = analyse(NAME, SEEN)
    weights = np.random.default_rng(4).exponential(size=(400_000, 7)) * np.array([20] * 6 + [8])
    means = weights @ np.array([1, 1, 1, 1, 1, 0.9, 0]) / weights.sum(axis=1)
    assert found.intervals["whole_clusters"].low == pytest.approx(np.quantile(means, 0.025), abs=0.002)
    assert found.ci.low == found.intervals["whole_clusters"].low


def test_clusters_much_alike_and_seldom_bad_are_seldom_beyond_the_bound():
    """Eight clusters with shares of their own, nine in ten right, correlation .3: the bound lay above that .075."""
    rng, codes = np.random.default_rng(11), np.repeat(np.arange(8), 20)
    beyond = []
    for _ in range(300):
        right = rng.random(160) < rng.beta(2.1, 2.1 / 9, 8)[codes]
        mean = OneMean(right.astype(float), codes, UNIT)
        alone = [mean.beside[name].p_above(0.9) for name in ("cr2_t", "korn-graubard") if name in mean.beside]
        beyond.append([mean.deciding[1].p_above(0.9) < 0.025, max(alone) < 0.025])
    now, before = np.mean(beyond, axis=0)
    assert before > 0.06
    assert now < 0.03


def test_clusters_bad_as_a_whole_may_be_too_rare_to_have_been_seen():
    def warned(rarer, clusters, size=4):
        values = [0] * rarer + [1] * (clusters * size - rarer)
        return "RARE_CLUSTERS" in codes(
            ask("one-sample-mean", {"values": values, "clusters": [at // size for at in range(len(values))]})
        )

    assert warned(4, 10)
    assert warned(11, 10)  # 2.75 clusters' worth
    assert not warned(12, 10)
    assert not warned(0, 10)  # nothing varies: each cluster counts as one item
    assert not warned(2, 20, size=1)  # independent items


def test_the_part_is_no_more_than_the_clusters_being_alike_calls_for():
    """Of independent items in 40 clusters of very unlike sizes a fifth of a cluster left .22 of such calls."""
    rng, called = np.random.default_rng(8), []
    for _ in range(40):
        sizes = np.maximum(1, np.round(rng.lognormal(np.log(15), 1.2, 40))).astype(int)
        codes = np.repeat(np.arange(40), sizes)
        differs = rng.random(len(codes)) < 0.1
        difference = np.where(differs, rng.choice([-1.0, 1.0], len(codes)), 0.0)
        called.append(Bounded(difference, codes, 1.0).p_above(-0.05) < 0.025)
    assert np.mean(called) > 0.8


def test_clusters_much_alike_that_seldom_lose_are_seldom_called_no_worse():
    """Twenty clusters, a twentieth of items lost, correlation .3: without a part of an unseen cluster .075 were."""
    rng, codes = np.random.default_rng(3), np.repeat(np.arange(20), 20)
    called = []
    for _ in range(160):
        lost = rng.random(400) < rng.beta(7 / 60, 133 / 60, 20)[codes]
        called.append(Bounded(-lost.astype(float), codes, 1.0).p_above(-0.05) < 0.025)
    assert np.mean(called) < 0.05
