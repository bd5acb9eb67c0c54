"""McNemar's test in its four forms, with the score interval of the difference."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pydantic import Field
from scipy import special

from service.kernels.pairs import mcnemar as kernel
from service.kernels.pairs.mcnemar import Floats, Ints, Method
from service.records import Record
from service.stats.shared.data.pairs import (
    NO_DISCORDANT,
    P_FLOOR,
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
from service.stats.shared.declaring.plan_use import Extent, Least, PlanUse, Resort, Spoken
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import (
    ci_of,
    decision,
    describe_sides,
    difference_of,
    disagreement,
)
from service.stats.shared.declaring.shows import Path
from service.stats.shared.declaring.warnings import FLOOR_ABOVE_ALPHA
from service.words import speak

METHODS: dict[Method, str | None] = {
    "exact": "analyses.apart_tango_exact",
    "midp": "analyses.apart_tango_midp",
    "asymptotic": None,
    "corrected": "analyses.apart_corrected",
}
"""What tells the p-value from Tango's interval, which is the asymptotic test turned around."""


class McNemarRequest(BinaryPairsRequest):
    """Two arms on the same items, each right (1) or wrong (0): two columns, or the four counts."""

    elsewhere: ClassVar = {
        "clusters": "clustered-mcnemar",
        "margin": "equivalence",
        "metric": "randomization",
    }

    method: Method = Field("exact", description="How the p-value is computed.")
    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05
    level: LevelOfAll = 0.95


class OddsRatio(Record):
    """Conditional odds ratio only_candidate / only_baseline with its exact interval."""

    estimate: float | None = Field(description="Odds ratio of a discordant item, a ratio.")
    ci: Interval = Field(description="Clopper-Pearson interval carried to the odds, ratios.")


class McNemarAnalysis(Analysis):
    """What McNemar's test shows of the difference of two arms that are right or wrong."""

    delta: float = Field(description="(only_candidate - only_baseline) / n, a proportion.")
    ci: Interval = Field(description="Tango score interval of delta.")
    p_value: float = Field(description="Of the chosen method and alternative.")
    method: Method = Field(description="Form of the test.")
    alternative: Alternative
    statistic: float | None = Field(
        description="Chi-square on 1 df of the two asymptotic methods, else null."
    )
    n: ItemCount
    counts: PairedCounts = Field(description="The fourfold table, counts.")
    n_discordant: int = Field(description="only_baseline + only_candidate, a count of items.")
    min_attainable_p: float = Field(
        description="Least p this method can give with that many discordant items."
    )
    odds_ratio: OddsRatio = Field(description="Odds that a discordant item is the candidate's, a ratio.")
    cohens_g: float | None = Field(
        description="Share of discordant items the candidate wins, minus 1/2, a proportion."
    )
    intervals: dict[IntervalMethod, Interval] = Field(
        description="Intervals of delta by method, proportions."
    )


def _estimate_cost(request: McNemarRequest) -> float:
    return 0.0003 + 2.2e-7 * len(request.baseline or ())


SHOWS: shows.Shows = {
    "delta": shows.Estimate(),
    "ci": shows.Covers(shows.by_level),
    "intervals.*": shows.Covers(shows.by_level),
    "p_value": shows.PValue(shows.against_zero),
    "odds_ratio.estimate": shows.Signed(origin=1),
    "odds_ratio.ci": shows.Covers(shows.by_level, origin=1),
    "cohens_g": shows.Signed(),
    **shows.no_meaning("statistic", "min_attainable_p"),
}


def _least_p(extent: Extent, parameter: shows.Parameter) -> Least:
    """Every item discordant, and all won by one arm."""
    method, alternative = parameter("method"), parameter("alternative")
    least = Fraction(min_attainable_p(extent.n, method, alternative))
    return Least(least, extent.n, "items", f"McNemar's {method} test")


def _cells(cells: Cells, path: Path) -> Line | EndLines | None:
    """Return every field but the interval of the odds ratio, on independent pairs."""
    method, alternative = cells.parameter("method"), cells.parameter("alternative")
    whole = whole_interval(path)
    if path == ("p_value",):
        return cells.value_line(
            path, lambda b, m: kernel.p_values(b, m - b, method, alternative), sides_pattern(alternative)
        )
    if path == ("min_attainable_p",):
        side: Alternative = "two-sided" if alternative == "two-sided" else "greater"
        return cells.value_line(path, lambda _b, m: kernel.p_values(m, 0 * m, method, side), "row")
    if whole == ("ci",):
        return cells.interval(path, "tango")
    if whole[0] == "intervals":
        return cells.interval(path, whole[1])
    if path == ("cohens_g",):
        return cells.value_line(path, lambda b, m: _ratio(b, m) - 0.5, "any")
    if path == ("odds_ratio", "estimate"):
        return cells.value_line(path, lambda b, m: np.where(m > 0, _ratio(b, m - b, np.inf), np.nan), "any")
    return None


def _ratio(above: Ints, below: Ints, otherwise: float = np.nan) -> Floats:
    return np.where(below > 0, above / np.maximum(below, 1), otherwise)


def _read_method(text: str) -> dict[str, Any]:
    """A sentence that names SciPy's binomtest means the exact test."""
    return {"method": "exact"} if re.search(r"binomtest|exact|精确", text, re.IGNORECASE) else {}


PLAN = PlanUse(
    endpoints=frozenset({"binary"}),
    shows=SHOWS,
    least_p=_least_p,
    cells=_cells,
    spoken=Spoken("mcnemar", r"mcnemar", "mcnemar", frozenset({False}), rank=1, parameters=_read_method),
    resort=Resort("exact", frozenset({"binary"}), frozenset({False})),
    flips_signs=lambda parameter: parameter("method") == "exact",
    differences_alone=True,
)


@stat_test(
    name="mcnemar",
    version=1,
    title="McNemar's test (paired binary)",
    asked="pairs",
    example={"both_correct": 1, "only_baseline": 1, "only_candidate": 7, "both_wrong": 12},
    cost=_estimate_cost,
    closed_form=True,
    plan=PLAN,
    serves=frozenset({"fourfold"}),
)
def mcnemar(request: McNemarRequest) -> McNemarAnalysis:
    """Test whether two arms answer the same items correctly equally often.

    Under H0 each discordant item is a fair coin, so ``only_candidate`` given
    ``m = only_baseline + only_candidate`` is Binomial(m, 1/2). Concordant items
    carry no evidence and enter only the effect size.

    Returns:
        delta: (only_candidate - only_baseline) / n, a proportion in [-1, 1].
        p_value: of the chosen method and alternative.
        ci: Tango score interval of delta; Newcombe and Wald beside it.
        odds_ratio: only_candidate / only_baseline with its exact interval.

    Raises:
        InvalidData: columns of different length, values other than 0 and 1, or no item.

    Edge cases:
        Tie (equal counts above 0): exact p 1, mid-p 1 - P(X = k) / 2.
        No discordant items: delta 0, p 1 for every alternative, warning NO_DISCORDANT.
        Too few discordant items to reach alpha (below 6 for `exact`, two-sided .05): warning FLOOR_ABOVE_ALPHA.
        One discordant count 0: the odds ratio has an infinite end, given as null with a reason.
        One-sided `corrected` moves the statistic half a step towards H0, as the exact tail does.

    Sources:
        McNemar (1947), Psychometrika 12:153.
        Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91 (mid-p).
        Tango (1998), Stat Med 17:891 (interval).

    Example:
        Bentur et al., 21 children, 1 and 7 discordant: exact 18/256, mid-p 10/256.
    """
    counts = request.table
    b, c = counts.only_candidate, counts.only_baseline
    m, n, delta = b + c, counts.n, counts.delta
    bounds: dict[str, str] = {}
    p_value = apply_floor(kernel.p_value(b, c, request.method, request.alternative), "p_value", bounds)
    ends = counts.ends(request.level)
    intervals = Interval.by_method(ends, request.level)
    reasons: dict[str, str] = {}
    if request.method in ("exact", "midp"):
        reasons["statistic"] = "an exact test has no chi-square"
    elif m == 0:
        reasons["statistic"] = "no discordant items"
    if m == 0:
        reasons["cohens_g"] = "no discordant items"
    ci = intervals["tango"]
    least = min_attainable_p(m, request.method, request.alternative)
    return McNemarAnalysis(
        delta=delta,
        ci=ci,
        p_value=p_value,
        method=request.method,
        alternative=request.alternative,
        statistic=None if "statistic" in reasons else kernel.chi_square(b, c, request.method),
        n=n,
        counts=counts,
        n_discordant=m,
        min_attainable_p=least,
        odds_ratio=_odds_ratio(b, c, request.level, reasons),
        cohens_g=None if m == 0 else b / m - 0.5,
        intervals=intervals,
        reasons=reasons,
        bounds=bounds,
        undecided=of_wald(m, delta, "tango"),
        warnings=_list_warnings(m, least, request.alpha),
        sentence=speak(
            "analyses.mcnemar",
            delta=difference_of(delta, binary=True),
            interval=ci_of(ci, binary=True),
            n=n,
            m=m,
            method=request.method,
            alternative=describe_sides(request.alternative),
            decision=decision(p_value, request.alpha, "analyses.equal_accuracy", bound=bounds.get("p_value")),
            apart=disagreement(ci, p_value, request.alpha, request.alternative, METHODS[request.method]),
        ),
    )


def _list_warnings(m: int, least: float, alpha: float) -> tuple[StatWarning, ...]:
    """NO_DISCORDANT, or FLOOR_ABOVE_ALPHA when m discordant items cannot reach alpha."""
    if m == 0:
        return (NO_DISCORDANT(),)
    if least < alpha:
        return ()
    items = f"{m} discordant item" + "s" * (m > 1)
    return (FLOOR_ABOVE_ALPHA(what=items, least=least, alpha=alpha, more="items"),)


def min_attainable_p(m: int, method: Method, alternative: Alternative) -> float:
    """Return the least p with m discordant items: all of them on one side."""
    # All m on the candidate's side: by symmetry this is also the least p of `less`.
    return max(kernel.p_value(m, 0, method, alternative if alternative != "less" else "greater"), P_FLOOR)


def _odds_ratio(b: int, c: int, level: float, reasons: dict[str, str]) -> OddsRatio:
    """Clopper-Pearson on b/m, carried to the odds; a null end has its reason in `reasons`."""
    m, tail = b + c, (1 - level) / 2
    ends: list[float | None] = [None, None]
    # Clopper-Pearson of the share b / m by beta quantiles; o = p / (1 - p) rises in p, so ends carry over to the
    # odds.
    if m:
        low = 0.0 if b == 0 else float(special.betaincinv(b, c + 1, tail))
        high = None if c == 0 else float(special.betaincinv(b + 1, c, 1 - tail))
        ends = [low / (1 - low), None if high is None else high / (1 - high)]
    estimate = b / c if c else None
    for path, value in (
        ("odds_ratio.estimate", estimate),
        ("odds_ratio.ci.low", ends[0]),
        ("odds_ratio.ci.high", ends[1]),
    ):
        if value is None:
            reasons[path] = "infinite" if m else "no discordant items"
    ci = Interval(low=ends[0], high=ends[1], level=level, method="clopper-pearson")
    return OddsRatio(estimate=estimate, ci=ci)
