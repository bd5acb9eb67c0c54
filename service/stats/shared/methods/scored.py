"""What the answer of one mean says of its clusters, and of its intervals."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from service.kernels.numeric.clusters import design_effect, intraclass_correlation, size_cv
from service.kernels.pairs.mean_bounds import MeanBounds
from service.records import Record
from service.stats.shared.data.clustering import MOST_SIZES, ClusterSizes, LargestShare, SizeCV
from service.stats.shared.declaring.common import Interval, StatWarning
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.one_mean import FEW_ON_A_SIDE, OneMean

RARE_CLUSTERS = define("RARE_CLUSTERS", "caution", "Korn & Graubard (1998), Surv Methodol 24:193")


class ScoredClusters(Record):
    """How the items fall into clusters, and what that costs."""

    n_clusters: int = Field(description="Clusters, a count.")
    sizes: ClusterSizes
    size_cv: SizeCV
    largest_share: LargestShare
    icc: float | None = Field(
        description="Intraclass correlation of the items, one-way ANOVA; may be negative."
    )
    design_effect: float | None = Field(
        description="CR1 variance of the mean over that of independent items, a ratio."
    )
    effective_n: float | None = Field(
        description="Independent items that would tell as much: n / design_effect, a count."
    )
    cr0_se: float = Field(
        description="CR0 error, without any correction for the number of clusters, which many harnesses print; in the "
        "unit of the mean."
    )
    independent: Interval | None = Field(
        description="What the interval would be if the items were independent, which they are not shown to be: "
        "Wilson's of a share, Student's t of scores."
    )


def make_interval(named: tuple[str, MeanBounds], level: float) -> Interval:
    """Return the two-sided interval of bounds that have a name."""
    low, high = named[1].ends((1 - level) / 2)
    return Interval(low=low, high=high, level=level, method=named[0])


def describe_clusters(mean: OneMean, level: float, reasons: dict[str, str]) -> ScoredClusters | None:
    """Return what clusters make of one mean; None without any. A null gets its reason under `clusters`."""
    if mean.groups is None or mean.codes is None:
        return None
    sizes = mean.groups.sizes
    icc, effect = intraclass_correlation(mean.values, mean.codes), design_effect(mean.values, mean.groups)
    if icc is None:
        reasons["clusters.icc"] = "needs two items in some cluster, and values that vary"
    if effect is None:
        reasons["clusters.design_effect"] = "the values do not vary"
    if not effect:
        reasons["clusters.effective_n"] = "the design effect has no estimate, or is 0"
    if mean.as_if_independent is None:
        reasons["clusters.independent"] = "nothing varies"
    largest = sizes if len(sizes) <= MOST_SIZES else np.sort(sizes)[::-1][:MOST_SIZES]
    return ScoredClusters(
        n_clusters=len(sizes),
        sizes=[int(size) for size in largest],
        size_cv=size_cv(sizes),
        largest_share=float(sizes.max() / sizes.sum()),
        icc=icc,
        design_effect=effect,
        effective_n=len(mean.values) / effect if effect else None,
        cr0_se=mean.cr0,
        independent=None if mean.as_if_independent is None else make_interval(mean.as_if_independent, level),
    )


def rare_clusters(mean: OneMean) -> tuple[StatWarning, ...]:
    """Warn with RARE_CLUSTERS where clusters bad as a whole, or good, may be too rare to have been seen.

    Nothing in such data tells that there are any, so that it does not go by how alike items of a cluster were seen to
    be. Where nothing varies, clusters count as one item each, which knows of them.
    """
    if mean.groups is None or mean.scale is None or not mean.moments.sd:
        return ()
    clusters, rarer = mean.groups.n_clusters, mean.rarer_clusters
    if rarer >= FEW_ON_A_SIDE or len(mean.values) <= clusters:
        return ()
    return (RARE_CLUSTERS(n_clusters=clusters, rarer=rarer),)
