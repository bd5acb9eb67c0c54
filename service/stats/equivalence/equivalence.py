"""Equivalence, non-inferiority, superiority and minimum effect, read off one interval and two tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from service.kernels.numeric.clusters import robust_errors
from service.kernels.numeric.moments import difference_noise, paired_differences
from service.kernels.numeric.streams import block_count
from service.kernels.pairs.paired_exact import SPARSE, exact_seconds
from service.kernels.pairs.two_one_sided import by_tango, error_of_counts, error_of_pairs, independent_error
from service.stats.equivalence.cautions import (
    CLUSTERED_INTERVAL_USED,
    COMPARED_ITEMS,
    SEED_BOUNDS,
    SPARSE_DISCORDANT,
    SPARSE_SPREAD,
    SPARSE_UNGUARDED,
    warn_if_sparse,
    warn_if_unseen,
)
from service.stats.equivalence.in_plans import SIMULATED, equivalence_cells
from service.stats.equivalence.margins import (
    STATISTICS,
    Conclusion,
    Evidence,
    decide,
    list_undecided,
    of_bootstrap,
    of_t,
    of_tests,
)
from service.stats.equivalence.request import EquivalenceRequest, Method
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF, ClusteredPairs, warn_if_lopsided
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.data.score_range import RANGE_TAKEN, UNIT, lies_in_unit
from service.stats.shared.data.skewness import warn_if_skewed
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.common import Analysis, Interval, Resampling, StatWarning
from service.stats.shared.declaring.fields import ClusterCount, Unseen
from service.stats.shared.declaring.plan_use import PlanUse, Resort, Spoken
from service.stats.shared.declaring.registry import Blocks, Drawn, stat_test
from service.stats.shared.declaring.seconds import LOOK, scores_seconds, table_seconds
from service.stats.shared.declaring.sentences import ci_of, difference_of, p_text, within_of
from service.stats.shared.methods.bounded import Bounded
from service.stats.shared.methods.resampling import DEFAULT_DRAWS
from service.words import Value, message, speak


class EquivalenceAnalysis(Analysis):
    """What the data say about the margin. H0: the effect is at least as large as the margin."""

    delta: float = Field(description="Candidate minus baseline, outcome units.")
    margin: float = Field(description="The margin, a proportion or score units.")
    ci: Interval = Field(description="Interval of delta at level 1 - 2 alpha, outcome units.")
    p_value: float | None = Field(description="The larger of p_lower and p_upper.")
    p_lower: float | None = Field(description="P-value of H0: delta <= -margin.")
    p_upper: float | None = Field(description="P-value of H0: delta >= margin.")
    equivalent: bool | None = Field(description="Effects beyond the margin are rejected on both sides.")
    noninferior: bool | None = Field(description="delta <= -margin is rejected.")
    superior: bool | None = Field(description="The interval lies above 0.")
    minimum_effect: bool | None = Field(description="The interval lies above the margin.")
    conclusion: Conclusion | None = Field(
        description="`equivalent` first; else `positive` or `negative` when the interval excludes 0."
    )
    method: Method = Field(description="As asked for; `ci.method` is what was used.")
    design: Literal["paired", "independent"] = Field(description="Whether the arms share items.")
    bounds_rule: Literal["strict", "seed"] = Field(description="Whether the interval may touch the margin.")
    t_lower: float | None = Field(description="t statistic against -margin.")
    t_upper: float | None = Field(description="t statistic against margin.")
    z_lower: float | None = Field(description="Score statistic against -margin.")
    z_upper: float | None = Field(description="Score statistic against margin.")
    df: float | None = Field(description="Degrees of freedom of the t statistics.")
    se: float | None = Field(description="Standard error of delta, outcome units.")
    n: int = Field(description="Items, a count; of both arms together when independent.")
    n_clusters: ClusterCount
    n_discordant: int | None = Field(description="Items whose outcomes differ between the arms, a count.")


def _estimate_cost(request: EquivalenceRequest) -> float:
    """Estimate the seconds of a request by its method, measured on one core."""
    n = max(len(request.baseline or ()), len(request.candidate or ()))
    bounds = 0.02 + (2.4e-5 if request.clusters is not None else 4e-6) * n
    if request.method == "bounded":
        return bounds
    compared = bounds if _asks_bounds(request, n) else 0.0
    return compared + _estimate_own_cost(request, n)


def _estimate_own_cost(request: EquivalenceRequest, n: int) -> float:
    """Estimate the seconds of another method than `bounded` on n items, without the bounds it is compared with."""
    if request.method == "bootstrap_ci" and (request.clusters is not None or not request.binary):
        draws = request.n_resamples or DEFAULT_DRAWS
        if request.groups is not None:
            groups = request.groups.groups
            alike = bool(np.all(groups.sizes == groups.sizes[0]))
            return scores_seconds(groups.sums[:LOOK], groups.n_clusters, draws, alike=alike) + 1e-6 * n
        return scores_seconds((request.arrays[1] - request.arrays[0])[:LOOK], n, draws) + 6e-7 * n
    if request.method == "bootstrap_ci":
        return table_seconds(request.table.n_discordant) + 6e-7 * n
    if request.method == "tango" and request.clusters is None:
        few = request.table.n_discordant < SPARSE
        margin = float(request.margin.for_endpoint(binary=True))
        return few * 2 * exact_seconds(request.table.n, margin) + 0.0005 + 3e-7 * n
    return 0.001 + (1e-6 if request.clusters is not None else 5e-7) * n


def _asks_bounds(request: EquivalenceRequest, n: int) -> bool:
    """Whether what the method shows on n items is held against bounds that know of differences not seen."""
    return not request.guarded and request.design == "paired" and n <= COMPARED_ITEMS


def _count(request: EquivalenceRequest, _drawn: Drawn | None) -> int:
    if request.method != "bootstrap_ci" or request.exact is not None:
        return 0
    return block_count(request.n_resamples or DEFAULT_DRAWS)


def _analyse(request: EquivalenceRequest, drawn: Drawn) -> EquivalenceAnalysis:
    """Return the answer from both one-sided tests, with the draws that a bootstrap took."""
    margin = float(request.margin.for_endpoint(binary=request.binary))
    counts, groups = request.counts, request.groups
    baseline, candidate = request.arrays
    delta = counts.delta if counts else float(candidate.mean() - baseline.mean())
    if groups is not None:
        delta = groups.groups.item_weighted
    evidence = _evidence(request, margin, delta, drawn)
    touch, by_p = request.seed_bounds, request.method == "tango"
    says = decide(evidence, margin, request.alpha, touch=touch, by_p=by_p, binary=request.binary)
    bounds: dict[str, str] = {}
    own = 0 if request.design == "paired" else len(candidate)
    fields: dict[str, Any] = {
        **asdict(says),
        "p_lower": apply_floor(evidence.p_lower, "p_lower", bounds, evidence.floor),
        "p_upper": apply_floor(evidence.p_upper, "p_upper", bounds, evidence.floor),
        "p_value": apply_floor(evidence.p_value, "p_value", bounds, evidence.floor),
        "n": counts.n if counts else len(baseline) + own,
        "n_clusters": groups.groups.n_clusters if groups else None,
        "n_discordant": counts.n_discordant if counts else _discordant(request),
        **{name: evidence.statistics.get(name) for name in STATISTICS},
    }
    ci = Interval(
        low=evidence.low, high=evidence.high, level=1 - 2 * request.alpha, method=evidence.ci_method
    )
    known = {**fields, "ci.low": ci.low, "ci.high": ci.high}
    reasons = {name: evidence.reason(name) for name, value in known.items() if value is None}
    return EquivalenceAnalysis(
        delta=delta,
        margin=margin,
        ci=ci,
        method=request.method,
        design=request.design,
        bounds_rule=request.bounds,
        **fields,
        reasons=reasons,
        bounds=bounds,
        within=evidence.within,
        undecided=list_undecided(
            evidence, margin, request.alpha, touch=touch, by_p=by_p, binary=request.binary
        ),
        warnings=tuple(_list_warnings(request, evidence, margin, fields["n"], fields["n_discordant"])),
        resampling=evidence.resampling or Resampling(exact=True),
        sentence=_describe(request, delta, ci, {**fields, "margin": margin}, bounds.get("p_value")),
    )


def _list_warnings(
    request: EquivalenceRequest, evidence: Evidence, margin: float, n: int, n_discordant: int | None
) -> Iterator[StatWarning]:
    """Warn of the evidence, of clusters, of the bounds' rule, and of what was too rare to be seen."""
    counts, groups, method = request.counts, request.groups, request.method
    yield from evidence.warnings
    if groups:
        yield from groups.warnings()
        if method == "tango":
            yield CLUSTERED_INTERVAL_USED()
        if method not in ("bootstrap_ci", "bounded") and evidence.statistics.get("df", LEAST_DF) < LEAST_DF:
            yield LOW_DF(df=evidence.statistics["df"])
    if request.seed_bounds:
        yield SEED_BOUNDS()
    if evidence.p_value is not None:
        if counts is None and groups is None and not request.guarded:
            yield from warn_if_sparse(n_discordant, min(map(len, request.arrays)))
        if (
            counts is not None
            and groups is None
            and not request.guarded
            and counts.n_discordant < SPARSE_SPREAD
        ):
            yield SPARSE_UNGUARDED(n_discordant=counts.n_discordant)
        if method != "bounded" and (counts is None or groups is not None):
            yield from _warn_if_skewed(request, groups)
    if not _asks_bounds(request, n):
        return
    units: Unseen = "items" if groups is None else "clusters"
    bounded = _bound(request, _longest_difference(request), units)
    n_units = n if groups is None else groups.groups.n_clusters
    yield from warn_if_unseen(
        bounded, n_units, units, margin, request.alpha, (evidence.p_lower, evidence.p_upper)
    )


BLOCKS = Blocks(_count, lambda request, which: request.drawing.draw(which), _analyse)


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_alpha),
    "p_value": shows.PValue(lambda _: (shows.INSIDE,)),
    "p_lower": shows.PValue(lambda _: (shows.ABOVE_LOWER,)),
    "p_upper": shows.PValue(lambda _: (shows.BELOW_UPPER,)),
    "equivalent": shows.Finding((shows.INSIDE,), shows.by_alpha),
    "noninferior": shows.Finding((shows.ABOVE_LOWER,), shows.by_alpha),
    "superior": shows.Finding((shows.ABOVE_ZERO,), shows.by_alpha),
    "minimum_effect": shows.Finding((shows.ABOVE_UPPER,), shows.by_alpha),
    **shows.no_meaning("margin", "t_lower", "t_upper", "z_lower", "z_upper", "df", "se"),
}


@stat_test(
    name="equivalence",
    version=1,
    title="Equivalence (two one-sided tests)",
    asked="margin",
    example={
        "both_correct": 80,
        "only_baseline": 0,
        "only_candidate": 0,
        "both_wrong": 69,
        "margin": {"value": 2, "unit": "pp"},
        "method": "tango",
    },
    cost=_estimate_cost,
    plan=PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        cells=equivalence_cells,
        simulated=SIMULATED,
        drawn=lambda parameter: parameter("method") == "bootstrap_ci",
        resort=Resort("tango", frozenset({"binary"}), frozenset({False})),
        spoken=Spoken(
            "equivalence", r"tost|equivalen|等价|等效", "equivalence", frozenset({False, True}), rank=3
        ),
        pairs=lambda parameter: parameter("design") != "independent",
        takes_range=lambda parameter: parameter("method") == "bounded",
        keeps_level=lambda parameter, clustered: parameter("method") == "bounded" and not clustered,
        purpose="equivalence",
    ),
    blocks=BLOCKS,
    serves=frozenset({"margin"}),
)
def equivalence(request: EquivalenceRequest) -> EquivalenceAnalysis:
    """Test whether the difference between two arms is smaller than a margin.

    H0 is a difference of at least the margin in either direction; equivalence is H1, shown when both
    one-sided tests reject at alpha, which is when the 1 - 2 alpha interval lies inside the margin.
    A large p-value of another test never shows it.

    Returns:
        equivalent: both one-sided tests reject; null when the data cannot decide.
        p_value: the larger of p_lower and p_upper.
        ci: of delta at 1 - 2 alpha; its method names what was used.
        noninferior, superior, minimum_effect: the interval's low end above -margin, 0, margin.
        conclusion: equivalent, positive, negative or inconclusive; equivalent and superior can both hold.

    Raises:
        InvalidData: a margin whose unit does not fit, columns of different length in a paired design,
            tango on scores, one cluster, or clusters, counts or another method in an independent design.

    Edge cases:
        Differences that do not vary: t and bootstrap_ci decide nothing, fields null, warning DEGENERATE.
        Drawn ends that more draws could move across the margin: conclusions in `undecided`.
        Fewer than 10 discordant pairs: tango takes the larger of its p and an exact one; below 25 the other
            methods claim too easily, warning SPARSE_UNGUARDED.
        Scores of which fewer than 25 differ: all methods but bounded claim too easily where losses are rare, warning
            SPARSE_SCORES.
        So few items or clusters that 2^-n is not below alpha: bootstrap_ci shows nothing.
        Skewed scores, or skewed sums of clusters: warning SKEWED.
        Up to 10,000 items: where bounds that know of differences too rare to be seen do not bear out what t,
            bootstrap_ci or any method over clusters (then whole ones) shows, warning UNSEEN_LOSSES.
        An interval end within 1e-9 of the margin (of scores: 1e-9 of its size) touches it and is not inside.
        Clusters: a cluster-robust t interval, also for tango; bootstrap_ci resamples clusters; bounded takes the
            furthest of three at each end (`bounded-difference`).
        bounded: defined also where nothing varies; without a range scores have to lie between 0 and 1, warning
            RANGE_TAKEN.

    Sources:
        Schuirmann (1987), J Pharmacokinet Biopharm 15:657 (two one-sided tests).
        Gaffke (2005), Math Methods Statist 14:451; Vlassis & Thomas (2026), arXiv:2607.08415 (bounded).
        Tango (1998), Stat Med 17:891 (score test). Chan & Zhang (1999), Biometrics 55:1202 (exact p).
        Lakens (2017), Soc Psychol Personal Sci 8:355.

    Example:
        149 items and no discordant pair, margin 2 pp: the exact p is .98^149 = .0493, so effects
        beyond 2 pp are rejected; with 148 items it is .0503.
    """
    return BLOCKS.whole(request)


def _evidence(request: EquivalenceRequest, margin: float, delta: float, drawn: Drawn) -> Evidence:
    """Return both one-sided tests and their interval by the method that was asked for."""
    alpha, counts, groups = request.alpha, request.counts, request.groups
    baseline, candidate = request.arrays
    if request.method == "bootstrap_ci":
        return _by_bootstrap(request, margin, drawn)
    if request.method == "bounded":
        return _by_bounds(request, margin)
    if groups is not None:
        error = robust_errors(groups.groups)[request.cluster_variance]
        return of_t(f"{request.cluster_variance}_t", delta, (error.se, error.df), margin, alpha)
    if request.method == "tango":
        table = request.table
        b, c, sparse = table.only_candidate, table.only_baseline, table.n_discordant < SPARSE
        evidence = of_tests("tango", by_tango(b, c, table.n, margin, alpha, exact=sparse), "z")
        warning = SPARSE_DISCORDANT(n_discordant=table.n_discordant)
        return replace(evidence, warnings=(warning,)) if sparse else evidence
    if request.design == "independent":
        error_df = independent_error(baseline, candidate, pooled=request.variance == "student")
        return of_t(f"{request.variance}_t", delta, error_df, margin, alpha)
    if counts is not None:
        error_df = error_of_counts(counts.only_candidate, counts.only_baseline, counts.n)
    else:
        error_df = error_of_pairs(candidate - baseline, difference_noise(baseline, candidate))
    return of_t("paired_t", delta, error_df, margin, alpha)


def _by_bounds(request: EquivalenceRequest, margin: float) -> Evidence:
    """Bounds that know of losses and gains too rare to have been seen; defined whatever varies."""
    bounded = _bound(request, (UNIT if request.range is None else request.range).length)
    low, high = bounded.ends(request.alpha)
    name = "gaffke" if request.groups is None else "furthest"
    taken = request.range is None and not request.binary
    tails = bounded.p_above(-margin), bounded.p_below(margin)
    return Evidence(name, low, high, *tails, warnings=(RANGE_TAKEN(),) if taken else ())


def _bound(request: EquivalenceRequest, limit: float, unseen: Unseen = "items") -> Bounded:
    """Return the paired differences, none of which is beyond `limit`, and what may not have been seen."""
    if request.baseline is None:
        return Bounded.of_counts(request.table, limit)
    codes = None if request.groups is None else request.groups.codes
    return Bounded(paired_differences(*request.arrays), codes, limit, unseen)


def _longest_difference(request: EquivalenceRequest) -> float:
    """1 of scores from 0 to 1, else from the least to the greatest seen, as no range is declared."""
    scores = np.concatenate(request.arrays)
    return 1.0 if not len(scores) or lies_in_unit(scores) else float(np.ptp(scores))


def _by_bootstrap(request: EquivalenceRequest, margin: float, drawn: Drawn) -> Evidence:
    """Return both one-sided tests by the percentile interval, over clusters where there are any."""
    baseline, candidate = request.arrays
    distribution = request.exact or request.drawing.collect(drawn, request.n_resamples or DEFAULT_DRAWS)
    name, units = "percentile", request.counts.n if request.counts else len(baseline)
    if request.groups is not None:
        name, units = "cluster percentile", request.groups.groups.n_clusters
    touch = request.bounds == "seed"
    noise = difference_noise(baseline, candidate) if len(baseline) else 0.0
    return of_bootstrap(
        name, distribution, units, margin, request.alpha, touch=touch, seed=request.seed, noise=noise
    )


def _warn_if_skewed(request: EquivalenceRequest, groups: ClusteredPairs | None) -> tuple[StatWarning, ...]:
    """SKEWED, of what the interval is made of: clusters, differences, or the runs of both arms."""
    if groups is not None:
        return warn_if_lopsided(groups.groups.residuals, groups.groups.sizes)
    baseline, candidate = request.arrays
    if request.design == "independent":
        apart = (baseline.mean() - baseline) / len(baseline), (candidate - candidate.mean()) / len(candidate)
        return warn_if_skewed(np.concatenate(apart), "items")
    difference = candidate - baseline
    return warn_if_skewed(difference - difference.mean(), "differences")


def _discordant(request: EquivalenceRequest) -> int | None:
    baseline, candidate = request.arrays
    return None if request.design == "independent" else int(np.count_nonzero(candidate - baseline))


def _describe(
    request: EquivalenceRequest, delta: float, ci: Interval, fields: Mapping[str, Any], p_bound: str | None
) -> str:
    """Describe in one sentence whether the difference lies within the margin, outside of it, or neither."""
    binary = request.margin.unit != "score"
    shared: dict[str, Value] = {
        "delta": difference_of(delta, binary=binary),
        "n": fields["n"],
        "margin": within_of(request.margin.exact(), binary=binary),
    }
    if fields["p_value"] is None or ci.low is None or ci.high is None:
        return speak("analyses.equivalence_undecided", **shared)
    shared["interval"] = ci_of(ci, binary=binary, phrase="ci_of", method=ci.method)
    shared["p"] = p_text(fields["p_value"], p_bound, request.alpha)
    alpha = f"{request.alpha:.10g}"
    if fields["equivalent"]:
        side = "above" if ci.low > 0 else "below" if ci.high < 0 else None
        also = "" if side is None else message(f"analyses.also_{side}")
        return speak("analyses.equivalence_shown", **shared, alpha=alpha, also=also)
    margin = fields["margin"]
    if ci.low > margin or ci.high < -margin:
        return speak("analyses.equivalence_beyond", **shared)
    decides = message("analyses.interval_decides") if fields["p_value"] < request.alpha else ""
    return speak("analyses.equivalence_open", **shared, alpha=alpha, decides=decides)
