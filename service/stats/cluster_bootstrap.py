"""Bootstrap of a difference when items come in clusters: clusters are resampled with all their items."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from service.kernels.bootstrap.bootstrap_draws import seed_cluster_means
from service.kernels.numeric.clusters import ClusterSums
from service.kernels.numeric.distributions import BootstrapDistribution
from service.kernels.numeric.metrics import ratio_units
from service.stats.shared.data.clustering import ClusteredColumns, ClusterFacts, Estimand, warn_if_lopsided
from service.stats.shared.data.pairs import NO_DISCORDANT
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.certainty import Support
from service.stats.shared.declaring.columns import is_binary
from service.stats.shared.declaring.common import StatWarning
from service.stats.shared.declaring.fields import DiscordantCount, ItemCount
from service.stats.shared.declaring.plan_use import PlanUse, Spoken
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.seconds import LOOK, metric_seconds, scores_seconds
from service.stats.shared.declaring.sentences import ci_of, describe_sides, difference_of, in_clusters
from service.stats.shared.declaring.simulated import RESAMPLED
from service.stats.shared.declaring.warnings import NOTHING_VARIES
from service.stats.shared.methods import resampling
from service.stats.shared.methods.drawing import Drawing, Resampled, blocks_of, of_metric, of_ratio
from service.words import message, speak


class ClusterBootstrapRequest(ClusteredColumns, Resampled):
    """Two arms on the same items, and each item's cluster."""

    elsewhere: ClassVar = {"margin": "equivalence", "metric": "randomization"}

    estimand: Estimand = Field(
        "item_weighted",
        description="`item_weighted`: every item counts alike; `cluster_weighted`: every cluster does.",
    )

    @cached_property
    def weighted(self) -> ClusterSums:
        """The clusters as the estimand weights them."""
        groups = self.pairs.groups
        # A mean of cluster means is the item-weighted mean of clusters of size 1: everything below reads sums /
        # sizes.
        return groups if self.estimand == "item_weighted" else groups.by_cluster()

    @property
    @override
    def delta(self) -> float:
        """The observed difference of the estimand, candidate minus baseline, outcome units."""
        return self.weighted.item_weighted

    @cached_property
    @override
    def exact(self) -> BootstrapDistribution | None:
        """The distribution by the literal recipe or without drawing; None where blocks are drawn."""
        groups = self.weighted
        if self.method == "studentized":
            return None
        if self.convention == "seed":
            return seed_cluster_means(groups.sums, groups.sizes, self.draws, self.first_seed)
        return resampling.exact_ratio(groups.sums, groups.sizes)

    @property
    @override
    def drawing(self) -> Drawing:
        """What is drawn where nothing is exact."""
        groups, seed = self.weighted, self.first_seed
        if self.method == "studentized":
            return of_metric(ratio_units(groups.sums, groups.sizes), seed, studentize=True)
        return of_ratio(groups.sums, groups.sizes, seed)


class ClusterBootstrapAnalysis(resampling.BootstrapAnalysis):
    """What the bootstrap of clusters found."""

    estimand: Estimand = Field(description="What delta weights alike: items or clusters.")
    estimates: dict[Estimand, float] = Field(description="Delta under both estimands, outcome units.")
    n: ItemCount
    n_clusters: int = Field(description="Clusters, a count.")
    n_discordant: DiscordantCount
    clusters: ClusterFacts = Field(description="Sizes and dependence of the clusters.")


def _estimate_cost(request: ClusterBootstrapRequest) -> float:
    n, groups, draws = len(request.clusters), request.weighted, request.draws
    g, reading = groups.n_clusters, 1e-6 * n
    if request.method == "studentized":
        return metric_seconds(ratio_units(groups.sums, groups.sizes), draws, studentize=True) + reading
    if request.convention == "seed":
        return 0.002 + (2e-5 + 7e-9 * g) * draws + reading
    alike = bool(np.all(groups.sizes == groups.sizes[0]))
    return scores_seconds(groups.sums[:LOOK], g, draws, alike=alike) + reading


ROUNDING = 1e-12
"""A standard error below this share of the largest difference is rounding: 0.3 - 0.1 is not 0.4 - 0.2."""


def _analyse(
    request: ClusterBootstrapRequest, distribution: BootstrapDistribution
) -> ClusterBootstrapAnalysis:
    """Return the answer from the bootstrap distribution of the clusters."""
    pairs = request.pairs
    weighted = request.weighted
    delta = weighted.item_weighted
    units = ratio_units(weighted.sums, weighted.sizes)
    read = resampling.Reading(
        request,
        delta,
        resampling.resolution_of(distribution, pairs.groups.n_clusters),
        # Delete-one-cluster (Efron & Tibshirani 1993, eq. 14.15): the cluster is the unit that was sampled.
        acceleration=units.acceleration() if request.method == "bca" else None,
        se=units.standard_error(),
        support=Support.of_units(weighted.sums, weighted.sizes),
    ).fields(distribution)
    n_discordant = int(np.count_nonzero(pairs.difference))
    warnings: list[StatWarning] = [*read.pop("warnings"), *pairs.warnings()]
    if n_discordant == 0:
        warnings.append(NO_DISCORDANT())
    # No spread between clusters: the interval would be one point, which `flat` keeps from deciding anything.
    if read["bootstrap_se"] <= ROUNDING * float(np.abs(pairs.difference).max()):
        resampling.flat(read, differs=delta != 0)
        warnings += [NOTHING_VARIES(unit="cluster")] if n_discordant else []
    warnings += resampling.warn_if_dominated(read, weighted)
    if units.standard_error():
        warnings += warn_if_lopsided(units.linearize(), pairs.groups.sizes)
    ci, n, g = read["ci"], len(pairs.difference), pairs.groups.n_clusters
    binary = is_binary(*request.arrays())
    interval = message("analyses.no_interval_spread", method=ci.method)
    if ci.low is not None and "ci" not in read["undecided"]:
        interval = ci_of(ci, binary=binary, phrase="ci_cluster_bootstrap", method=ci.method)
    return ClusterBootstrapAnalysis(
        **read,
        estimand=request.estimand,
        estimates={
            "item_weighted": pairs.groups.item_weighted,
            "cluster_weighted": pairs.groups.cluster_weighted,
        },
        n=n,
        n_clusters=g,
        n_discordant=n_discordant,
        clusters=pairs.facts(read["reasons"]),
        warnings=tuple(warnings),
        sentence=speak(
            "analyses.cluster_bootstrap",
            delta=difference_of(delta, binary=binary),
            estimand=request.estimand,
            interval=interval,
            where=in_clusters(n, g),
            alternative=describe_sides(request.alternative),
            decision=resampling.state_decision(read, request.alpha, warnings),
        ),
    )


BLOCKS = blocks_of(_analyse)


SHOWS: shows.Shows = {**resampling.SHOWS, "estimates.*": shows.Estimate(), **shows.no_meaning("clusters.*")}


@stat_test(
    name="cluster-bootstrap",
    version=1,
    title="Cluster bootstrap",
    asked="clusters",
    example={
        "baseline": [0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0],
        "candidate": [1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0],
        "clusters": [*["a"] * 4, *["b"] * 6, *["c"] * 10],
    },
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="required",
        shows=SHOWS,
        simulated=RESAMPLED,
        drawn=lambda _parameter: True,
        spoken=Spoken(
            "bootstrap",
            resampling.BOOTSTRAP_WORDS,
            "clustered_bootstrap",
            frozenset({True}),
            rank=2,
            parameters=resampling.level_of_text,
            intervals=True,
            beside=True,
        ),
        differences_alone=True,
    ),
    blocks=BLOCKS,
)
def cluster_bootstrap(request: ClusterBootstrapRequest) -> ClusterBootstrapAnalysis:
    """Give the distribution of the difference over resamples of whole clusters, its interval and p-value.

    G clusters are drawn G times with replacement, each with all its items; delta* is the pooled
    difference of what was drawn, a ratio of sums. Clusters are independent, items within them need
    not be. H0 of the p-value: delta* - delta has the law that delta has without an effect.

    Returns:
        delta: the observed difference for the estimand; the mean of delta* is in `bootstrap_mean`.
        ci: percentile, basic, bca (delete-one-cluster) or studentized (CR1) interval.
        p_value: P(delta* >= 2 delta); see `alternative`.
        route: enumeration of all multisets where there are at most 1,352,078 (12 clusters; more when some
            have size and sum in common), lattice when the sums lie on a grid (window up to 2^21 points),
            inversion with its error (below .005) in `provenance`, else monte_carlo with
            p = (1 + count) / (B + 1).

    Raises:
        InvalidData: one cluster, columns of different length, or `studentized` when more than 1 % of the
            resamples have no spread.

    Edge cases:
        Fewer than 10 clusters: warning FEW_CLUSTERS, the percentile interval is too short.
        Skewed sums of clusters: warning SKEWED. A p that inversion cannot tell from alpha: ERROR_UNRESOLVED.
        Clusters that do not vary: the interval is the single point delta, and no rule may rest on it or on
            p (`undecided`). Drawn numbers: `within` gives four Monte-Carlo standard errors to either side.
        One cluster with more than 15 % of the items, and twice an equal share: rules take p for no smaller than that of
            the clusters' signs, in `within`: warning LOPSIDED_RESAMPLES.
        No resample reaches 2 delta: p is given as a bound, never 0. Rules take it for no smaller than the chance
            of such signs of clusters alone, in `within`: warning BEYOND_RESAMPLES.
        p below 2^-m (twice that, two-sided) where m of up to 88 clusters differ: rules take it for no smaller, in
            `within`: warning FEW_SIGNS.
        convention `seed`: default_rng(42), 2000 draws, np.percentile, p = count / B.

    Sources:
        Davison & Hinkley (1997), Bootstrap Methods and their Application, 3.8.
        Field & Welsh (2007), J R Stat Soc B 69:369.
        Cameron, Gelbach & Miller (2008), Rev Econ Stat 90:414 (few clusters).

    Example:
        Three clusters of 4, 6 and 10 items with difference sums 2, -1 and 3: ten multisets,
        delta .2, percentile interval -1/6 to 1/2, P(delta* <= 0) = 4/27.
    """
    return BLOCKS.whole(request)
