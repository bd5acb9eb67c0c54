"""The difference of every item that a hypothesis is judged on, and of every cluster."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.settings import Setting
from service.domain.verdicts.outcomes import PlanViolatedError, Rows
from service.domain.verdicts.pairs import pair_up
from service.records import Record


class ItemDifference(Record):
    """One item: what each arm had, in the unit of the endpoint."""

    item_id: str
    cluster: str | None
    baseline: float
    candidate: float

    @property
    def difference(self) -> float:
        """The candidate's outcome minus the baseline's."""
        return self.candidate - self.baseline


class ClusterDifference(Record):
    """One cluster: the mean difference of its items, and how many they are."""

    cluster: str
    n: int
    difference: float


def item_differences(setting: Setting, rows: Rows) -> tuple[ItemDifference, ...]:
    """Return the items of the verdict in the manifest's order; none of one arm, or where the results break the plan."""
    if setting.hypothesis.baseline is None:
        return ()
    try:
        paired = pair_up(setting, rows)
    except PlanViolatedError:
        return ()
    judged_on = paired.kept.tolist()
    clusters: Sequence[str | None] = [None] * len(judged_on)
    if paired.population.clusters is not None and paired.manifest.clusters is not None:
        clusters = paired.manifest.clusters
    columns = zip(
        compress(paired.manifest.item_ids, judged_on),
        compress(clusters, judged_on),
        paired.baseline.tolist(),
        paired.candidate.tolist(),
        strict=True,
    )
    return tuple(
        ItemDifference(item_id=item, cluster=cluster, baseline=baseline, candidate=candidate)
        for item, cluster, baseline, candidate in columns
    )


def cluster_differences(items: Sequence[ItemDifference]) -> list[ClusterDifference]:
    """Return the clusters by their mean difference, the least first."""
    values: dict[str, list[float]] = {}
    for item in items:
        if item.cluster is not None:
            values.setdefault(item.cluster, []).append(item.difference)
    clusters = [
        ClusterDifference(cluster=name, n=len(own), difference=float(np.mean(own)))
        for name, own in values.items()
    ]
    return sorted(clusters, key=lambda cluster: cluster.difference)


def bins_of(values: NDArray[np.float64], most: int = 25) -> list[tuple[float, float, int]]:
    """Counts of values by where they lie: each value its own bin where there are few, else bins of one width.

    Example:
        Differences of right and wrong: (-1, -1, 2), (0, 0, 5), (1, 1, 3).
    """
    known, counts = np.unique(np.round(values, 12), return_counts=True)
    if len(known) <= most:
        return [(float(at), float(at), int(count)) for at, count in zip(known, counts, strict=True)]
    heights, edges = np.histogram(values, bins=most)
    return [
        (float(low), float(high), int(count))
        for low, high, count in zip(edges[:-1], edges[1:], heights, strict=True)
    ]
