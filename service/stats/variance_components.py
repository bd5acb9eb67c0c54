"""Where the spread of scores comes from: runs of the same item, items, or clusters of items."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.kernels.numeric.clusters import cluster_sums, codes_of, design_effect, robust_errors
from service.kernels.numeric.moments import binary_unit
from service.kernels.repeats.variance_split import run_variance, split
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.data.replicates import Replicates, item_means
from service.stats.shared.declaring.columns import require_equal_lengths, require_two_clusters
from service.stats.shared.declaring.common import Analysis, Request, StatWarning
from service.stats.shared.declaring.fields import (
    ClusterCount,
    Clusters,
    ItemCount,
    LeastRuns,
    MostRuns,
    ValueCount,
)
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.warnings import NEGATIVE_COMPONENT, define
from service.words import message, speak

SINGLE_RUN = define("SINGLE_RUN", "caution", "Searle, Casella & McCulloch (1992), Variance Components, 3")
FEW_REPEATS = define("FEW_REPEATS", "caution", "Searle, Casella & McCulloch (1992), Variance Components, 3.6")
FEW_DF = 10
"""Degrees of freedom below which a variance is hardly known."""


class VarianceComponentsRequest(Request):
    """One arm's scores, items by runs."""

    values: Replicates = Field(
        description="One list per item with the scores of its runs; lengths may differ."
    )
    clusters: Clusters = None

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        require_equal_lengths({"values": self.values})
        require_equal_lengths({"values": self.values, "clusters": self.clusters})
        require_two_clusters(self.clusters)
        return self


class VarianceComponentsAnalysis(Analysis):
    """How the variance splits. Components are unbiased and may be negative."""

    mean: float = Field(description="Mean of the item means, score units.")
    se: float | None = Field(description="Standard error of that mean (CR1 with clusters), score units.")
    se_many_runs: float | None = Field(
        description="What the standard error would be with endless runs of the same items, score units."
    )
    within_items: float | None = Field(description="Variance of runs of one item, score units squared.")
    between_items: float | None = Field(
        description="Variance between items (within clusters), score units squared."
    )
    between_clusters: float | None = Field(description="Variance between clusters, score units squared.")
    icc: float | None = Field(
        description="Share of a single run's variance that lies between items (and clusters), a proportion."
    )
    icc_clusters: float | None = Field(
        description="Share of the variance of an item's true score that lies between clusters, a proportion."
    )
    reliability: float | None = Field(
        description="Share of the variance of item means that is not run-to-run noise, a proportion."
    )
    design_effect: float | None = Field(
        description="CR1 variance of the mean over that of independent items, a ratio."
    )
    n: ItemCount
    n_values: ValueCount
    n_clusters: ClusterCount
    least_runs: LeastRuns
    most_runs: MostRuns


def _estimate_cost(request: VarianceComponentsRequest) -> float:
    # The first thousand items stand for all of them: a look at every list would cost as much as the answer.
    looked_at = request.values[:1000]
    return 0.0015 + 3e-7 * sum(len(runs) for runs in looked_at) / len(looked_at) * len(request.values)


@stat_test(
    name="variance-components",
    version=1,
    title="Variance components (runs, items, clusters)",
    asked="runs",
    example={"values": [[0.8, 0.9, 0.7], [0.2, 0.4, 0.3], [1.0, 1.0, 1.0], [0.5, 0.3, 0.4]]},
    cost=_estimate_cost,
    closed_form=True,
)
def variance_components(request: VarianceComponentsRequest) -> VarianceComponentsAnalysis:
    """Split the variance of scores into runs of one item, items, and clusters of items.

    A score is a mean, plus a cluster's effect, an item's effect and a run's noise, all independent;
    nothing is said about their shape. Runs are pooled within items; the means of items are
    then compared, less the part that their runs explain. There is no H0.

    Returns:
        within_items: pooled sample variance of runs.
        between_items: variance of item means minus mean of within_items / K.
        icc: (items + clusters) / (items + clusters + runs), for a single run.
        reliability: of an item's mean over its runs; 1 - reliability is the share of noise in it.
        se_many_runs: what more runs can reach at best; only more items go below.

    Raises:
        InvalidData: no item, an item without a run, a single cluster, or labels of another length.

    Edge cases:
        One run per item: within_items, icc and reliability are null, warning SINGLE_RUN, and
            between_items holds the noise too.
        A component below 0 is reported as it is, warning NEGATIVE_COMPONENT.
        Fewer than 10 degrees of freedom for the runs: warning FEW_REPEATS.
        One item: nothing between items can be estimated, null.

    Sources:
        Searle, Casella & McCulloch (1992), Variance Components.
        Shrout & Fleiss (1979), Psychol Bull 86:420 (reliability, ICC(1,1) and ICC(1,k)).

    Example:
        Four items with three runs each: run variance .0075, item means .8, .3, 1 and .4, so
        between items .1092 - .0025 = .1067, and ICC .934.
    """
    sizes = np.array([len(runs) for runs in request.values])
    means = item_means(request.values, "values")
    flat = np.fromiter((x for runs in request.values for x in runs), dtype=np.float64, count=int(sizes.sum()))
    # Computed in units of a power of two near the data, so that squares stay within the floats; turned back in
    # `fields`.
    size = binary_unit(flat)
    means, flat = means / size, flat / size
    within = run_variance(flat, np.repeat(np.arange(len(sizes)), sizes), means)
    codes = None if request.clusters is None else codes_of(request.clusters)
    n = len(means)
    parts = split(means, sizes.astype(np.float64), within, codes)
    reasons: dict[str, str] = {}
    se, effect = _precision(means, codes, parts.of_means)
    noise, total = parts.noise_of_means, parts.of_means
    true = _sum(parts.between_items, 0.0 if codes is None else parts.between_clusters)
    # Var(mean) less what runs add to it; below 0 by chance, where 0 is the best that can be said.
    many_runs = None if se is None or noise is None else math.sqrt(max(se * se - noise / n, 0.0))
    fields: dict[str, Any] = {
        "se": _times(se, size),
        "se_many_runs": _times(many_runs, size),
        "within_items": _times(within, size, size),
        "between_items": _times(parts.between_items, size, size),
        "between_clusters": _times(parts.between_clusters, size, size),
        "icc": None if within is None else _share(true, _sum(true, within)),
        "icc_clusters": _share(parts.between_clusters, true),
        "reliability": None if noise is None or total is None else _share(total - noise, total),
        "design_effect": effect,
    }
    n_clusters = None if codes is None else int(codes.max()) + 1
    if n_clusters is None:
        reasons["n_clusters"] = NO_CLUSTERS
    for name, value in fields.items():
        if value is None:
            reasons[name] = _why(name, n, within is None, codes is not None)
    warnings: list[StatWarning] = []
    spare = len(flat) - n
    if spare == 0:
        warnings.append(SINGLE_RUN())
    elif spare < FEW_DF:
        warnings.append(FEW_REPEATS(df=spare))
    for name in ("between_items", "between_clusters"):
        component = fields[name]
        if component is not None and component < 0:
            warnings.append(NEGATIVE_COMPONENT(name=name))
    return VarianceComponentsAnalysis(
        mean=float(means.mean()) * size,
        **fields,
        n=n,
        n_values=len(flat),
        n_clusters=n_clusters,
        least_runs=int(sizes.min()),
        most_runs=int(sizes.max()),
        reasons=reasons,
        warnings=tuple(warnings),
        sentence=_describe(float(means.mean()) * size, n, len(flat), fields),
    )


def _precision(
    means: NDArray[np.float64], codes: NDArray[np.int64] | None, of_means: float | None
) -> tuple[float | None, float | None]:
    """Standard error of the mean of the item means, and the design effect of the clusters."""
    if of_means is None:
        return None, None
    if codes is None:
        return math.sqrt(of_means / len(means)), None
    groups = cluster_sums(means, codes)
    return robust_errors(groups)["cr1"].se, design_effect(means, groups)


def _times(value: float | None, *units: float) -> float | None:
    """Return the value multiplied by every unit, back in score units (or squared ones); None stays None."""
    return None if value is None else math.prod(units, start=value)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _share(part: float | None, whole: float | None) -> float | None:
    """Return the quotient; null where the whole is not positive."""
    return None if part is None or whole is None or whole <= 0 else part / whole


def _why(name: str, n: int, single_runs: bool, clustered: bool) -> str:
    """Say why a component is null."""
    if name in ("between_clusters", "icc_clusters", "design_effect") and not clustered:
        return NO_CLUSTERS
    if single_runs and name in ("within_items", "icc", "reliability", "se_many_runs"):
        return "every item has one run"
    if n < 2:
        return "a single item"
    if name in ("between_items", "between_clusters"):
        return "every cluster has one item"
    return "nothing varies, or every cluster has one item"


def _describe(mean: float, n: int, n_values: int, fields: dict[str, Any]) -> str:
    se, reliability = fields["se"], fields["reliability"]
    spread = message("runs.no_error") if se is None else message("runs.error", se=float(se))
    noise = message("runs.noise_unknown")
    if reliability is not None:
        noise = message("runs.noise", share=float(reliability), se=float(fields["se_many_runs"] or 0.0))
    return speak("runs.mean", mean=float(mean), spread=spread, runs=n_values, n=n, noise=noise)
