"""Approximate randomization: swap the arms within items or clusters and count differences as large."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field
from scipy import special

from service.kernels.numeric.streams import BIT_GENERATOR, block_count
from service.kernels.numeric.t_distribution import t_quantile
from service.kernels.pairs import mcnemar
from service.kernels.randomization.metric_flips import Flips, flip_blocks, flips_of, list_flips
from service.kernels.randomization.sign_flip import ENUMERATED_UP_TO, sign_flip
from service.stats.shared.data.arms import Arms, ArmsRequest, MetricName
from service.stats.shared.data.clustering import NO_CLUSTERS, cluster_warnings
from service.stats.shared.data.pairs import NO_DISCORDANT, P_FLOOR, PairedCounts, apply_floor
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.cell_lines import Line
from service.stats.shared.declaring.cells import MEANS, Cells, sides_pattern
from service.stats.shared.declaring.certainty import of_share
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, Resampling, StatWarning
from service.stats.shared.declaring.fields import Alpha, ClusterCount, DrawCount, DrawSeed, ItemCount, Level
from service.stats.shared.declaring.plan_use import Extent, Least, PlanUse, Resort, Spoken, least_of_signs
from service.stats.shared.declaring.registry import Blocks, Drawn, stat_test
from service.stats.shared.declaring.seconds import few_cells, flips_seconds
from service.stats.shared.declaring.sentences import decision, describe_sides, disagreement, level_text
from service.stats.shared.declaring.shows import Path
from service.stats.shared.declaring.simulated import FieldRequest, Simulated, Units, Value
from service.stats.shared.declaring.warnings import (
    FLOOR_ABOVE_ALPHA,
    MC_UNRESOLVED,
    define,
    warn_if_unresolved,
)
from service.stats.shared.methods.resampling import DEFAULT_DRAWS, MOST_DRAWS, first_seed
from service.words import message, speak

LARGE_SHARE = 0.3
"""Share of the items in one cluster from which on it decides nearly alone."""
LISTED_UP_TO = 20
"""Units whose swaps are all listed, whatever the metric."""

TOLERATED = 0.005
"""Worst error of a p-value from values rounded to a grid; beyond it swaps are drawn."""

Route = Literal["convolution", "enumeration", "inversion", "grid", "monte_carlo"]

DOMINANT_CLUSTER = define(
    "DOMINANT_CLUSTER", "caution", "Canay, Romano & Shaikh (2017), Econometrica 85:1013"
)

METHODS = "analyses.apart_linearized"


class RandomizationRequest(ArmsRequest):
    """Two arms on the same items, and optionally each item's cluster."""

    elsewhere: ClassVar = {"margin": "equivalence"}

    alternative: Alternative = "two-sided"
    convention: Literal["standard", "seed"] = Field(
        "standard",
        description="`standard`: exact where possible, else (1 + count)/(B + 1); `seed`: always drawn, count/B.",
    )
    alpha: Alpha = 0.05
    level: Level = 0.95
    n_resamples: DrawCount | None = Field(
        None,
        description="Draws, a count; used only where the swaps cannot be computed. Default 10,000, raised to "
        "100,000 when the p-value is unresolved.",
    )
    seed: DrawSeed = None

    @cached_property
    def exact(self) -> _Reading | None:
        """The p-value without drawing; None where swaps are drawn."""
        if self.convention == "seed":
            return None
        if self.scores:
            result = _exact_mean(self.pair, self.alternative)
            if (result.error or 0.0) <= TOLERATED:
                return result
        flips = list_flips(self.pair.units)
        return None if flips is None else _read(flips, self)


class RandomizationAnalysis(Analysis):
    """What swapping the arms found."""

    delta: float = Field(description="Candidate minus baseline, metric units.")
    ci: Interval = Field(
        description="t interval of delta with the linearized (cluster-robust CR1) standard error, metric "
        "units; the swaps themselves give no interval."
    )
    p_value: float = Field(description="Share of swaps with a difference at least as large as the data's.")
    alternative: Alternative
    metric: MetricName = Field(description="What is compared.")
    baseline_value: float = Field(description="The baseline's metric.")
    candidate_value: float = Field(description="The candidate's metric.")
    unit: Literal["item", "cluster"] = Field(description="What is swapped as a whole.")
    n: ItemCount
    n_clusters: ClusterCount
    n_discordant: int = Field(description="Items whose statistics differ between the arms, a count.")
    n_swappable: int = Field(description="Items or clusters whose swap changes something, a count.")
    counts: PairedCounts | None = Field(description="The fourfold table, counts; null for other metrics.")
    convention: Literal["standard", "seed"] = Field(description="How the distribution was to be obtained.")
    route: Route = Field(
        description="How swaps were weighed: convolution, inversion or a grid of the differences, all listed, "
        "or drawn."
    )
    p_mc_se: float | None = Field(description="Monte-Carlo standard error of p_value, a probability.")
    min_attainable_p: float = Field(
        description="Least p: all units on one side, 1/(B + 1) when drawn, 1/B under the seed convention."
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """A p-value and how it was obtained."""

    p: float
    route: Route
    undefined: float
    n_resamples: int | None
    error: float | None

    @property
    def mc_se(self) -> float | None:
        """Monte-Carlo standard error of p."""
        return None if self.n_resamples is None else (self.p * (1 - self.p) / self.n_resamples) ** 0.5


def _estimate_cost(request: RandomizationRequest) -> float:
    """Estimate the seconds of a request, measured on one core."""
    # By the way the swaps are weighed: not drawn at all, all listed, one by one as the published recipe has it, by
    # cells of equal units, or a coin per unit and draw.
    arms, units = request.pair, request.pair.units
    n, reading = units.n_units, 0.001 + 6e-7 * arms.n
    if request.scores and request.convention == "standard":
        if arms.counts is not None and arms.codes is None:
            return 0.001 + (0 if request.baseline is None else 4e-7 * arms.n)
        return reading + flips_seconds(arms.difference_sums)
    draws, width, listed = request.n_resamples or DEFAULT_DRAWS, units.metric.width, 0.0
    if request.convention == "standard" and n <= LISTED_UP_TO:
        return reading + 0.003 + 3e-8 * width * math.exp2(n)
    if request.convention == "seed":
        return reading + 0.005 + draws * (5e-7 + n * (4e-9 + 2.5e-9 * width))
    cells = few_cells(units)
    if cells is not None:
        listed = 0.3 if cells <= 4 and request.convention == "standard" else 0.0
        return reading + listed + 1e-7 * draws * cells
    if request.scores:
        return reading + 0.003 + draws * n * (2e-9 + 2e-10 * width)
    return reading + 0.003 + draws * n * (4e-9 + 2.5e-9 * width)


def _read_draws(request: RandomizationRequest, drawn: Drawn, draws: int) -> _Reading:
    return _read(flips_of(request.pair.units, drawn["differences"], drawn["undefined"], draws), request)


def _draws(request: RandomizationRequest, drawn: Drawn | None) -> int:
    """Ten times as many when alpha is near and no number was named."""
    draws = request.n_resamples or DEFAULT_DRAWS
    if drawn is None or request.n_resamples is not None:
        return draws
    result = _read_draws(request, drawn, draws)
    # Decided by the first draws alone, which the raised number begins with: no number of workers changes the answer.
    near = result.mc_se is not None and abs(result.p - request.alpha) <= 3 * result.mc_se
    return MOST_DRAWS if near else draws


def _count(request: RandomizationRequest, drawn: Drawn | None) -> int:
    return 0 if request.exact is not None else block_count(_draws(request, drawn))


def _draw(request: RandomizationRequest, which: range) -> Drawn:
    seed = first_seed(request.seed)
    differences, undefined = flip_blocks(request.pair.units, seed, which)
    return {"differences": differences, "undefined": undefined}


def _analyse(request: RandomizationRequest, drawn: Drawn) -> RandomizationAnalysis:
    """Return the answer from the swaps, computed, listed or drawn."""
    arms = request.pair
    result = request.exact or _read_draws(request, drawn, _draws(request, drawn))
    was_drawn = result.n_resamples is not None
    bounds: dict[str, str] = {}
    reasons: dict[str, str] = {}
    swappable = arms.n_differing
    least = apply_floor(_least(result, swappable, request), "min_attainable_p", bounds)
    p = apply_floor(result.p, "p_value", bounds, P_FLOOR if result.n_resamples is None else least)
    if result.mc_se is None:
        reasons["p_mc_se"] = "nothing was drawn"
    if arms.codes is None:
        reasons["n_clusters"] = NO_CLUSTERS
    if arms.counts is None:
        reasons["counts"] = "the outcomes are not right or wrong"
    baseline_value, candidate_value = arms.items.values
    ci = _interval(arms, request.level, reasons)
    return RandomizationAnalysis(
        delta=arms.delta,
        ci=ci,
        p_value=p,
        alternative=request.alternative,
        metric=request.metric,
        baseline_value=baseline_value,
        candidate_value=candidate_value,
        unit="item" if arms.codes is None else "cluster",
        n=arms.n,
        n_clusters=None if arms.codes is None else arms.units.n_units,
        n_discordant=arms.n_discordant,
        n_swappable=swappable,
        counts=arms.counts,
        convention=request.convention,
        route=result.route,
        p_mc_se=result.mc_se,
        min_attainable_p=least,
        reasons=reasons,
        bounds=bounds,
        within={} if result.n_resamples is None else {"p_value": of_share(result.p, result.n_resamples)},
        warnings=tuple(_list_warnings(request, result, p, least)),
        resampling=Resampling(
            exact=not was_drawn,
            error_bound=result.error,
            n_resamples=result.n_resamples,
            seed=first_seed(request.seed) if was_drawn else None,
            bit_generator=BIT_GENERATOR if was_drawn else None,
        ),
        sentence=_describe(arms, ci, p, bounds.get("p_value"), request),
    )


def _list_warnings(
    request: RandomizationRequest, result: _Reading, p: float, least: float
) -> Iterator[StatWarning]:
    """Warn of swaps without a value or too few of them, of clusters, and of what was drawn."""
    arms = request.pair
    yield from arms.warn_if_undefined(result.undefined, "swaps")
    if arms.n_differing == 0:
        yield NO_DISCORDANT()
    elif least >= request.alpha:
        noun = "items" if arms.codes is None else "clusters"
        yield _floor(result, arms.n_differing, least, request.alpha, noun)
    yield from cluster_warnings(arms.sizes)
    yield from arms.warn_if_skewed()
    if arms.largest_share > LARGE_SHARE:
        yield DOMINANT_CLUSTER(share=arms.largest_share)
    if result.mc_se is not None and abs(p - request.alpha) <= 3 * result.mc_se:
        yield MC_UNRESOLVED(p=p, se=result.mc_se, alpha=request.alpha)
    yield from warn_if_unresolved(p, result.error, request.alpha)


BLOCKS = Blocks(_count, _draw, _analyse)


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    **shows.no_meaning("baseline_value", "candidate_value", "p_mc_se", "min_attainable_p"),
}


def _least_p(extent: Extent, parameter: shows.Parameter) -> Least | None:
    """Every unit swapped to one side, where swaps are listed or convolved and never drawn."""
    units = extent.n_clusters if extent.clustered else extent.n
    exact = parameter("convention") == "standard" and parameter("metric") in MEANS
    if not exact or units is None or units > ENUMERATED_UP_TO:
        return None
    return least_of_signs(parameter, units, "clusters" if extent.clustered else "items", "swapping arms")


def _cells(cells: Cells, path: Path) -> Line | None:
    if cells.parameter("convention") != "standard" or cells.parameter("metric") not in MEANS:
        return None
    alternative = cells.parameter("alternative")
    if path == ("p_value",):
        return cells.value_line(
            path, lambda b, m: mcnemar.p_values(b, m - b, "exact", alternative), sides_pattern(alternative)
        )
    return None


def _simulate(units: Units, request: FieldRequest, path: Path) -> Value | None:
    if not request.of_means or path != ("p_value",):
        return None
    return units.swapped_p(request.parameter("alternative"))


PLAN = PlanUse(
    endpoints=frozenset({"binary", "continuous"}),
    clusters="when_planned",
    shows=SHOWS,
    least_p=_least_p,
    cells=_cells,
    simulated=Simulated(_simulate, lambda _parameter: "swapped"),
    resort=Resort(None, frozenset({"continuous"}), frozenset({False})),
    flips_signs=lambda parameter: parameter("metric") in MEANS and parameter("convention") == "standard",
    spoken=Spoken(
        "randomization",
        r"permutation|randomi[sz]ation|置换|随机化",
        "randomization",
        frozenset({False, True}),
        rank=5,
    ),
)


@stat_test(
    name="randomization",
    version=1,
    title="Approximate randomization (paired)",
    asked="pairs",
    example={
        "baseline": {"tp": [3, 1, 0, 2, 4, 1], "fp": [1, 2, 1, 0, 1, 3], "fn": [0, 1, 2, 1, 0, 2]},
        "candidate": {"tp": [3, 2, 1, 2, 4, 3], "fp": [0, 1, 1, 0, 2, 1], "fn": [0, 0, 1, 1, 0, 0]},
        "metric": "f1",
    },
    cost=_estimate_cost,
    plan=PLAN,
    blocks=BLOCKS,
)
def randomization(request: RandomizationRequest) -> RandomizationAnalysis:
    """Test whether two arms are exchangeable within items, by the metric's difference.

    H0: the two outputs of an item could as well carry the other arm's name. Every item, or every
    cluster as a whole, is swapped or not with probability 1/2, the sums are taken anew, and the metric's
    difference after the swaps is compared with the one observed.

    Returns:
        delta: the metric of the candidate minus the baseline's; BLEU on 0-100.
        p_value: P(|delta*| >= |delta|), or of one side; exact where `route` is not `monte_carlo`.
        ci: from the linearized standard error, a companion of the estimate and not the test inverted.
        min_attainable_p: 2 / 2^units for two-sided swaps, 1 / 2^units for one side.

    Raises:
        InvalidData: columns of different length, a metric whose statistics were not sent, a single
            cluster, or more matches than n-grams.

    Edge cases:
        Nothing to swap: p is 1 by definition, warning NO_DISCORDANT.
        0/0 in precision, recall or F1, or no match in BLEU: 0, counted in warning METRIC_UNDEFINED.
        A cluster above 30 % of the items: warning DOMINANT_CLUSTER. Few clusters: FEW_CLUSTERS or CAUTION.
        Skewed differences, or skewed sums of clusters, which no exchangeable arms have: warning SKEWED.
        Too few units to reach alpha: warning FLOOR_ABOVE_ALPHA.
        Replicates of an item are averaged within the item first.
        Mean of more than 40 values on no lattice: by inversion, or rounded to a grid and erring upwards;
            the error is in `provenance`.

    Sources:
        Noreen (1989), Computer-Intensive Methods for Testing Hypotheses.
        Yeh (2000), COLING, 947 (F1).
        Phipson & Smyth (2010), Stat Appl Genet Mol Biol 9:39 (p of draws).

    Example:
        Six items of which the candidate alone is right on all: 2 of 64 swaps are as far from zero,
        p = .03125, as McNemar's exact test.
    """
    return BLOCKS.whole(request)


def _exact_mean(arms: Arms, alternative: Alternative) -> _Reading:
    """Return the distribution of a sum with random signs; for right and wrong items a binomial."""
    if arms.counts is not None and arms.codes is None:
        b, c = arms.counts.only_candidate, arms.counts.only_baseline
        m = b + c
        # Binomial(m, 1/2) is symmetric: P(X >= b) = P(X <= c), so every tail is a lower one.
        far = {"greater": c, "less": b, "two-sided": min(b, c)}[alternative]
        share = float(special.bdtr(far, m, 0.5)) if m else 1.0
        p = min(1.0, 2 * share) if alternative == "two-sided" else share
        return _Reading(p, "convolution", 0.0, None, None)
    tails = sign_flip(arms.difference_sums)
    p = {"two-sided": tails.two_sided, "greater": tails.at_least, "less": tails.at_most}[alternative]
    return _Reading(p, tails.route, 0.0, None, tails.error)


def _read(flips: Flips, request: RandomizationRequest) -> _Reading:
    share = {"two-sided": flips.two_sided, "greater": flips.at_least, "less": flips.at_most}[
        request.alternative
    ]
    if flips.n_resamples is None or request.convention == "seed":
        return _Reading(share, flips.route, flips.undefined, flips.n_resamples, flips.error)
    # Phipson & Smyth (2010): the swap that was observed is one of those that can be drawn.
    p = (1 + share * flips.n_resamples) / (flips.n_resamples + 1)
    return _Reading(p, flips.route, flips.undefined, flips.n_resamples, flips.error)


def _least(result: _Reading, swappable: int, request: RandomizationRequest) -> float:
    """The observed swap alone is counted, and its mirror image when two-sided."""
    if result.n_resamples is not None:
        return 1 / (result.n_resamples + (request.convention == "standard"))
    return float(min(1.0, 2.0 ** -(swappable - (request.alternative == "two-sided"))))


def _floor(result: _Reading, swappable: int, least: float, alpha: float, noun: str) -> StatWarning:
    """Return what sets the floor: the draws, or the units."""
    what, more = f"swapping {swappable} {noun}", noun
    if result.n_resamples is not None:
        what, more = f"counting {result.n_resamples} draws", "draws"
    return FLOOR_ABOVE_ALPHA(what=what, least=least, alpha=alpha, more=more)


def _interval(arms: Arms, level: float, reasons: dict[str, str]) -> Interval:
    """delta plus and minus t standard errors, within what the metric can reach."""
    error, g = arms.units.standard_error(), arms.units.n_units
    if not error:
        why = "a single item" if error is None else "the difference does not vary between items or clusters"
        reasons["ci.low"] = reasons["ci.high"] = why
        return Interval(low=None, high=None, level=level, method="linearized t")
    half = t_quantile(0.5 + level / 2, g - 1) * error
    delta, reach = arms.delta, arms.reach
    return Interval(
        low=max(delta - half, -reach), high=min(delta + half, reach), level=level, method="linearized t"
    )


def _describe(arms: Arms, ci: Interval, p: float, bound: str | None, request: RandomizationRequest) -> str:
    """Describe the difference of the arms' metric, its interval and its test in one sentence."""
    interval = message("analyses.no_interval_difference")
    if ci.low is not None and ci.high is not None:
        interval = message(
            "analyses.ci_of",
            level=level_text(ci.level),
            method=ci.method,
            low=arms.show(ci.low),
            high=arms.show(ci.high),
        )
    where = message("analyses.items", n=arms.n)
    if arms.codes is not None:
        where = message("analyses.items_in_clusters", items=where, clusters=arms.units.n_units)
    return speak(
        "analyses.randomization",
        delta=arms.show(arms.delta),
        metric=arms.named,
        interval=interval,
        where=where,
        alternative=describe_sides(request.alternative),
        decision=decision(p, request.alpha, "analyses.exchangeable", bound=bound),
        apart="" if ci.low is None else disagreement(ci, p, request.alpha, request.alternative, METHODS),
    )
