"""The difference of two proportions on the same items: score interval and score test."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from pydantic import Field
from scipy import special

from service.kernels.pairs import tango
from service.kernels.planning.rule_enumeration import Floats, Ints
from service.stats.shared.data.pairs import (
    NO_DISCORDANT,
    BinaryPairsRequest,
    IntervalMethod,
    PairedCounts,
    apply_floor,
)
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.cell_lines import EndLines, Line
from service.stats.shared.declaring.cells import Cells, sides_pattern, whole_interval
from service.stats.shared.declaring.certainty import of_wald
from service.stats.shared.declaring.common import Alternative, Analysis, Interval, StatWarning
from service.stats.shared.declaring.fields import Alpha, ItemCount, LevelOfAll
from service.stats.shared.declaring.plan_use import Extent, Least, PlanUse, furthest_mean, least_of_normal
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    describe_sides,
    difference_of,
    disagreement,
)
from service.stats.shared.declaring.shows import Path
from service.stats.shared.declaring.warnings import define
from service.words import speak

METHODS: dict[IntervalMethod, str | None] = {
    "tango": None,
    "newcombe": "analyses.apart_newcombe",
    "wald": "analyses.apart_wald",
}
"""What tells the interval from the score test; Tango's is the test turned around."""

FEW = 10
"""Discordant items below which the score test is not to be trusted alone."""

FEW_FOR_SCORE = define(
    "FEW_FOR_SCORE", "caution", "Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91"
)
WALD_TOO_SHORT = define("WALD_TOO_SHORT", "caution", "Newcombe (1998), Stat Med 17:2635")
WALD_NEEDS = 20
"""Discordant items below which Wald's interval is too short."""


class PairedDifferenceRequest(BinaryPairsRequest):
    """Two arms on the same items, each right (1) or wrong (0): two columns, or the four counts."""

    elsewhere: ClassVar = {
        "clusters": "cluster-bootstrap",
        "margin": "equivalence",
        "metric": "randomization",
    }

    method: IntervalMethod = Field("tango", description="The interval in `ci`; the others stand beside it.")
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: LevelOfAll = 0.95


class PairedDifferenceAnalysis(Analysis):
    """Estimate, intervals and score test of a paired difference of proportions."""

    delta: float = Field(description="(only_candidate - only_baseline) / n, a proportion.")
    ci: Interval = Field(description="Interval of delta by the chosen method, proportions.")
    intervals: dict[IntervalMethod, Interval] = Field(
        description="Intervals of delta by method, proportions."
    )
    p_value: float = Field(description="Of Tango's score test of a difference of 0.")
    z: float = Field(description="Score statistic, in standard errors under a difference of 0.")
    method: IntervalMethod = Field(description="The interval in `ci`.")
    alternative: Alternative
    baseline_rate: float = Field(description="Share of items the baseline answers correctly, a proportion.")
    candidate_rate: float = Field(description="Share of items the candidate answers correctly, a proportion.")
    n: ItemCount
    n_discordant: int = Field(description="only_baseline + only_candidate, a count of items.")
    counts: PairedCounts = Field(description="The fourfold table, counts.")
    min_attainable_p: float = Field(description="Least p with that many discordant items: all on one side.")


def _estimate_cost(request: PairedDifferenceRequest) -> float:
    return 0.0003 + 3e-7 * len(request.baseline or ())


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "intervals.*": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    "z": shows.Signed(),
    **shows.no_meaning("baseline_rate", "candidate_rate", "min_attainable_p"),
}


def _least_p(extent: Extent, parameter: shows.Parameter) -> Least:
    """Every item won by one arm."""
    return least_of_normal(parameter, furthest_mean(extent.n), extent.n, "items", "the score test")


def _cells(cells: Cells, path: Path) -> Line | EndLines | None:
    """Return the fields that the counts of independent pairs decide, as lines over the fourfold tables."""
    alternative = cells.parameter("alternative")
    whole = whole_interval(path)

    def z(b: Ints, m: Ints) -> Floats:
        # c = m - b, so b - c = 2 b - m: Tango's T(0) = (b - c) / sqrt(b + c). The maximum keeps m = 0 from dividing
        # by 0.
        return np.where(m > 0, (2 * b - m) / np.sqrt(np.maximum(m, 1)), 0.0)

    def p(b: Ints, m: Ints) -> Floats:
        if alternative == "two-sided":
            p = special.erfc(np.abs(z(b, m)) / math.sqrt(2))
        else:
            p = special.ndtr(-z(b, m) if alternative == "greater" else z(b, m))
        return np.where(m > 0, p, 1.0)

    if path == ("z",):
        return cells.value_line(path, z, "rising")
    if path == ("p_value",):
        return cells.value_line(path, p, sides_pattern(alternative))
    if whole == ("ci",):
        return cells.interval(path, cells.parameter("method"))
    if whole[0] == "intervals":
        return cells.interval(path, whole[1])
    return None


@stat_test(
    name="paired-difference",
    version=1,
    title="Paired difference of proportions",
    asked="pairs",
    example={"both_correct": 43, "only_baseline": 20, "only_candidate": 40, "both_wrong": 57},
    cost=_estimate_cost,
    closed_form=True,
    plan=PlanUse(endpoints=frozenset({"binary"}), shows=SHOWS, least_p=_least_p, cells=_cells),
)
def paired_difference(request: PairedDifferenceRequest) -> PairedDifferenceAnalysis:
    """Estimate how much more often one arm is right than the other on the same items.

    Items are independent; of n, b are answered correctly by the candidate only and c by the baseline
    only. Tango's score T(D) compares (b - c)/n with a difference D, its variance estimated under D;
    the interval holds every D with |T(D)| <= z. H0 of the p-value is D = 0, where T is
    (b - c)/sqrt(b + c), McNemar's statistic.

    Returns:
        delta: (b - c)/n, a proportion in [-1, 1].
        ci: by the chosen method: `tango` (recommended), `newcombe` (hybrid score) or `wald`.
        p_value: normal tail of z; two-sided p < 1 - level goes with a Tango interval without 0.

    Raises:
        InvalidData: columns of different length, values other than 0 and 1, or no item.

    Edge cases:
        No discordant item: delta 0, z 0, p 1 for every alternative, warning NO_DISCORDANT; the Tango
            interval still has a width, the Wald interval none.
        Fewer than 10 discordant items: warning FEW_FOR_SCORE.
        `wald` below 20 discordant items: warning WALD_TOO_SHORT.

    Sources:
        Tango (1998), Stat Med 17:891.
        Newcombe (1998), Stat Med 17:2635 (method 10).
        Fagerland, Lydersen & Laake (2014), Stat Med 33:2850 (which to use when).

    Example:
        160 items, 40 right by the candidate only and 20 by the baseline only: delta .125, Tango
        interval .0309 to .2181.
    """
    counts = request.table
    b, c, n, m = counts.only_candidate, counts.only_baseline, counts.n, counts.n_discordant
    ends = counts.ends(request.level)
    intervals = Interval.by_method(ends, request.level)
    z = tango.score(b, c, n, 0.0) if m else 0.0
    one_sided: Alternative = "two-sided" if request.alternative == "two-sided" else "greater"
    bounds: dict[str, str] = {}
    p = apply_floor(score_p(z, request.alternative) if m else 1.0, "p_value", bounds)
    # All m on one side: (m - 0) / sqrt(m).
    least = apply_floor(score_p(math.sqrt(m), one_sided) if m else 1.0, "min_attainable_p", bounds)
    warnings: list[StatWarning] = []
    if m == 0:
        warnings.append(NO_DISCORDANT())
    elif m < FEW:
        warnings.append(FEW_FOR_SCORE(n_discordant=m))
    if request.method == "wald" and m < WALD_NEEDS:
        warnings.append(WALD_TOO_SHORT(n=n, n_discordant=m))
    return PairedDifferenceAnalysis(
        delta=counts.delta,
        ci=intervals[request.method],
        intervals=intervals,
        p_value=p,
        z=z,
        method=request.method,
        alternative=request.alternative,
        baseline_rate=(counts.both_correct + c) / n,
        candidate_rate=(counts.both_correct + b) / n,
        n=n,
        n_discordant=m,
        counts=counts,
        min_attainable_p=least,
        bounds=bounds,
        undecided=of_wald(m, counts.delta, request.method),
        warnings=tuple(warnings),
        sentence=speak(
            "analyses.score_test",
            delta=difference_of(counts.delta, binary=True),
            interval=ci_of(intervals[request.method], binary=True, phrase="ci_of", method=request.method),
            n=n,
            m=m,
            alternative=describe_sides(request.alternative),
            decision=decision(p, request.alpha, "analyses.equal_accuracy", bound=bounds.get("p_value")),
            apart=disagreement(
                intervals[request.method], p, request.alpha, request.alternative, METHODS[request.method]
            ),
        ),
    )


def score_p(z: float, alternative: Alternative) -> float:
    """Return the normal tail of the score; positive z favours the candidate."""
    if alternative == "two-sided":
        # erfc(z / sqrt 2) is 2 (1 - Phi(z)) without the subtraction, so that far tails keep their digits.
        return float(special.erfc(abs(z) / math.sqrt(2)))
    return float(special.ndtr(-z if alternative == "greater" else z))
