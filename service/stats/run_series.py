"""Runs of one system on the same items, night after night: whether it has dropped, at a rate of false alarms."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.sequential.run_levels import MOST_FORETOLD
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.declaring.columns import (
    is_binary,
    require_equal_lengths,
    require_size,
    require_two_clusters,
)
from service.stats.shared.declaring.common import MAX_ITEMS, Analysis, Finite, Margin, Request, StatWarning
from service.stats.shared.declaring.fields import ClusterCount, Clusters, ItemCount, Level
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.methods.run_series import (
    BOUNDED_CHANCES,
    NIGHTS,
    Lasting,
    Nights,
    Runs,
    RunStanding,
    Watch,
    compute_accepted_drop,
    incomplete,
    tell,
    too_lasting,
    watch,
)
from service.words import spoken

Floats = NDArray[np.float64]
MOST_RUNS = 5000

RunValues = Annotated[list[Finite | None], Field(max_length=MAX_ITEMS, fail_fast=True)]


class RunSeriesRequest(Request):
    """Runs in the order in which they were made, each with one value per item."""

    elsewhere: ClassVar = {"baseline": "sequential", "candidate": "sequential", "values": "reliability"}

    runs: Annotated[list[RunValues], Field(min_length=1, max_length=MOST_RUNS)] = Field(
        description="One list per run, in order of time: 0 and 1 or scores by item, in the same order of items; null "
        "where the run has no value."
    )
    names: (
        Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=MOST_RUNS)]
        | None
    ) = Field(None, description="What the runs are called; null: 1, 2 and so on.")
    clusters: Clusters = None
    n_reference: int = Field(
        1, ge=1, le=MOST_RUNS, description="How many of the first runs are the reference, a count."
    )
    margin: Margin | None = Field(None, description="A drop that would be accepted; null: none.")
    better: Literal["higher", "lower"] = Field("higher", description="Which values are the better ones.")
    false_alarm_every: float = Field(
        1000,
        ge=10,
        le=1e9,
        allow_inf_nan=False,
        description="Runs that pass on average, at least, before a false alarm where nothing has changed, a count.",
    )
    nights: Nights = Field("vary", description=NIGHTS)
    level: Level = 0.95

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse runs of other lengths, and a reference without values."""
        first = self.runs[0]
        for number, run in enumerate(self.runs):
            require_equal_lengths({"runs.0": first, f"runs.{number}": run})
        require_equal_lengths({"runs.0": first, "clusters": self.clusters})
        require_two_clusters(self.clusters)
        if self.names is not None:
            require_equal_lengths({"runs": self.runs, "names": self.names})
        values = self.values
        require_size(values[~np.isnan(values)], "runs")
        if self.n_reference > len(self.runs):
            raise InvalidData.field(
                "n_reference",
                f"is more than the {len(self.runs)} runs",
                "name as many as there are, or fewer",
            )
        if np.isnan(values[: self.n_reference]).all():
            raise InvalidData.field("runs", "have no value in the reference", "send the reference's values")
        compute_accepted_drop(self.margin, values)
        return self

    @property
    def values(self) -> Floats:
        """Shape (runs, items), NaN for null."""
        return np.array(self.runs, dtype=np.float64)

    @property
    def binary(self) -> bool:
        """Every value is 0 or 1."""
        return is_binary(self.values[~np.isnan(self.values)])

    @property
    def run_names(self) -> list[str]:
        """The names of the runs, as sent, or their numbers from 1."""
        return self.names or [str(number) for number in range(1, len(self.runs) + 1)]


class NamedRun(RunStanding):
    """One run of the series."""

    run: str = Field(description="What it is called.")


class RunSeriesAnalysis(Analysis, Watch):
    """Whether a drop is shown, and every run."""

    headline: str = Field(description="What is shown, in a line.")
    open: str = Field(description="What was not shown; empty: nothing is left to say.")
    since_run: str | None = Field(description="Name of the run `since`.")
    alarm_run: str | None = Field(description="Name of the run `alarm`.")
    false_alarm_every: float = Field(
        description="The promise: runs between false alarms on average, a count."
    )
    margin: float | None = Field(description="The drop that is accepted, a proportion or score units.")
    nights: Nights = Field(description="Whether runs may swing as a whole.")
    runs: list[NamedRun] = Field(description="Every run, in order.")
    n: ItemCount
    n_clusters: ClusterCount


def _estimate_cost(request: RunSeriesRequest) -> float:
    runs, items = len(request.runs), len(request.runs[0])
    after = runs - request.n_reference
    plain = request.clusters is None and request.binary
    # with 0 and 1 what a run adds is kept; other bags are gone through anew for every run
    seconds = 2e-6 * items**1.5 if plain else 1e-3 * items + 2e-7 * items * runs
    levels = 0.002 if request.nights == "vary" else 0.0
    return 0.1 + 6e-8 * runs * items + after * (0.004 + levels + seconds)


@stat_test(
    name="run-series",
    version=2,
    title="A series of runs on the same items: has it dropped?",
    asked="looks",
    example={
        "runs": [
            [1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1],
            [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1],
            [1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0],
            [0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0],
        ],
        "n_reference": 2,
        "false_alarm_every": 100,
        "nights": "alike",
    },
    cost=_estimate_cost,
)
def run_series(request: RunSeriesRequest) -> RunSeriesAnalysis:
    """Watch runs of one system on the same items, and tell since when they are lower, if they are.

    H0 is either of two, and evidence the smaller of theirs, which promises what it promises where one of them holds.

    Nights alike: the values of each item (or cluster) over the runs might as well have come in any other order, and
    items (or clusters) are independent. Then the latest value of an item is a uniform draw from its bag, the values it
    has had so far, and the chance that draws sum to no more than the run does is a p-value. Those of successive runs
    dominate independent uniform numbers, although every run looks back at the same reference, so evidence may be
    multiplied over runs and looked at after each. It takes the luck of the reference into account.

    Nights that vary: a run's mean is a constant, plus normal noise of the run's own variance, read from the spread over
    items (or clusters) of its differences to their past means, plus a normal swing of the whole run, of any standard
    deviation s up to a twentieth of the range and of which the next run keeps any share r up to one half. Let p_(s,r)
    be the density of the runs so far with the constant integrated out, and q_t a mixture of such densities over s, r
    and sizes of a drop since run t. q_t / p_(s,r) has mean one wherever it is stopped; q_t / max p_(s,r) is no larger.
    So the sum of these over t by run T has mean at most T, reaches 2 N by run T with a chance of at most T / (2 N),
    and takes at least N runs on average to do so. Half that sum is the evidence.

    Returns:
        outcome: `dropped` once the evidence reaches `false_alarm_every`, `no_drop_shown` else.
        since, alarm: since about which run, and the run that showed it.
        evidence: after every run the sum, over the runs at which a drop may have begun, of what bets
            k p^(k - 1) have won since, averaged over seven k; or half the sum of ratios of levels, where smaller.
        e_value: bets on every start, with stakes that sum to 1: for a correction over many series.
        runs: mean, difference from the reference with an interval, and p-value of every run.

    Raises:
        InvalidData: runs of different length, a single cluster, more reference runs than runs, a reference without a
            value, or a margin that cannot belong to these values.

    Edge cases:
        No run after the reference: `no_drop_shown`, e-values null.
        An item that never varied has no say; where none varied, p is 1.
        Few runs before a drop: levels of so few cannot tell it from a swing; `foretold` says how many runs it takes.
        Swings larger, or that last longer, than is allowed for: SWINGS_LAST, from 20 runs on.
        One reference run of 0 and 1: the first p is that of the exact one-sided McNemar test.
        An item with null in a run has no say there. In clusters it leaves its cluster for good; a run that lacks more
            than half of a cluster leaves that cluster out. More than 5 % of the reference missing: RUN_INCOMPLETE.
        Runs that first improved and then fell back are an alarm: the sentence says that they are still better than
            the reference.
        Scores on no grid: p is bounded from above, warning BOUNDED_CHANCES.

    Sources:
        Vovk, Nouretdinov & Gammerman (2003), ICML; Vovk (2021), Stat Sci 36:595 (p-values of exchangeable data).
        Shin, Ramdas & Rinaldo (2024), arXiv:2203.03532 (evidence for a change, runs until a false alarm).
        Pollak & Tartakovsky (2009), Stat Sin 19:1729 (Shiryaev and Roberts's procedure).
        Wasserman, Ramdas & Balakrishnan (2020), PNAS 117:16880 (universal inference).

    Example:
        Ten items right in the reference, then two of them wrong and nothing else changed: p is (1/2)^2 = .25.
    """
    values, binary = request.values, request.binary
    margin = compute_accepted_drop(request.margin, values)
    lower = request.better == "lower"
    runs = Runs(
        values,
        request.clusters,
        request.n_reference,
        margin,
        lower,
        request.level,
        request.nights,
        request.false_alarm_every,
    )
    standings = list(runs.stand())
    names = request.run_names
    watched = watch(standings, request.false_alarm_every, request.nights)
    reasons = _list_reasons(request, watched, standings)
    # a drop looks like a swing that lasts: after one, what the runs before it tell
    lasting = standings[-1].lasting if watched.since is None else runs.lasting(watched.since - 1)
    return RunSeriesAnalysis(
        **watched.model_dump(),
        since_run=None if watched.since is None else names[watched.since - 1],
        alarm_run=None if watched.alarm is None else names[watched.alarm - 1],
        false_alarm_every=request.false_alarm_every,
        margin=None if request.margin is None else margin,
        nights=request.nights,
        runs=[NamedRun(run=name, **dict(standing)) for name, standing in zip(names, standings, strict=True)],
        n=values.shape[1],
        n_clusters=None if request.clusters is None else len(set(request.clusters)),
        reasons=reasons,
        warnings=tuple(_list_warnings(request, standings, lasting)),
        **tell(
            watched, names, standings, every=request.false_alarm_every, binary=binary, lower_is_better=lower
        ).texts(spoken()),
    )


def _list_reasons(request: RunSeriesRequest, watched: Watch, standings: list[RunStanding]) -> dict[str, str]:
    """Give for every field that is None why it is, by the field's path."""
    reasons: dict[str, str] = {}
    if watched.alarm is None:
        reasons |= dict.fromkeys(("alarm", "since", "alarm_run", "since_run"), "no drop is shown")
    if watched.e_value is None:
        reasons |= dict.fromkeys(("e_value", "e_value_max"), "there is no run after the reference")
    if request.clusters is None:
        reasons["n_clusters"] = NO_CLUSTERS
    if request.margin is None:
        reasons["margin"] = "no margin was sent"
    reasons["runs.of_levels"] = "a reference run, nights that are alike, or fewer than two runs with values"
    reasons["runs.lasting"] = "told of the newest run alone, and where swings that last are clearly seen"
    reasons["runs.foretold.runs"] = f"after more than {MOST_FORETOLD} runs"
    reasons["evidence"] = "evidence begins with the first run after the reference"
    for number, standing in enumerate(standings):
        path = f"runs.{number}"
        if number < request.n_reference:
            reasons |= dict.fromkeys((f"{path}.delta", f"{path}.ci", f"{path}.p_value"), "a reference run")
        elif standing.delta is None:
            reasons |= dict.fromkeys((f"{path}.delta", f"{path}.ci"), "the run has no item of the reference")
        elif standing.ci is None:
            reasons[f"{path}.ci"] = "nothing varies, or there is one item or cluster"
        if standing.mean is None:
            reasons[f"{path}.mean"] = "the run has no value"
    return reasons


def _list_warnings(
    request: RunSeriesRequest, standings: list[RunStanding], lasting: Lasting | None
) -> list[StatWarning]:
    """Warn of runs that lack items, of chances that are bounds, and of swings as long as a drop would be."""
    warnings: list[StatWarning] = []
    for name, standing in zip(request.run_names, standings, strict=True):
        warnings += incomplete(name, standing)
    bounded = sum(not standing.exact for standing in standings)
    if bounded:
        warnings.append(BOUNDED_CHANCES(n_runs=bounded))
    return [*warnings, *too_lasting(lasting, binary=request.binary)]
