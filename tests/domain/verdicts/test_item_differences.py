"""Differences by item and cluster, and their bins, by definition."""

from __future__ import annotations

import numpy as np

from service.domain.verdicts.item_differences import ItemDifference, bins_of, cluster_differences


def of(cluster: str | None, baseline: float, candidate: float) -> ItemDifference:
    return ItemDifference(item_id="i", cluster=cluster, baseline=baseline, candidate=candidate)


def test_clusters_stand_by_their_mean_difference() -> None:
    items = [of("a", 0, 1), of("a", 1, 1), of("b", 1, 0), of(None, 0, 1)]
    assert [(each.cluster, each.n, each.difference) for each in cluster_differences(items)] == [
        ("b", 1, -1.0),
        ("a", 2, 0.5),
    ]


def test_few_values_are_bins_of_their_own_and_many_share_bins_of_one_width() -> None:
    few = bins_of(np.array([-1.0, 0.0, 0.0, 1.0, 0.1 + 0.2 - 0.3]))
    assert few == [(-1.0, -1.0, 1), (0.0, 0.0, 3), (1.0, 1.0, 1)]
    many = bins_of(np.linspace(-1, 1, 101), most=4)
    assert sum(count for _, _, count in many) == 101
    assert [round(high - low, 9) for low, high, _ in many] == [0.5] * 4
