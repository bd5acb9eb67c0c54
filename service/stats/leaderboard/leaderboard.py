"""Several arms on the same items: which can be told apart, which may be the best, and where each may rank."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of, largest
from service.kernels.randomization import max_t
from service.kernels.randomization.max_t import ManyArms
from service.stats.leaderboard import all_alike
from service.stats.leaderboard.all_alike import AllAlike
from service.stats.shared.data.clustering import NO_CLUSTERS, cluster_warnings
from service.stats.shared.declaring.certainty import of_share
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths, require_two_clusters
from service.stats.shared.declaring.common import Column
from service.stats.shared.declaring.fields import ClusterCount, Clusters, ItemCount
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import amount
from service.stats.shared.methods import boards
from service.stats.shared.methods.standings import RankedArm, Standings


class LeaderboardRequest(boards.BoardOptions):
    """Arms on the same items, and optionally each item's cluster."""

    arms: dict[boards.ArmName, Column] = Field(
        description="Name of each arm to its outcomes, one per item, same order in all.",
        min_length=2,
        max_length=boards.MOST_ARMS,
    )
    clusters: Clusters = None
    better: Literal["higher", "lower"] = Field("higher", description="Which outcomes are the better ones.")

    @model_validator(mode="after")
    def _usable(self) -> Self:
        arms = {f"arms.{name}": outcomes for name, outcomes in self.arms.items()}
        require_equal_lengths({**arms, "clusters": self.clusters})
        require_two_clusters(self.clusters)
        if len(next(iter(self.arms.values()))) < 2:
            raise InvalidData.field(
                "arms", "hold a single item", "send two items or more: one shows no spread"
            )
        return self

    @cached_property
    def raw(self) -> NDArray[np.float64]:
        """Outcomes (n, k) as sent."""
        return np.array(list(self.arms.values()), dtype=np.float64).T

    @property
    def sign(self) -> Literal[1, -1]:
        """-1 where lower outcomes are better."""
        return 1 if self.better == "higher" else -1

    @property
    def size(self) -> float:
        """The greatest outcome's: the unit in which squares stay in range."""
        return largest(self.raw)

    @cached_property
    def codes(self) -> NDArray[np.int64] | None:
        """Number of each item's cluster."""
        return None if self.clusters is None else codes_of(self.clusters)

    @cached_property
    def units(self) -> ManyArms:
        """The arms summed by item or cluster, better outcomes higher, in units of `size`."""
        return max_t.summed(self.raw / self.size * self.sign, self.codes)


class LeaderboardAnalysis(boards.BoardAnalysis):
    """Arms in order of their means, and all pairs."""

    arms: tuple[RankedArm, ...] = Field(description="Best mean first.")
    alike: AllAlike = Field(description="All arms against each other at once.")
    n: ItemCount
    n_clusters: ClusterCount
    better: Literal["higher", "lower"] = Field(description="As asked.")


def _cost(request: LeaderboardRequest) -> float:
    k, n = len(request.arms), len(next(iter(request.arms.values())))
    units = n if request.clusters is None else len(set(request.clusters))
    mixed = 0.0 if request.clusters is None else all_alike.seconds(units, k)
    return 0.002 + 1.7 * boards.seconds(units, k, request.draws) + 2e-7 * n * k + mixed


def _analysis(request: LeaderboardRequest) -> LeaderboardAnalysis:
    units, word = request.units, "item" if request.codes is None else "cluster"
    board = request.standings(list(request.arms), request.size, request.sign, word)
    fields = boards.shared_fields(request, board)
    if request.codes is None:
        board.reasons["n_clusters"] = NO_CLUSTERS
    else:
        fields["warnings"] = (*cluster_warnings(units.sizes), *fields["warnings"])
    alike = all_alike.all_alike(request.raw, request.codes, request.first_seed, board.reasons)
    if alike.n_resamples is not None and alike.p_value is not None:
        fields["within"]["alike.p_value"] = of_share(alike.p_value, alike.n_resamples)
    return LeaderboardAnalysis(
        **fields,
        arms=board.arms,
        alike=alike,
        n=int(units.n),
        n_clusters=None if request.codes is None else units.n_units,
        better=request.better,
        sentence=_sentence(request, board),
    )


def _sentence(request: LeaderboardRequest, board: Standings) -> str:
    """Who may be the best, what is told apart, and what was not shown."""
    binary, n, best = is_binary(request.raw), int(request.units.n), board.arms[0]
    where = f"{n} items" if request.codes is None else f"{n} items in {request.units.n_units} clusters"
    mean = f"{best.mean:.1%}" if binary else f"{best.mean:.4g}"
    told = [pair.difference for pair in board.pairs if pair.apart]
    closest = amount(min(told), binary=binary).lstrip("+") if told else ""
    ahead = boards.leaders(board)
    shares = "has" if len(ahead) == 1 else "share"
    opening = f"Of {len(board.arms)} arms on {where}, {', '.join(ahead)} {shares} the best mean ({mean})"
    return f"{opening}{boards.told_best(board)}. {boards.told_pairs(board, closest)}"


@stat_test(
    name="leaderboard",
    version=2,
    title="Leaderboard (all pairs by max-T, best set, rank intervals)",
    example={
        "arms": {
            "large": [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1],
            "medium": [1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1],
            "small": [0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1],
        }
    },
    cost=_cost,
    serves=frozenset({"ranked"}),
)
def leaderboard(request: LeaderboardRequest) -> LeaderboardAnalysis:
    """Rank several arms on the same items and say which differences, bests and ranks the data carry.

    H0 of each pair: the mean difference is 0, items (or clusters) independent. Every pair's difference is studentized
    (CR1 with clusters). One random sign per item or cluster multiplies its whole vector of centred outcomes, which
    keeps all dependence between pairs; the largest |t| of all pairs sets the bar for every one.

    Everything said follows from the simultaneous intervals: with chance 1 - alpha all of it is true at once.

    Returns:
        pairs: adjusted two-sided p of every pair, family-wise over all pairs, add one; simultaneous intervals of
            one common critical value, which exclude 0 just where p is below alpha.
        arms: ranks and the ranks that the intervals leave open; `gap` against the best of the others.
        best_set: arms that no other arm is shown to be ahead of.
        tied_sets: maximal sets without a pair told apart.
        alike: Cochran's Q or Friedman's test that all arms are alike.

    Raises:
        InvalidData: fewer than two arms or items, columns of different length, or a single cluster.

    Edge cases:
        A pair with the same difference everywhere: p and interval null, warning NO_SPREAD_BETWEEN. An exact
            test of the two may tell them apart: McNemar's, of items all right in one arm and wrong in the other.
        Up to 14 items or clusters: all patterns of signs are listed, nothing is drawn.
        Too few patterns for the level: interval ends are null, warning FLOOR_ABOVE_ALPHA for p.
        Few clusters: FEW_CLUSTERS or CAUTION.
        More than 200 tied sets: the first ones, warning MANY_TIED_SETS.

    Sources:
        Romano & Wolf (2005), Econometrica 73:1237. Hsu (1996), Multiple Comparisons, ch. 5 (all pairs at once).
        MacKinnon, Nielsen & Webb (2023), J Appl Econometrics 38:671 (clusters of unequal sizes).
        Mogstad, Romano, Shaikh & Wilhelm (2024), Rev Econ Stud 91:476 (ranks).
        Petrondas & Gabriel (1983), JASA 78:949 (why labels are not permuted).
        Cochran (1950), Biometrika 37:256. Friedman (1937), JASA 32:675.

    Example:
        Three arms on 16 items, right 14, 11 and 5 times: Cochran's Q is 14 at 2 df, p .00091 (statsmodels
        gives the same); the small one is told apart from both, and either of the others may be the best.
    """
    return _analysis(request)
