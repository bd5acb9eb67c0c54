"""Items in clusters: what the clustered tests report and warn about, said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.numeric.clusters import (
    ClusterSums,
    cluster_sums,
    codes_of,
    design_effect,
    intraclass_correlation,
    largest,
    size_cv,
)
from service.kernels.numeric.moments import difference_noise, paired_differences
from service.records import Record
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring.columns import require_equal_lengths, require_size, require_two_clusters
from service.stats.shared.declaring.common import Labels, PairedColumns, StatWarning
from service.stats.shared.declaring.fields import Clusters
from service.stats.shared.declaring.warnings import CAUTION, FEW_CLUSTERS, define

Estimand = Literal["item_weighted", "cluster_weighted"]
"""What a difference weights alike: items or clusters."""

FEW, ENOUGH, UNEVEN = 10, 30, 0.5
"""Clusters below which robust errors are too small; below which, or beyond which CV of their sizes, to take care."""
LEAST_DF = 4
MOST_SIZES = 200
NO_CLUSTERS = "the items were given without clusters"
"""Why a count of clusters is null."""

LOW_DF = define("LOW_DF", "caution", "Bell & McCaffrey (2002), Surv Methodol 28:169")


ClusterSizes = Annotated[
    list[int],
    Field(description="Items per cluster by first appearance, counts; the largest 200 where there are more."),
]
SizeCV = Annotated[float, Field(description="Coefficient of variation of the sizes, a ratio.")]
LargestShare = Annotated[float, Field(description="Share of all items in the largest cluster, a proportion.")]


class ClusterFacts(Record):
    """How the items fall into clusters."""

    n_clusters: int = Field(description="Clusters, a count.")
    n_nonzero: int = Field(description="Clusters whose differences do not sum to zero, a count.")
    sizes: ClusterSizes
    size_cv: SizeCV
    largest_share: LargestShare
    icc: float | None = Field(
        description="Intraclass correlation of the item differences, one-way ANOVA; may be negative."
    )
    design_effect: float | None = Field(
        description="CR1 variance over the variance of independent items, a ratio."
    )


@dataclass(frozen=True, eq=False)
class ClusteredPairs:
    """Item differences (n,), their cluster codes (n,), and the sums and sizes per cluster."""

    difference: NDArray[np.float64]
    codes: NDArray[np.int64]
    groups: ClusterSums

    def facts(self, reasons: dict[str, str], path: str = "clusters") -> ClusterFacts:
        """Return the diagnostics; a null gets its reason."""
        sizes = self.groups.sizes
        icc = intraclass_correlation(self.difference, self.codes)
        effect = design_effect(self.difference, self.groups)
        if icc is None:
            reasons[f"{path}.icc"] = "needs two items in some cluster, and differences that vary"
        if effect is None:
            reasons[f"{path}.design_effect"] = "the differences do not vary"
        listed_sizes = sizes if len(sizes) <= MOST_SIZES else np.sort(sizes)[::-1][:MOST_SIZES]
        return ClusterFacts(
            n_clusters=len(sizes),
            n_nonzero=int(np.count_nonzero(np.abs(self.groups.sums) > 1e-12 * largest(self.groups.sums))),
            sizes=[int(size) for size in listed_sizes],
            size_cv=size_cv(sizes),
            largest_share=float(sizes.max() / sizes.sum()),
            icc=icc,
            design_effect=effect,
        )

    def warnings(self) -> tuple[StatWarning, ...]:
        """Warn with FEW_CLUSTERS below 10; with CAUTION below 30 or when sizes differ much."""
        return cluster_warnings(self.groups.sizes)


def cluster_warnings(sizes: NDArray[np.float64]) -> tuple[StatWarning, ...]:
    """Warn with FEW_CLUSTERS below 10, with CAUTION below 30 or when sizes (G,) differ much; not without clusters."""
    g = len(sizes)
    if g == 0:
        return ()
    if g < FEW:
        return (FEW_CLUSTERS(n_clusters=g),)
    cv = size_cv(sizes)
    return (CAUTION(n_clusters=g, size_cv=cv),) if g < ENOUGH or cv > UNEVEN else ()


def warn_if_lopsided(residuals: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[StatWarning, ...]:
    """Warn with SKEWED, of what clusters add (G,), where they are enough and alike so that nothing else is said."""
    return (
        ()
        if cluster_warnings(sizes)
        else warn_if_skewed(residuals, "items" if np.all(sizes == 1) else "clusters")
    )


class PairedItems(PairedColumns):
    """Two arms on the same items, and optionally each item's cluster."""

    clusters: Clusters = None

    @model_validator(mode="after")
    def _require_fitting_clusters(self) -> Self:
        require_equal_lengths({"baseline": self.baseline, "clusters": self.clusters})
        require_two_clusters(self.clusters)
        return self


class ClusteredColumns(PairedColumns):
    """Two arms on the same items, and the cluster each item belongs to."""

    clusters: Labels = Field(description="Cluster of each item, a label per item, same order.")

    @cached_property
    def pairs(self) -> ClusteredPairs:
        """The differences of the items, summed by cluster."""
        return group_by_cluster(*self.arrays(), self.clusters)


def group_by_cluster(
    baseline: NDArray[np.float64], candidate: NDArray[np.float64], labels: Sequence[str] | Sequence[int]
) -> ClusteredPairs:
    """Return differences by cluster; refuse labels of another length and fewer than two clusters."""
    require_equal_lengths({"baseline": range(len(baseline)), "clusters": labels})
    require_size(baseline, "baseline")
    require_size(candidate, "candidate")
    codes = codes_of(labels)
    difference = paired_differences(baseline, candidate)
    groups = cluster_sums(difference, codes, difference_noise(baseline, candidate))
    if groups.n_clusters < 2:
        raise InvalidData.field(
            "clusters",
            "hold a single cluster, whose items say nothing about other clusters",
            "send at least two clusters, or a test for independent items",
        )
    return ClusteredPairs(difference, codes, groups)
