"""Bootstrap of a paired difference: exactly where the outcomes allow it, drawn for the other metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from service.errors import InvalidData
from service.kernels.bootstrap.bootstrap_draws import Draws, seed_cluster_means, seed_means
from service.kernels.bootstrap.metric_bootstrap import MetricDraws, seed_differences
from service.kernels.numeric.clusters import ClusterSums
from service.kernels.numeric.distributions import BootstrapDistribution
from service.stats.shared.data.arms import Arms, ArmsRequest, MetricName
from service.stats.shared.data.clustering import NO_CLUSTERS, cluster_warnings
from service.stats.shared.data.pairs import FEW_DISCORDANT, NO_DISCORDANT, PairedCounts
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.cell_lines import EndLines, Line
from service.stats.shared.declaring.cells import MEANS, Cells, whole_interval
from service.stats.shared.declaring.certainty import Support
from service.stats.shared.declaring.common import StatWarning
from service.stats.shared.declaring.fields import ItemCount
from service.stats.shared.declaring.plan_use import PlanUse, Spoken
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.seconds import LOOK, metric_seconds, scores_seconds, table_seconds
from service.stats.shared.declaring.sentences import describe_sides, in_clusters, level_text
from service.stats.shared.declaring.shows import Path
from service.stats.shared.declaring.simulated import RESAMPLED
from service.stats.shared.declaring.warnings import NOTHING_VARIES
from service.stats.shared.methods import resampling
from service.stats.shared.methods.cell_bootstrap import BootstrapLines
from service.stats.shared.methods.drawing import Drawing, Resampled, blocks_of, of_metric, of_ratio
from service.words import message, speak

FEW = 20
"""Discordant items below which a warning says how few they are."""


class PairedBootstrapRequest(ArmsRequest, Resampled):
    """Two arms on the same items: columns, counts that are summed, or the four counts of binary outcomes."""

    elsewhere: ClassVar = {"margin": "equivalence"}

    @property
    @override
    def delta(self) -> float:
        """The observed difference, candidate minus baseline, in the metric's units."""
        return self.pair.delta

    @cached_property
    @override
    def exact(self) -> BootstrapDistribution | None:
        """The distribution by the literal recipe or without drawing; None where blocks are drawn."""
        arms = self.pair
        if self.convention == "seed":
            return _literal(self, arms)
        if self.method == "studentized" or not self.scores:
            return None
        if arms.codes is not None:
            return resampling.exact_ratio(arms.difference_sums, arms.sizes)
        scores = np.zeros(0) if arms.counts is not None else arms.difference
        return resampling.find_exact_paired(arms.counts, scores)

    @property
    @override
    def drawing(self) -> Drawing:
        """What is drawn where nothing is exact."""
        arms, seed = self.pair, self.first_seed
        if self.method == "studentized" or not self.scores:
            return of_metric(arms.units, seed, studentize=self.method == "studentized")
        sizes = np.ones(arms.n) if arms.codes is None else arms.sizes
        return of_ratio(arms.difference_sums, sizes, seed)


class PairedBootstrapAnalysis(resampling.BootstrapAnalysis):
    """What the bootstrap of a paired difference found."""

    metric: MetricName = Field(description="What is compared.")
    baseline_value: float = Field(description="The baseline's metric.")
    candidate_value: float = Field(description="The candidate's metric.")
    n: ItemCount
    n_clusters: int | None = Field(description="Clusters, a count; null where items are resampled.")
    n_discordant: int = Field(description="Items whose statistics differ between the arms, a count.")
    counts: PairedCounts | None = Field(description="The fourfold table, counts; null for other outcomes.")


def _estimate_cost(request: PairedBootstrapRequest) -> float:
    """Estimate the seconds an answer takes: of a convention `seed`, studentized, of 0 and 1, or of scores."""
    arms = request.pair
    n, width, draws = arms.n, arms.items.metric.width, request.draws
    if request.convention == "seed":
        draw_seconds = 2e-5 + 7e-9 * n if request.scores else 1.2e-4 + 8e-9 * n * width
        return 0.006 + draws * draw_seconds + 6e-7 * n
    if request.method == "studentized" or not request.scores:
        return metric_seconds(arms.units, draws, studentize=request.method == "studentized") + 6e-7 * n
    if arms.counts is not None and arms.codes is None:
        return table_seconds(arms.counts.n_discordant) + (0 if request.baseline is None else 6e-7 * n)
    moves, alike = arms.difference_sums, arms.codes is None or bool(np.all(arms.sizes == arms.sizes[0]))
    return scores_seconds(moves[:LOOK], arms.units.n_units, draws, alike=alike) + 1e-6 * n


def _analyse(request: PairedBootstrapRequest, distribution: BootstrapDistribution) -> PairedBootstrapAnalysis:
    """Return the answer from the bootstrap distribution of the items, or of clusters of them."""
    arms = request.pair
    delta = arms.delta
    # Independent right and wrong answers fall in four kinds: their influence is computed once a kind, with its count.
    units = arms.units if arms.counts is None or arms.codes is not None else arms.units.distinct
    reading = resampling.Reading(
        request,
        delta,
        resampling.resolution_of(distribution, arms.units.n_units),
        acceleration=units.acceleration() if request.method == "bca" else None,
        se=units.standard_error(),
        support=_support(request, arms),
    )
    read = reading.fields(distribution)
    warnings: list[StatWarning] = [*read.pop("warnings"), *cluster_warnings(arms.sizes)]
    if isinstance(distribution, MetricDraws):
        warnings += arms.warn_if_undefined(distribution.undefined, "resamples")
    if arms.n_discordant == 0:
        warnings.append(NO_DISCORDANT())
    elif arms.n_discordant < FEW:
        warnings.append(FEW_DISCORDANT(n_discordant=arms.n_discordant))
    if read["bootstrap_se"] <= arms.noise:
        resampling.flat(read, differs=delta != 0)
        warnings += (
            [NOTHING_VARIES(unit="item" if arms.codes is None else "cluster")] if arms.n_discordant else []
        )
    if request.scores and arms.codes is not None:
        warnings += resampling.warn_if_dominated(read, ClusterSums(arms.difference_sums, arms.sizes))
    warnings += arms.warn_if_skewed()
    if arms.counts is None:
        read["reasons"]["counts"] = "the outcomes are not right or wrong"
    if arms.codes is None:
        read["reasons"]["n_clusters"] = NO_CLUSTERS
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
        sentence=_describe(request, arms, read, warnings),
    )


def _support(request: PairedBootstrapRequest, arms: Arms) -> Support | None:
    if not request.scores:
        return None
    if arms.counts is not None and arms.codes is None:
        return Support.of_counts(arms.counts.only_baseline, arms.counts.only_candidate, arms.n)
    if arms.codes is None:
        return Support.of_units(arms.difference, np.ones(arms.n))
    return Support.of_units(arms.difference_sums, arms.sizes)


BLOCKS = blocks_of(_analyse)


SHOWS: shows.Shows = {**resampling.SHOWS, **shows.no_meaning("baseline_value", "candidate_value")}


def _cells(cells: Cells, path: Path) -> Line | EndLines | None:
    """Return the fields that the counts of independent binary pairs decide, as lines over the fourfold tables."""
    method = cells.parameter("method")
    if cells.parameter("convention") != "standard" or cells.parameter("metric") not in MEANS:
        return None
    if method == "studentized":  # every field is drawn then
        return cells.common(path)
    lines = BootstrapLines(cells.n, cells.asker, cells.parameter("comparison") == "strict")
    whole = whole_interval(path)
    name = method if whole == ("ci",) else whole[1] if whole[0] == "intervals" else None
    if name is not None:
        return lines.interval(path, name, cells.parameter("level"))
    if path == ("p_value",):
        return lines.p_value(path, cells.parameter("alternative"))
    if path == ("bootstrap_mean",):
        return cells.value_line(path, lambda b, m: (2 * b - m) / cells.n, "rising", relative=0, tie=0.0)
    return lines.fraction(path)


PLAN = PlanUse(
    endpoints=frozenset({"binary", "continuous"}),
    shows=SHOWS,
    cells=_cells,
    simulated=RESAMPLED,
    drawn=lambda _parameter: True,
    spoken=Spoken(
        "bootstrap",
        resampling.BOOTSTRAP_WORDS,
        "bootstrap",
        frozenset({False}),
        rank=2,
        parameters=resampling.level_of_text,
        intervals=True,
    ),
    differences_alone=True,
)


@stat_test(
    name="paired-bootstrap",
    version=1,
    title="Paired bootstrap",
    asked="pairs",
    example={"baseline": [1, 1, 1, 0, 1, 0, 1, 1, 0, 1], "candidate": [1, 0, 1, 1, 0, 1, 0, 1, 0, 0]},
    cost=_estimate_cost,
    plan=PLAN,
    blocks=BLOCKS,
    serves=frozenset({"resampled"}),
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
        route: fft (binary), enumeration (12 scores or clusters, or more of few kinds), lattice (scores or
            sums of clusters on a grid), inversion (its error is in `provenance`: below 1e-5 for 30
            continuous scores or more, else below .005), else monte_carlo with p = (1 + count) / (B + 1).

    Raises:
        InvalidData: columns of different length, neither columns nor all counts, no item, a metric whose
            statistics were not sent, a single cluster, or `studentized` when more than 1 % of the
            resamples have no spread.

    Edge cases:
        No item differs: the interval is [0, 0] and p is 1, warning NO_DISCORDANT; bca and studentized are null.
        All items differ alike: warning NOTHING_VARIES. In both cases no rule may rest on intervals and shares,
            nor in the second on p (`undecided`).
        Drawn numbers: `within` gives four Monte-Carlo standard errors to either side.
        Fewer than 20 discordant items: warning FEW_DISCORDANT. Few clusters: FEW_CLUSTERS or CAUTION.
        Skewed differences, or skewed sums of clusters: warning SKEWED. A p that inversion cannot tell from
            alpha: ERROR_UNRESOLVED.
        2 delta beyond the attainable range: p is given as a bound, never 0. Rules take it for no smaller than the
            chance of such signs alone, in `within`: warning BEYOND_RESAMPLES.
        p below 2^-m (twice that, two-sided) where m of up to 88 items or clusters differ: rules take it for no smaller,
            in `within`: warning FEW_SIGNS.
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
    return BLOCKS.whole(request)


def _literal(request: PairedBootstrapRequest, arms: Arms) -> Draws:
    """Return the draws of the published recipe, one by one in the order of the items."""
    if request.baseline is None:
        raise InvalidData.field(
            "convention", "'seed' draws items in their order", "send columns instead of counts"
        )
    draws, seed = request.draws, request.first_seed
    if not request.scores:
        return seed_differences(arms.units, draws, seed)
    if arms.codes is not None:
        return seed_cluster_means(arms.difference_sums, arms.sizes, draws, seed)
    return seed_means(arms.difference, draws, seed)


def _describe(
    request: PairedBootstrapRequest, arms: Arms, read: Mapping[str, Any], warnings: Iterable[StatWarning]
) -> str:
    """Describe the difference of the arms' metric, its interval and what the resamples decide in one sentence."""
    ci = read["ci"]
    interval = message("analyses.no_interval_spread", method=ci.method)
    if ci.low is not None and ci.high is not None and "ci" not in read["undecided"]:
        interval = message(
            "analyses.ci_bootstrap",
            level=level_text(request.level),
            method=ci.method,
            low=arms.show(ci.low),
            high=arms.show(ci.high),
        )
    return speak(
        "analyses.paired_bootstrap",
        delta=arms.show(arms.delta),
        metric=arms.named,
        interval=interval,
        where=in_clusters(arms.n, None if arms.codes is None else arms.units.n_units),
        m=arms.n_discordant,
        alternative=describe_sides(request.alternative),
        decision=resampling.state_decision(read, request.alpha, warnings),
    )
