"""Bootstrap of a paired difference: exactly where the outcomes allow it, drawn for the other metrics."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from service.errors import InvalidData
from service.kernels.bootstrap_draws import Draws, draw_means, draw_ratios, seed_cluster_means, seed_means
from service.kernels.inversion import LARGEST_SHARE, LEAST_VALUES
from service.kernels.metric_bootstrap import MetricDraws, draw_differences, seed_differences
from service.stats.arms import Arms, ArmsRequest, MetricName
from service.stats.clustering import cluster_warnings
from service.stats.common import Interval, StatWarning, p_text
from service.stats.pairs import FEW_DISCORDANT, NO_DISCORDANT, PairedCounts
from service.stats.registry import PlanUse, stat_test
from service.stats.resampling import (
    DEFAULT_DRAWS,
    DEFAULT_SEED,
    SEED_DRAWS,
    BootstrapAnalysis,
    BootstrapDistribution,
    BootstrapOptions,
    Reading,
    exact_or_drawn,
    paired_distribution,
    resolution_of,
    resolved_draws,
    studentized_draws,
)
from service.stats.warnings import NOTHING_VARIES

FEW = 20
LOOK = 5000
"""Items that a cost estimate looks at."""


class PairedBootstrapRequest(ArmsRequest, BootstrapOptions):
    """Two arms on the same items: columns, counts that are summed, or the four counts of binary outcomes."""


class PairedBootstrapAnalysis(BootstrapAnalysis):
    """What the bootstrap of a paired difference found."""

    metric: MetricName = Field(description="What is compared.")
    baseline_value: float = Field(description="The baseline's metric.")
    candidate_value: float = Field(description="The candidate's metric.")
    n: int = Field(description="Items, a count.")
    n_clusters: int | None = Field(description="Clusters, a count; null where items are resampled.")
    n_discordant: int = Field(description="Items whose statistics differ between the arms, a count.")
    counts: PairedCounts | None = Field(description="The fourfold table, counts; null for other outcomes.")


def _cost(request: PairedBootstrapRequest) -> float:
    arms = request.pair
    draws = request.n_resamples or (SEED_DRAWS if request.convention == "seed" else DEFAULT_DRAWS)
    if request.method == "studentized" or not request.scores:
        cells = min(arms.units.n_units, 200_000)
        return (
            0.1
            + (4e-9 if request.method == "studentized" else 2e-9) * draws * cells * arms.items.metric.width
        )
    n = 0 if request.baseline is None else arms.n
    if request.convention == "seed":
        return 2e-8 * (n + 1000) * draws
    if arms.counts is not None and arms.codes is None:
        return 0.001 + 2.2e-7 * n
    sample = arms.difference[:LOOK]
    ties = int(np.unique(sample, return_counts=True)[1].max())
    if arms.codes is None and n >= LEAST_VALUES and ties <= LARGEST_SHARE * len(sample):
        return 0.02 + 8e-6 * n
    return 0.9 if n <= LOOK else 1e-8 * n * draws


@stat_test(
    name="paired-bootstrap",
    version=1,
    title="Paired bootstrap",
    example={
        "baseline": [1, 1, 1, 0, 1, 0, 1, 1, 0, 1],
        "candidate": [1, 0, 1, 1, 0, 1, 0, 1, 0, 0],
    },
    cost=_cost,
    plan=PlanUse(endpoints=frozenset({"binary", "continuous"})),
)
def paired_bootstrap(request: PairedBootstrapRequest) -> PairedBootstrapAnalysis:
    """Give the distribution of the difference over resamples of the items, its interval and p-value.

    Items, or whole clusters, are drawn n times with replacement and the metric's difference is taken
    anew from the re-summed statistics: delta*. For binary outcomes n delta* is the difference of two
    multinomial counts, so nothing needs to be drawn. H0 of the p-value (Berg-Kirkpatrick):
    delta* - delta has the law that delta has without an effect.

    Returns:
        delta: the candidate's metric minus the baseline's; BLEU on 0-100.
        ci: percentile, basic, bca or studentized; a quantile is the smallest attainable x with F(x) >= q.
        p_value: P(delta* >= 2 delta), at least about .5 when delta <= 0; see `alternative`.
        p_better: the same for the better arm, named in `better`.
        route: fft (binary), enumeration (12 scores or clusters or fewer), lattice (scores on a grid),
            inversion (its error is in `provenance`: below 1e-5 for 30 continuous scores or more, else
            below .005), else monte_carlo with p = (1 + count) / (B + 1).

    Raises:
        InvalidData: columns of different length, neither columns nor all counts, no item, a metric whose
            statistics were not sent, a single cluster, or `studentized` when more than 1 % of the
            resamples have no spread.

    Edge cases:
        No item differs: the interval is [0, 0] and p is 1, warning NO_DISCORDANT; bca and studentized are null.
        Fewer than 20 discordant items: warning FEW_DISCORDANT. Few clusters: FEW_CLUSTERS or CAUTION.
        Skewed differences, or skewed sums of clusters: warning SKEWED. A p that inversion cannot tell from
            alpha: ERROR_UNRESOLVED.
        2 delta beyond the attainable range: p is given as a bound, never 0.
        0/0 in precision, recall or F1, or no match in BLEU: 0, counted in warning METRIC_UNDEFINED.
        Replicates of an item are averaged within the item first.
        convention `seed`: default_rng(42), 2000 draws, np.percentile, p = count / B.

    Sources:
        Efron & Tibshirani (1993), An Introduction to the Bootstrap, 13 and 14 (bca, 12.5 studentized).
        Berg-Kirkpatrick, Burkett & Klein (2012), EMNLP, 995 (p_value).
        Davison & Hinkley (1997), Bootstrap Methods and their Application, 4.2 (p of draws).
        Koehn (2004), EMNLP, 388 (BLEU).

    Example:
        Ten documents, the baseline right on 7 and the candidate on 5, 6 discordant: p_better is
        .2684 counting resamples at exactly 2 delta, .1457 without.
    """
    arms = request.pair
    delta, found = arms.delta, _distribution(request, arms)
    units = arms.units if arms.counts is None or arms.codes is not None else arms.units.distinct
    reading = Reading(
        request,
        delta,
        resolution_of(found, arms.units.n_units),
        acceleration=units.acceleration() if request.method == "bca" else None,
        se=units.standard_error(),
    )
    read = reading.fields(found)
    warnings: list[StatWarning] = [*read.pop("warnings"), *cluster_warnings(arms.sizes)]
    if isinstance(found, MetricDraws):
        warnings += arms.undefined(found.undefined, "resamples")
    if arms.n_discordant == 0:
        warnings.append(NO_DISCORDANT())
    elif arms.n_discordant < FEW:
        warnings.append(FEW_DISCORDANT(n_discordant=arms.n_discordant))
    if arms.n_discordant and read["bootstrap_se"] == 0:
        warnings.append(NOTHING_VARIES(unit="item" if arms.codes is None else "cluster"))
    warnings += arms.skewed()
    if arms.counts is None:
        read["reasons"]["counts"] = "the outcomes are not right or wrong"
    if arms.codes is None:
        read["reasons"]["n_clusters"] = "the items were given without clusters"
    baseline_value, candidate_value = arms.items.values
    return PairedBootstrapAnalysis(
        **read,
        metric=request.metric,
        baseline_value=baseline_value,
        candidate_value=candidate_value,
        n=arms.n,
        n_clusters=None if arms.codes is None else arms.units.n_units,
        n_discordant=arms.n_discordant,
        counts=arms.counts,
        warnings=tuple(warnings),
        sentence=_sentence(request, arms, read["ci"], read["p_value"], read["bounds"].get("p_value")),
    )


def _distribution(request: PairedBootstrapRequest, arms: Arms) -> BootstrapDistribution:
    """By the first way that fits: the literal recipe, exact, or drawn."""
    seed = DEFAULT_SEED if request.seed is None else request.seed
    if request.convention == "seed":
        return _literal(request, arms, seed)
    if request.method == "studentized":
        return studentized_draws(arms.units, request)
    if not request.scores:
        return resolved_draws(lambda draws: draw_differences(arms.units, draws, seed), request, arms.delta)
    if arms.codes is not None:
        sums, sizes = arms.difference_sums, arms.sizes
        return exact_or_drawn(
            sums,
            sizes,
            lambda: resolved_draws(lambda draws: draw_ratios(sums, sizes, draws, seed), request, arms.delta),
        )
    counts = arms.counts
    difference = np.zeros(0) if counts is not None else arms.difference

    def draw() -> Draws:
        return resolved_draws(lambda draws: draw_means(difference, draws, seed), request, arms.delta)

    return paired_distribution(counts, difference, draw)


def _literal(request: PairedBootstrapRequest, arms: Arms, seed: int) -> BootstrapDistribution:
    if request.baseline is None:
        raise InvalidData.field(
            "convention", "'seed' draws items in their order", "send columns instead of counts"
        )
    draws = request.n_resamples or SEED_DRAWS
    if not request.scores:
        return seed_differences(arms.units, draws, seed)
    if arms.codes is not None:
        return seed_cluster_means(arms.difference_sums, arms.sizes, draws, seed)
    return seed_means(arms.difference, draws, seed)


def _sentence(request: PairedBootstrapRequest, arms: Arms, ci: Interval, p: float, bound: str | None) -> str:
    show = arms.show
    interval = (
        f"{100 * request.level:g}% {ci.method} bootstrap CI {show(ci.low)} to {show(ci.high)}"
        if ci.low is not None and ci.high is not None
        else f"no {ci.method} interval: too little spread"
    )
    clusters = "" if arms.codes is None else f" in {arms.units.n_units} clusters"
    return (
        f"The candidate differs from the baseline by {show(arms.delta)}{arms.named} ({interval}, n = {arms.n}"
        f"{clusters}, {arms.n_discordant} discordant); bootstrap {request.alternative}, {p_text(p, bound)}, "
        + (
            f"so a difference of zero is rejected at alpha {request.alpha:g}."
            if p < request.alpha
            else f"so a difference of zero is not rejected at alpha {request.alpha:g}, "
            "which does not show equality."
        )
    )
