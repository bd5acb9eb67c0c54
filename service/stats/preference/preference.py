"""Pairwise preferences between several arms: strengths by Bradley and Terry with ties, and what they carry."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import override

from service.errors import InvalidData
from service.kernels.effects import preferences
from service.kernels.effects.preferences import POINTS, Strengths
from service.kernels.numeric.clusters import codes_of
from service.kernels.randomization.max_t import ManyArms
from service.records import Record
from service.stats.preference.comparisons import Comparisons
from service.stats.shared.data.clustering import cluster_warnings
from service.stats.shared.declaring.columns import require_equal_lengths, require_two_clusters
from service.stats.shared.declaring.common import MAX_ITEMS, Interval, Labels
from service.stats.shared.declaring.fields import ClusterCount
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.methods import boards
from service.stats.shared.methods.standings import MayBeBest, RankHigh, RankLow, Standings, Tier
from service.words import Value, list_values, message, spoken

MOST_ARMS = 50
MOST_CELLS = 20_000_000
"""The most clusters times arms that one request may bring."""
Names = Annotated[list[boards.ArmName], Field(max_length=MAX_ITEMS, fail_fast=True)]
Repeats = Annotated[list[Annotated[int, Field(ge=1, le=10**6)]], Field(max_length=MAX_ITEMS, fail_fast=True)]


class PreferenceRequest(boards.BoardOptions):
    """Comparisons of two arms each, and optionally each comparison's cluster."""

    first: Names = Field(description="One of the two arms of each comparison, its name.")
    second: Names = Field(description="The other one, same order.")
    preferred: Annotated[
        list[Literal["first", "second", "tie"]], Field(max_length=MAX_ITEMS, fail_fast=True)
    ] = Field(description="Which of the two was preferred, or `tie`; same order.")
    counts: Repeats | None = Field(
        None, description="How many comparisons each row stands for, counts; null: one each."
    )
    clusters: Labels | None = Field(
        None, description="Cluster of each comparison, such as its prompt, a label per row, same order."
    )

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse comparisons of an arm with itself, and those whose strengths have no finite estimate."""
        arms: dict[str, Sequence[str]] = {"first": self.first, "second": self.second}
        rest = {"preferred": self.preferred, "counts": self.counts, "clusters": self.clusters}
        require_equal_lengths({**arms, **rest})
        same = next((row for row, name in enumerate(self.first) if name == self.second[row]), None)
        if same is not None:
            raise InvalidData.field(
                "second", f"compares '{self.first[same]}' with itself in row {same}", "leave such rows out"
            )
        clusters, many = len(set(self.clusters or ())), len(self.comparisons.names)
        if many > MOST_ARMS:
            most = f"send {MOST_ARMS} at most"
            raise InvalidData.field("first", f"and `second` name {many} arms", most)
        require_two_clusters(self.clusters)
        if clusters * many > MOST_CELLS:
            raise InvalidData.field(
                "clusters", f"times arms are more than {MOST_CELLS:,}", "send fewer clusters, or fewer arms"
            )
        if self.comparisons.total < 2:
            raise InvalidData.field("preferred", "holds a single comparison", "send two or more")
        self.comparisons.require_strengths()
        return self

    @cached_property
    def comparisons(self) -> Comparisons:
        """The comparisons, counted by pair of arms and outcome."""
        return Comparisons.of(self.first, self.second, self.preferred, self.counts)

    @cached_property
    def strengths(self) -> Strengths:
        """The strengths that maximum likelihood gives, with Davidson's tie parameter."""
        return preferences.fit(*self.comparisons.tables)

    @cached_property
    def codes(self) -> NDArray[np.int64] | None:
        """Number of each row's cluster; None where every cluster is a single comparison."""
        if self.clusters is None:
            return None
        codes = codes_of(self.clusters)
        return codes if codes.max() + 1 < self.comparisons.total else None

    @cached_property
    @override
    def units(self) -> ManyArms:
        """Log strength plus what each comparison, or cluster of them, adds to its error, times their number."""
        seen, logs = self.comparisons, self.strengths.logs
        influence = self.strengths.influence(*seen.kinds.T)
        if self.codes is None:
            return ManyArms(logs + seen.total * influence, np.ones(len(influence)), seen.many)
        sums = [np.bincount(self.codes, weights=seen.repeats * column[seen.kind]) for column in influence.T]
        moved = np.stack(sums, axis=1)
        return ManyArms(logs + len(moved) * moved, np.ones(len(moved)))


class PreferredArm(Record):
    """One arm of the ranking: its strength, its ranks and how sure they are."""

    name: str = Field(description="As sent.")
    score: float = Field(
        description="Strength in points, 400 log10, the mean of all arms at 0: only gaps mean something."
    )
    se: float = Field(description="Cluster-robust standard error of the score, points.")
    wins: int = Field(description="Comparisons in which it was preferred, a count.")
    losses: int = Field(description="Comparisons in which the other was preferred, a count.")
    ties: int = Field(description="Ties, a count.")
    rank: int = Field(description="1 is the best score; equal scores share the better rank.")
    rank_low: RankLow
    rank_high: RankHigh
    tier: Tier
    may_be_best: MayBeBest
    gap: Interval = Field(
        description="Simultaneous interval of how far the arm is ahead of the best of the others, points. Positive: "
        "stronger; below 0 throughout: not the best."
    )


class PreferenceAnalysis(boards.BoardAnalysis):
    """Arms in order of their strength, and all pairs, differences in points."""

    arms: tuple[PreferredArm, ...] = Field(description="Strongest first.")
    tie_parameter: float | None = Field(
        description="Davidson's nu, a ratio: two equal arms tie with chance nu / (2 + nu)."
    )
    n: int = Field(description="Comparisons, a count.")
    n_ties: int = Field(description="Ties, a count.")
    n_clusters: ClusterCount


def _estimate_cost(request: PreferenceRequest) -> float:
    """Estimate the seconds an answer takes: by clusters, by all orders of signs, or by kinds of comparisons."""
    seen, draws = request.comparisons, request.draws
    k, n, kinds = len(seen.names), len(seen.rows), len(seen.kinds)
    if request.codes is not None:
        units = int(request.codes.max()) + 1
        return boards.seconds(units, k, draws) + 1e-6 * n + 5e-8 * n * k
    if request.lists_all:
        return boards.seconds(seen.total, k, draws)
    # alike comparisons are drawn together; of fewer than 15 units all signs would be listed, which these are not
    return boards.seconds(max(kinds, 15), k, draws) + draws * 1.2e-7 * kinds + 1e-6 * n


def _analyse(request: PreferenceRequest) -> PreferenceAnalysis:
    """Return the answer from the fitted strengths and their joint distribution under random signs."""
    seen, codes = request.comparisons, request.codes
    board = request.standings(seen.names, POINTS, 1, "comparison" if codes is None else "cluster")
    fields, (_, ties) = boards.collect_shared_fields(request, board), seen.tables
    if request.clusters is None:
        board.reasons["n_clusters"] = "the comparisons were given without clusters"
    if codes is not None:
        sizes = np.bincount(codes, weights=seen.repeats).astype(np.float64)
        fields["warnings"] = (*cluster_warnings(sizes), *fields["warnings"])
    if not ties.any():
        board.reasons["tie_parameter"] = "there are no ties"
    return PreferenceAnalysis(
        **fields,
        arms=_arms(request, board),
        tie_parameter=request.strengths.nu if ties.any() else None,
        n=seen.total,
        n_ties=int(ties.sum() / 2),
        n_clusters=None if request.clusters is None else board.units.n_units,
        sentence=_describe(request, board),
    )


def _arms(request: PreferenceRequest, board: Standings) -> tuple[PreferredArm, ...]:
    """Return the arms in their order: strength with its robust error, counts, and how sure the ranks are."""
    wins, ties = request.comparisons.tables
    units, g = request.units, request.units.n_units
    # The sandwich: units hold g times their influence, whose mean square over g is the variance; g / (g - 1) as in
    # CR1.
    errors = np.sqrt(units.weights @ units.residuals**2 * g / (g - 1)) / g
    return tuple(
        PreferredArm(
            name=ranked.name,
            score=ranked.mean,
            se=float(errors[arm]) * POINTS,
            wins=int(wins[arm].sum()),
            losses=int(wins[:, arm].sum()),
            ties=int(ties[arm].sum()),
            rank=ranked.rank,
            rank_low=ranked.rank_low,
            rank_high=ranked.rank_high,
            tier=ranked.tier,
            may_be_best=ranked.may_be_best,
            gap=ranked.gap,
        )
        for ranked, arm in zip(board.arms, board.order, strict=True)
    )


def _describe(request: PreferenceRequest, board: Standings) -> str:
    """Say who may be the strongest, what is told apart, and what was not shown."""
    best, gaps = board.arms[0], [pair.difference for pair in board.pairs if pair.apart and pair.difference]
    closest = message("boards.points", value=f"{min(gaps):.0f}") if gaps else ""
    clusters: Value = ""
    if request.codes is not None:
        clusters = message("boards.of_clusters", n=board.units.n_units)
    opening = message(
        "boards.preference_opening",
        arms=len(board.arms),
        comparisons=request.comparisons.total,
        clusters=clusters,
        ahead=boards.name_leaders(board),
        count=boards.count_leaders(board),
        points=f"{best.mean:+.0f}",
        best=boards.describe_best(board),
    )
    pairs = boards.describe_pairs(board, closest)
    return list_values([opening, pairs], "lists.sentences").text(spoken())


@stat_test(
    name="preference",
    version=2,
    title="Preferences (Bradley-Terry with ties, all pairs by max-T)",
    asked="several",
    example={
        "first": ["1"] * 9 + ["2"] * 6 + ["3"] * 3,
        "second": ["2"] * 3 + ["3"] * 3 + ["4"] * 3 + ["3"] * 3 + ["4"] * 6,
        "preferred": ["first", "second", "tie"] * 6,
        "counts": [19, 22, 16, 16, 19, 12, 18, 23, 13, 19, 19, 10, 23, 19, 9, 19, 20, 15],
    },
    cost=_estimate_cost,
)
def preference(request: PreferenceRequest) -> PreferenceAnalysis:
    """Give several arms strengths from pairwise preferences, and say which gaps, bests and ranks the data carry.

    Arm i is preferred to j with odds w_i : w_j; a tie has nu sqrt(w_i w_j) beside them (Davidson). Strengths are by
    maximum likelihood, errors by the sandwich over comparisons, or over clusters of them such as prompts. H0 of each
    pair: equal strength. One random sign per comparison or cluster multiplies its score, which keeps all dependence.

    Returns:
        arms: scores of 400 log10 w with mean 0, errors, ranks, the ranks left open; 100 points are odds of 1.78.
        pairs: gaps in points, adjusted two-sided p family-wise over all pairs, simultaneous intervals.
        best_set: arms that no other arm is shown to be ahead of.
        tied_sets: maximal sets without a pair told apart.
        tie_parameter: nu.

    Raises:
        InvalidData: an arm against itself, columns of different length, a single cluster; arms that no comparisons
            link, groups between which all preferences go one way (Ford), or ties without a finite nu: no estimate.

    Edge cases:
        No ties: plain Bradley-Terry, nu null.
        Clusters of one comparison each: as without clusters.
        Up to 14 comparisons or clusters: all patterns of signs are listed, nothing is drawn.
        A pair whose gap no unit moves: p and interval null, warning NO_SPREAD_BETWEEN.
        Few clusters: FEW_CLUSTERS or CAUTION.
        More than 200 tied sets: the first ones, warning MANY_TIED_SETS.

    Sources:
        Bradley & Terry (1952), Biometrika 39:324. Davidson (1970), JASA 65:317. Ford (1957), Am Math Mon 64:28.
        Kline & Santos (2012), J Econometric Methods 1:23 (signs on scores). Romano & Wolf (2005), JASA 100:94.
        Hsu (1996), Multiple Comparisons, ch. 5. Mogstad, Romano, Shaikh & Wilhelm (2024), Rev Econ Stud 91:476.

    Example:
        The first four brands of Davidson's puddings (1970), 311 comparisons with 75 ties. Brands 1 and 2 alone have a
        closed form: 19 and 22 preferences and 16 ties are 400 log10(22/19) = 25.5 points, nu = 16/sqrt(19*22) = .78.
    """
    return _analyse(request)
