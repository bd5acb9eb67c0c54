"""How reliable one arm is: the best and the worst of k runs, and which items can be relied on."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy import special

from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of
from service.kernels.repeats.draws_of_k import worst_and_best
from service.records import Record
from service.stats.shared.data.clustering import NO_CLUSTERS, cluster_warnings
from service.stats.shared.data.replicates import MAX_REPLICATES, Replicates
from service.stats.shared.data.score_range import UNIT, RangeField, ScoreRange, lies_in_unit
from service.stats.shared.declaring import shows
from service.stats.shared.declaring.columns import (
    is_binary,
    require_equal_lengths,
    require_size,
    require_two_clusters,
)
from service.stats.shared.declaring.common import Analysis, Interval, Request, StatWarning
from service.stats.shared.declaring.fields import (
    ClusterCount,
    Clusters,
    ItemCount,
    LeastRuns,
    LevelOfAll,
    MostRuns,
    ValueCount,
)
from service.stats.shared.declaring.one_arm import OneArmSets
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import level_text
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.item_standing import (
    ItemStanding,
    Standing,
    runs_of_perfect_items,
    standings_of,
)
from service.stats.shared.methods.one_mean import InClusters, OneMean
from service.stats.shared.methods.one_mean_in_plans import OneMeanSets
from service.stats.shared.methods.scored import make_interval, rare_clusters
from service.words import Value, message, speak

Floats = NDArray[np.float64]
MOST_K, SHOWN = 10, 200
DUST = 1e-12
"""A share this close to an end, in relation to the range, is the end."""

RUNS_ONCE = define("RUNS_ONCE", "serious", "Yao et al. (2024), arXiv:2406.12045")


class ReliabilityRequest(Request):
    """One arm's outcomes, several runs per item."""

    elsewhere: ClassVar = {"baseline": "repeated", "candidate": "repeated", "correct": "pass-at-k"}

    values: Replicates = Field(
        description="One list per item with the outcomes of its runs, 0 and 1 or scores; lengths may differ."
    )
    clusters: Clusters = None
    k: (
        Annotated[list[Annotated[int, Field(ge=1, le=MAX_REPLICATES)]], Field(min_length=1, max_length=50)]
        | None
    ) = Field(
        None, description="Numbers of runs to ask about, counts; null: 1 to 10, as far as every item ran."
    )
    least_share: float = Field(
        0.9,
        gt=0,
        lt=1,
        allow_inf_nan=False,
        description="How often an item has to be right to be reliable, a proportion; right and wrong only.",
    )
    range: RangeField = None
    in_clusters: InClusters = "by_size"
    level: LevelOfAll = 0.95

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse values outside the range, a single cluster, and k above the runs of an item."""
        require_equal_lengths({"values": self.values, "clusters": self.clusters})
        require_two_clusters(self.clusters)
        require_size(self.flat, "values")
        if self.range is not None:
            self.range.require({"values": self.flat})
        least = int(self.counts.min())
        if self.k is not None and max(self.k) > least:
            few = np.flatnonzero(self.counts < max(self.k))
            items = ", ".join(f"values[{item}]" for item in few[:5])
            more = f" and {len(few) - 5} more" if len(few) > 5 else ""
            raise InvalidData.field(
                "k",
                f"is more than the runs of {items}{more}",
                f"ask for k up to {least}, or run these items again",
            )
        return self

    @property
    def flat(self) -> Floats:
        """The outcomes of all runs of all items in one column, shape (runs,)."""
        return np.array([x for runs in self.values for x in runs], dtype=np.float64)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Runs of each item (n,)."""
        return np.array([len(runs) for runs in self.values], dtype=np.int64)

    @cached_property
    def scale(self) -> ScoreRange | None:
        """The range of outcomes: as sent, else 0 to 1 where all lie there, else None (not known)."""
        return self.range or (UNIT if lies_in_unit(self.flat) else None)

    @property
    def numbers_of_runs(self) -> list[int]:
        """The numbers of runs that are answered."""
        return self.k or list(range(1, min(int(self.counts.min()), MOST_K) + 1))


class OfSomeRuns(Record):
    """What k runs of every item give on average over items."""

    value: float = Field(description="Mean over items, a proportion or score units.")
    ci: Interval | None = Field(
        description="Over items like these, or clusters of them, as of `one-sample-mean`."
    )


class OfK(Record):
    """The best and the worst of k runs."""

    k: int = Field(description="Runs, a count.")
    best: OfSomeRuns = Field(
        description="Of the best of k runs; of right and wrong pass@k, at least one is right."
    )
    worst: OfSomeRuns = Field(description="Of the worst of k runs; of right and wrong pass^k, all are right.")


class ReliabilityAnalysis(Analysis):
    """One arm's reliability over runs."""

    curve: list[OfK] = Field(description="By the number of runs, as asked.")
    pass_hat_k: OfSomeRuns = Field(
        description="Of the worst of the most runs that were asked about, as `curve` has it: of right and wrong pass^k."
    )
    k: int = Field(description="How many runs these are, a count.")
    n_flaky: int = Field(description="Items whose runs differ, a count.")
    flaky: list[ItemStanding] = Field(description="These items, most variable first; the first 200.")
    least_share: float | None = Field(
        description="How often an item has to be right to be reliable, a proportion."
    )
    n_reliable: int | None = Field(description="Items shown to be right at least so often, a count.")
    n_unreliable: int | None = Field(description="Items shown to be right less often, a count.")
    n_undecided: int | None = Field(description="Items of which neither is shown, a count.")
    least_low: float | None = Field(
        description="Every item is right at least so often: the least of their simultaneous lower bounds, a proportion."
    )
    unreliable: list[ItemStanding] = Field(
        description="Items shown to be right less often, worst first; the first 200."
    )
    runs_needed: int | None = Field(
        description="Runs of every item that show all of them reliable if every run is right, a count."
    )
    n: ItemCount
    n_clusters: ClusterCount
    n_values: ValueCount
    least_runs: LeastRuns
    most_runs: MostRuns


def _estimate_cost(request: ReliabilityRequest) -> float:
    values = (
        sum(len(runs) for runs in request.values[:1000])
        / min(len(request.values), 1000)
        * len(request.values)
    )
    return 0.01 + (1e-6 * values + 1e-5 * len(request.values) + 0.01) * len(request.k or range(MOST_K))


OF_K, OF_EVERY = shows.Effect("pass_hat_k"), shows.Effect("every_item")
SHOWS: shows.Shows = {
    "pass_hat_k.ci": shows.Covers(shows.by_level, around=False, effect=OF_K),
    "least_low": shows.Bounded(1, shows.by_level, OF_EVERY),
    **shows.no_meaning("pass_hat_k.value", "k", "n_flaky", "least_share", "n_reliable", "n_unreliable"),
    **shows.no_meaning("n_undecided", "runs_needed", "n_values", "least_runs", "most_runs"),
}


def _of_reference(value: float, good: shows.Side, binary: bool) -> dict[str, Any]:
    filled: dict[str, Any] = {"in_clusters": "furthest"}
    return filled | ({"least_share": value} if binary and good > 0 and 0 < value < 1 else {})


def _of_sets(sets: OneArmSets, parameter: shows.Parameter, path: shows.Path, limit: float) -> Floats | None:
    """Return a field of the answer in every simulated data set; None where it is not simulated."""
    if sets.runs is None:
        return None
    runs, tail = sets.runs.shape[2], shows.by_level(parameter)
    if path[0] == "pass_hat_k":
        k = max(parameter("k") or [min(runs, MOST_K)])
        means = sets.once(
            ("pass_hat_k", k),
            lambda: OneMeanSets(_worst(sets, k), sets.sizes, ScoreRange(low=sets.low, high=sets.high)),
        )
        if path == ("pass_hat_k", "value"):
            return means.means
        return means.margins("low" if path[-1] == "low" else "high", limit, tail)
    if path == ("least_low",):
        right = sets.runs.sum(axis=2).min(axis=1)
        share = tail / sets.runs.shape[1]
        low = special.betaincinv(np.maximum(right, 1), runs - right + 1, share)
        return np.asarray(np.where(right > 0, low, 0.0))
    return None


def _worst(sets: OneArmSets, k: int) -> Floats:
    """Return the expected worst of k runs of every item, (T, n), the ends of the range kept as they are."""
    assert sets.runs is not None  # noqa: S101 - callers have runs
    flat = sets.runs.reshape(-1, sets.runs.shape[2])
    worst = worst_and_best(flat, k)[0].reshape(sets.runs.shape[:2])
    for end in (sets.low, sets.high):
        worst[np.abs(worst - end) < DUST * (sets.high - sets.low)] = end
    return np.asarray(worst)


@stat_test(
    name="reliability",
    version=1,
    title="Reliability over runs (pass^k, worst of k, flaky items)",
    asked="runs",
    example={
        "values": [[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]],
        "k": [1, 2, 4],
    },
    cost=_estimate_cost,
    closed_form=True,
    plan=PlanUse(
        endpoints=frozenset({"binary", "continuous"}),
        clusters="when_planned",
        shows=SHOWS,
        takes="runs",
        takes_range=lambda _parameter: True,
        keeps_level=lambda _parameter, clustered: not clustered,
        arms=1,
        fills=frozenset({"least_share", "in_clusters"}),
        of_reference=_of_reference,
        of_sets=_of_sets,
        clause="pass_hat_k.ci.low >= 90%",
    ),
)
def reliability(request: ReliabilityRequest) -> ReliabilityAnalysis:
    """Tell how often all of k runs of an item are right, and which items can be relied on.

    Runs of an item are independent with the item's own chance; items (or clusters) are a sample. Of r runs, c are
    right: all of k picked from them are right in C(c, k) of C(r, k) ways, and at least one is in C(r, k) - C(r - c, k).
    Both are unbiased for k new runs of the item; their means over items have the interval of one mean. Of scores, the
    least and the greatest of k runs take their place. H0 of an item: it is right less often than `least_share`, and
    the reverse.

    Returns:
        curve: best and worst of k, with the interval that `one-sample-mean` gives such a column.
        pass_hat_k: the worst of the most runs that were asked about.
        flaky: items whose runs differ.
        n_reliable, n_unreliable, n_undecided: by exact binomial tests of the items with Holm's correction, each
            direction at (1 - level) / 2: with chance `level` no item is in a wrong one of the first two.
        least_low: bounds of the items at (1 - level) / 2 over their number; every item lies above the least of them.
        runs_needed: the least r with least_share^r at most (1 - level) / 2 over the number of items.

    Raises:
        InvalidData: no item, an item without a run, k above the runs of some item, a single cluster, or scores outside
            the range.

    Edge cases:
        An item with one run: k is 1, warning RUNS_ONCE.
        Scores other than 0 and 1: no item is called reliable or not, these fields are null.
        Less than three clusters' worth of the worst of k runs on the rarer side: RARE_CLUSTERS.
        A single item: its interval is null where its value is a score without a known range.

    Sources:
        Yao et al. (2024), arXiv:2406.12045 (pass^k). Chen et al. (2021), arXiv:2107.03374 (pass@k).
        Holm (1979), Scand J Stat 6:65.

    Example:
        Five items, four runs each, right 4, 3, 0, 2 and 4 times: pass^2 is (1 + 1/2 + 0 + 1/6 + 1) / 5 = .533, and
        pass@2 (1 + 1 + 0 + 5/6 + 1) / 5 = .767.
    """
    values, counts = request.values, request.counts
    codes = None if request.clusters is None else codes_of(request.clusters)
    reasons: dict[str, str] = {}
    columns = _worst_and_best(values, counts, request.numbers_of_runs)
    curve = [
        OfK(
            k=k,
            best=_of_runs(best, codes, request, f"curve.{at}.best", reasons),
            worst=_of_runs(worst, codes, request, f"curve.{at}.worst", reasons),
        )
        for at, (k, (worst, best)) in enumerate(zip(request.numbers_of_runs, columns, strict=True))
    ]
    items = standings_of(values, request.least_share, (1 - request.level) / 2, binary=is_binary(request.flat))
    counts_by_standing = None
    if items[0].standing is None:
        nulls = ("least_share", "n_reliable", "n_unreliable", "n_undecided", "least_low", "runs_needed")
        nulls_of_items = ("flaky.standing", "flaky.low", "flaky.high")
        reasons |= dict.fromkeys((*nulls, *nulls_of_items), "outcomes are scores, so none is right or wrong")
    else:
        counts_by_standing = Counter(item.standing for item in items)
    flaky = [
        items[item]
        for item in sorted(range(len(values)), key=lambda item: -float(np.std(values[item])))
        if max(values[item]) > min(values[item])
    ]
    unreliable = [item for item in items if item.standing == "unreliable"]
    if codes is None:
        reasons["n_clusters"] = NO_CLUSTERS
    needed = None
    if counts_by_standing is not None:
        needed = runs_of_perfect_items(len(values), request.least_share, (1 - request.level) / 2)
    most = max(curve, key=lambda of_k: of_k.k)
    of_most = _mean_of(columns[curve.index(most)][0], codes, request)
    if (why := reasons.get(f"curve.{curve.index(most)}.worst.ci")) is not None:
        reasons["pass_hat_k.ci"] = why
    return ReliabilityAnalysis(
        curve=curve,
        pass_hat_k=most.worst,
        k=most.k,
        n_flaky=len(flaky),
        flaky=flaky[:SHOWN],
        least_share=None if counts_by_standing is None else request.least_share,
        n_reliable=None if counts_by_standing is None else counts_by_standing["reliable"],
        n_unreliable=None if counts_by_standing is None else counts_by_standing["unreliable"],
        n_undecided=None if counts_by_standing is None else counts_by_standing["undecided"],
        least_low=None if counts_by_standing is None else min(item.low or 0.0 for item in items),
        unreliable=sorted(unreliable, key=lambda item: (item.high or 0.0, item.item))[:SHOWN],
        runs_needed=needed,
        n=len(values),
        n_clusters=None if codes is None else int(codes.max()) + 1,
        n_values=int(counts.sum()),
        least_runs=int(counts.min()),
        most_runs=int(counts.max()),
        reasons=reasons,
        warnings=_list_warnings(counts, codes, of_most),
        sentence=_describe(request, curve, len(flaky), counts_by_standing, needed),
    )


def _worst_and_best(
    values: list[list[float]], counts: NDArray[np.int64], numbers_of_runs: list[int]
) -> list[tuple[Floats, Floats]]:
    """For every k a column of the worst and one of the best, items with as many runs together."""
    columns = [(np.empty(len(values)), np.empty(len(values))) for _ in numbers_of_runs]
    # Items with as many runs share the weights C(r - j, k - 1) / C(r, k), so they go in one product.
    for runs in np.unique(counts):
        rows = np.flatnonzero(counts == runs)
        table = np.array([values[row] for row in rows], dtype=np.float64)
        for k, (worst, best) in zip(numbers_of_runs, columns, strict=True):
            worst[rows], best[rows] = worst_and_best(table, k)
    return columns


def _mean_of(column: Floats, codes: NDArray[np.int64] | None, request: ReliabilityRequest) -> OneMean:
    scale = request.scale
    if scale is not None:
        # An end of the range that rounding of the weights has missed: right and wrong stay 0 and 1.
        inside = (column - scale.low) / scale.length
        ends = np.where(inside < 0.5, scale.low, scale.high)
        column = np.where(np.minimum(inside, 1 - inside) < DUST, ends, column)
    return OneMean(column, codes, scale, furthest=request.in_clusters == "furthest")


def _of_runs(
    column: Floats,
    codes: NDArray[np.int64] | None,
    request: ReliabilityRequest,
    path: str,
    reasons: dict[str, str],
) -> OfSomeRuns:
    """The mean of a column over items with the interval of one mean; without spread the reason is in `reasons`."""
    mean = _mean_of(column, codes, request)
    if mean.deciding is None:
        reasons[f"{path}.ci"] = "nothing varies between items, or there is one"
        return OfSomeRuns(value=mean.moments.mean, ci=None)
    return OfSomeRuns(value=mean.moments.mean, ci=make_interval(mean.deciding, request.level))


def _list_warnings(
    counts: NDArray[np.int64], codes: NDArray[np.int64] | None, worst: OneMean
) -> tuple[StatWarning, ...]:
    """Warn of items that were run once, of few or unlike clusters, and of clusters too rare to have been seen."""
    warnings: list[StatWarning] = []
    once = int((counts == 1).sum())
    if once:
        warnings.append(RUNS_ONCE(n_once=once, n=len(counts)))
    if codes is not None:
        warnings += cluster_warnings(np.bincount(codes).astype(np.float64))
        warnings += rare_clusters(worst)
    return tuple(warnings)


def _describe(
    request: ReliabilityRequest,
    curve: list[OfK],
    n_flaky: int,
    counts: Counter[Standing | None] | None,
    needed: int | None,
) -> str:
    """Describe the worst of `k` runs in one sentence, and of right and wrong how many items are reliable."""
    last, n = curve[-1], len(request.values)
    share = counts is not None

    def show(value: float) -> str:
        return f"{value:.1%}" if share else f"{value:.4g}"

    ci = last.worst.ci
    ends: Value = ""
    if ci is not None and ci.low is not None and ci.high is not None:
        level = level_text(request.level)
        ends = message("runs.ci", level=level, low=show(ci.low), high=show(ci.high), n=n)
    several = last.k > 1 and curve[0].k == 1
    opening = message(
        "runs.value_of_one" if several else "runs.value",
        what=message("runs.pass_all" if share else "runs.worst_mean", k=last.k),
        value=show(last.worst.value),
        ends=ends,
        one=show(curve[0].worst.value),
    )
    if counts is None:
        return speak("runs.flaky", opening=opening, flaky=n_flaky, n=n)
    return speak(
        "runs.standings",
        opening=opening,
        flaky=n_flaky,
        n=n,
        reliable=counts["reliable"],
        rate=level_text(request.least_share),
        unreliable=counts["unreliable"],
        undecided=counts["undecided"],
        needed=str(needed),
    )
