"""Several arms, each on all items or on some: which can be told apart, which may be the best, where each may rank."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import override

from service.errors import InvalidData
from service.kernels.numeric.clusters import codes_of, largest
from service.kernels.randomization import max_t
from service.kernels.randomization.max_t import ManyArms
from service.kernels.randomization.partial_arms import PartialArms, partial
from service.kernels.suites.many_arms import SuiteArms, suite_arms
from service.stats.leaderboard import all_alike
from service.stats.leaderboard.all_alike import AllAlike
from service.stats.leaderboard.gaps import NOTHING_MISSING, ListedArm, Missing
from service.stats.leaderboard.suites import (
    NO_TASKS,
    BoardSuite,
    OfTasks,
    require_tasks,
    scale_outcomes,
    shares,
)
from service.stats.leaderboard.unseen import guard_of
from service.stats.leaderboard.unseen import seconds as guard_seconds
from service.stats.leaderboard.winner import Winner, winner_of
from service.stats.leaderboard.worst import with_worst_cases
from service.stats.shared.data.clustering import NO_CLUSTERS, cluster_warnings
from service.stats.shared.data.score_range import lies_in_unit
from service.stats.shared.declaring.certainty import of_share
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths, require_two_clusters
from service.stats.shared.declaring.common import MAX_ITEMS, Finite
from service.stats.shared.declaring.fields import ClusterCount, Clusters, ItemCount
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import difference_of
from service.stats.shared.methods import boards
from service.stats.shared.methods.standings import Guard, Standings
from service.words import Value, list_values, message, spoken

MOST_ARMS = 500
MOST_CELLS = 20_000_000
"""The most items times arms that one request may bring."""
CELLS_OF_DRAWS = 5e10, 1e8
"""Units times pairs times draws with gaps, and pairs times draws without, from which fewer are drawn by default."""
FEWEST_DRAWS = 1_000
PartialColumn = Annotated[list[Finite | None], Field(max_length=MAX_ITEMS, fail_fast=True)]


class LeaderboardRequest(boards.BoardOptions, OfTasks):
    """Arms on the same items, null where an arm lacks one, and optionally each item's cluster."""

    arms: dict[boards.ArmName, PartialColumn] = Field(
        description="Name of each arm to its outcomes, one per item, same order in all; null where it has none.",
        min_length=2,
        max_length=MOST_ARMS,
    )
    clusters: Clusters = None
    better: Literal["higher", "lower"] = Field("higher", description="Which outcomes are the better ones.")
    common: bool = Field(
        False, description="True: items that some arm lacks are left out of all; else of its own pairs alone."
    )

    missing: Literal["at_random", "worst_case"] = Field(
        "at_random",
        description="What outcomes that an arm lacks may be. `at_random`: like those that it has; `worst_case`: where "
        "one of two arms lacks more than a twentieth of the items, they are told apart only if they are with all that "
        "is missing against it.",
    )

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse arms without outcomes, too few items or clusters, and more cells than are answered at once."""
        arms = {f"arms.{name}": outcomes for name, outcomes in self.arms.items()}
        require_equal_lengths({**arms, "clusters": self.clusters, "tasks": self.tasks})
        items = len(next(iter(self.arms.values())))
        if items * len(arms) > MOST_CELLS:
            raise InvalidData.field(
                "arms", f"times items are more than {MOST_CELLS:,}", "send fewer items, or fewer arms"
            )
        for name, lacks in zip(self.arms, np.isnan(self.sent).T, strict=True):
            if lacks.all():
                raise InvalidData.field(f"arms.{name}", "has no outcome at all", "leave the arm out")
        if len(self.kept) < 2:
            if self.common:
                raise InvalidData.field(
                    "common",
                    "leaves fewer than two items that all arms have",
                    "leave it out, or arms that lack most",
                )
            raise InvalidData.field(
                "arms", "hold a single item", "send two items or more: one shows no spread"
            )
        require_two_clusters(None if self.codes is None else self.codes.tolist())
        require_tasks(self, self.task_names, self.sent, self.kept, list(self.arms))
        return self

    @cached_property
    def own_tasks(self) -> list[str]:
        """The task of each item that is compared; none where no tasks were named."""
        return [] if self.tasks is None else [str(self.tasks[item]) for item in self.kept]

    @cached_property
    def task_names(self) -> list[str]:
        """The tasks, by first appearance."""
        return list(dict.fromkeys(self.own_tasks))

    @cached_property
    def sent(self) -> NDArray[np.float64]:
        """Outcomes (items, k) as sent, NaN where there is none."""
        return np.array(list(self.arms.values()), dtype=np.float64).T

    @cached_property
    def kept(self) -> NDArray[np.intp]:
        """The items that are compared: all that some arm has, or under `common` those that all have. Shape (n,)."""
        present = ~np.isnan(self.sent)
        return np.flatnonzero(present.all(axis=1) if self.common else present.any(axis=1))

    @cached_property
    def raw(self) -> NDArray[np.float64]:
        """Outcomes (n, k) of the items that are compared, rescaled, NaN where there is none."""
        values = self.sent if len(self.kept) == len(self.sent) else self.sent[self.kept]
        return values if self.rescale is None else scale_outcomes(self, self.own_tasks, values)

    @property
    def has_gaps(self) -> bool:
        """Whether an outcome is missing."""
        return len(self.present) < self.raw.size

    @property
    def sign(self) -> Literal[1, -1]:
        """-1 where lower outcomes are better."""
        return 1 if self.better == "higher" else -1

    @cached_property
    def present(self) -> NDArray[np.float64]:
        """The outcomes that are not missing, shape (count,)."""
        return self.raw[~np.isnan(self.raw)]

    @property
    def size(self) -> float:
        """The greatest outcome's: the unit in which squares stay in range."""
        return largest(self.present)

    @cached_property
    def codes(self) -> NDArray[np.int64] | None:
        """Number of the cluster of each item that is compared, shape (n,); None without clusters."""
        return None if self.clusters is None else codes_of([self.clusters[item] for item in self.kept])

    @cached_property
    @override
    def units(self) -> ManyArms | PartialArms:
        """The arms by item or cluster, better outcomes higher, in units of `size`."""
        # Sign and unit are undone where answers are made (`Standings`): below this line higher is better.
        columns = self.raw / self.size * self.sign
        if self.tasks is not None:
            tasks = codes_of(self.own_tasks)
            weights = shares(self, self.task_names, np.bincount(tasks).astype(np.float64))
            return suite_arms(columns, self.codes, tasks, weights, self.alpha)
        if self.has_gaps:
            return partial(columns, self.codes, self.alpha)
        return max_t.sum_by_unit(columns, self.codes)

    @property
    @override
    def farthest(self) -> float:
        """How far two arms can differ, in units of the board: scores within 0 and 1 are taken to have this range."""
        return 1 / self.size if lies_in_unit(self.present) else super().farthest

    @override
    def guard_of(self, joint: max_t.MaxT) -> Guard | None:
        """Return the guard of scores: a pair is told apart only where bounds that know of outcomes not seen agree."""
        tasks = None if self.tasks is None else codes_of(self.own_tasks)
        units = self.units
        guard = guard_of(self.raw, self.codes, units, joint, self.alpha, self.sign / self.size, tasks)
        if self.missing == "at_random" or not self.has_gaps or not isinstance(units, PartialArms):
            return guard
        weights = units.weights if isinstance(units, SuiteArms) else np.ones(1)
        raw, sign, codes = self.raw, self.sign, self.codes
        return with_worst_cases(guard, raw, sign, units, joint, self.alpha, codes, tasks, weights)

    @property
    def n_units(self) -> int:
        """The number of independent units: clusters where they were sent, else items."""
        return len(self.kept) if self.codes is None else int(self.codes.max()) + 1

    @property
    @override
    def draws(self) -> int:
        """How many, where not all patterns are listed; by default fewer of many pairs, but never below 1,000."""
        k = len(self.arms)
        by_pair = self.has_gaps or self.tasks is not None
        cells = k * (k - 1) // 2 * (self.n_units if by_pair else 1)
        most = CELLS_OF_DRAWS[0 if by_pair else 1]
        return self.n_resamples or min(super().draws, max(FEWEST_DRAWS, int(most / cells) // 1000 * 1000))


class LeaderboardAnalysis(boards.BoardAnalysis):
    """Arms in order of their means, and all pairs."""

    arms: tuple[ListedArm, ...] = Field(
        description="Best mean first; with gaps the best additive mean, but none before an arm told apart and ahead."
    )
    winner: Winner = Field(description="The arm that stands first, which was chosen on these very items.")
    missing: Missing | None = Field(description="What arms and pairs lack; null where nothing is missing.")
    alike: AllAlike = Field(
        description="All arms against each other at once, on the items that all have, each item alike."
    )
    suite: BoardSuite | None = Field(
        description="The tasks, where they were named: then means are the suite's."
    )
    n: ItemCount
    n_clusters: ClusterCount
    better: Literal["higher", "lower"] = Field(description="As asked.")


def _estimate_cost(request: LeaderboardRequest) -> float:
    """Estimate the seconds an answer takes, by factors that `tests/stats/test_cost.py` holds against the clock."""
    k, n, units = len(request.arms), len(request.kept), request.n_units
    mixed = 0.0 if request.clusters is None else all_alike.seconds(units, k)
    listed = units <= max_t.LISTED_UP_TO
    if request.tasks is None and not request.has_gaps:
        drawn = boards.seconds(units, k, request.draws)
    else:
        drawn = boards.partial_seconds(n, units, k, 2 ** (units - 1) if listed else request.draws)
    in_tasks = 1e-7 * len(request.task_names) * k * k + 1.5e-7 * n * k * k * (request.tasks is not None)
    weighed = guard_seconds(request.raw, None if request.clusters is None else units)
    return 0.002 + 1.7 * drawn + 2e-7 * n * k + mixed + in_tasks + weighed


def _analyse(request: LeaderboardRequest) -> LeaderboardAnalysis:
    """Return the answer from the joint distribution of all pairs under random signs."""
    units, word = request.units, "item" if request.codes is None else "cluster"
    board = request.standings(list(request.arms), request.size, request.sign, word)
    fields = boards.collect_shared_fields(request, board)
    if request.codes is None:
        board.reasons["n_clusters"] = NO_CLUSTERS
    else:
        sizes = np.bincount(request.codes).astype(np.float64)
        fields["warnings"] = (*cluster_warnings(sizes), *fields["warnings"])
    missing, arms, suite = None, ListedArm.of(board), None
    if isinstance(units, SuiteArms):
        suite = BoardSuite.of(board, request.task_names)
    else:
        board.reasons["suite"] = NO_TASKS
    if isinstance(units, PartialArms) and request.has_gaps:
        missing = Missing.of(units, board)
        fields["warnings"] = (*missing.warnings(board, arms), *fields["warnings"])
    else:
        board.reasons["missing"] = NOTHING_MISSING
    # Cochran's and Friedman's tests know no gaps.
    whole = ~np.isnan(request.raw).any(axis=1)
    codes = None if request.codes is None else request.codes[whole]
    alike = all_alike.all_alike(request.raw[whole], codes, request.first_seed, board.reasons)
    if alike.n_resamples is not None and alike.p_value is not None:
        fields["within"]["alike.p_value"] = of_share(alike.p_value, alike.n_resamples)
    return LeaderboardAnalysis(
        **fields,
        arms=arms,
        winner=winner_of(request.raw, request.codes, board, codes_of(request.own_tasks) if suite else None),
        missing=missing,
        alike=alike,
        suite=suite,
        n=len(request.kept),
        n_clusters=None if request.codes is None else request.n_units,
        better=request.better,
        sentence=_describe(request, board),
    )


def _describe(request: LeaderboardRequest, board: Standings) -> str:
    """Say who may be the best, what is told apart, and what was not shown."""
    binary, n, best = is_binary(request.present), len(request.kept), board.arms[0]
    where = message("units.counted_items", n=n)
    if request.codes is not None:
        where = message("boards.in_clusters", items=where, n=request.n_units)
    binary = binary and request.rescale is None
    if request.tasks is not None:
        where = message("boards.of_suite", items=where, n=len(request.task_names))
    gaps: Value = ""
    kind = "mean"
    if isinstance(board.units, PartialArms) and request.has_gaps:
        lacking = request.raw.size - len(request.present)
        gaps = message("boards.gaps", lacking=lacking, size=request.raw.size)
        kind = "mean" if board.units.additive_means is None else "additive_mean"
    apart = [
        pair.difference for pair in board.pairs if pair.apart and pair.difference and pair.difference > 0
    ]
    closest = difference_of(min(apart), binary=binary, signed=False) if apart else ""
    opening = message(
        "boards.opening",
        arms=len(board.arms),
        where=where,
        gaps=gaps,
        ahead=boards.name_leaders(board),
        count=boards.count_leaders(board),
        kind=message(f"boards.{kind}"),
        mean=f"{best.mean:.1%}" if binary else f"{best.mean:.4g}",
        best=boards.describe_best(board),
    )
    pairs = boards.describe_pairs(board, closest)
    return list_values([opening, pairs], "lists.sentences").text(spoken())


@stat_test(
    name="leaderboard",
    version=2,
    title="Leaderboard (all pairs by max-T, best set, rank intervals)",
    asked="several",
    example={
        "arms": {
            "large": [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1],
            "medium": [1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1],
            "small": [0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1],
        }
    },
    cost=_estimate_cost,
    serves=frozenset({"ranked"}),
)
def leaderboard(request: LeaderboardRequest) -> LeaderboardAnalysis:
    """Rank several arms on the same items and say which differences, bests and ranks the data carry.

    H0 of each pair: the mean difference is 0, items (or clusters) independent. Every pair's difference is studentized
    (CR1 with clusters). One random sign per item or cluster multiplies its whole vector of centred outcomes, which
    keeps all dependence between pairs; the largest |t| of all pairs sets the bar for every one.

    Everything said follows from the simultaneous intervals: with chance 1 - alpha all of it is true at once. Of scores,
    and in clusters, a pair is told apart only where Gaffke's bounds, which know of outcomes too rare to have been seen
    and of a cluster that was not, agree; in clusters every interval reaches as far as these at the pair's own level of
    the common critical value, and is no narrower than CR2's of the pair alone. Two arms have the interval of a
    comparison of two.

    Returns:
        pairs: adjusted two-sided p of every pair, family-wise over all pairs, add one; simultaneous intervals of
            one common critical value, or of the bounds where they reach further, which exclude 0 just where p is
            below alpha.
        arms: ranks and the ranks that the intervals leave open; `gap` against the best of the others; `tier`.
        winner: a bound of the first arm's mean that holds whichever arm came first, at a level of its own.
        missing: items that pairs have in common, and arms that lack more than a tenth.
        best_set: arms that no other arm is shown to be ahead of.
        tied_sets: maximal sets without a pair told apart.
        alike: Cochran's Q or Friedman's test that all arms are alike.

    Raises:
        InvalidData: fewer than two arms or items, more than 500 arms or 20,000,000 cells, columns of different
            length, an arm without any outcome, or a single cluster.

    Edge cases:
        A pair with the same difference everywhere: p and interval null, warning NO_SPREAD_BETWEEN. An exact
            test of the two may tell them apart: McNemar's, of items all right in one arm and wrong in the other.
        Up to 14 items or clusters: all patterns of signs are listed, nothing is drawn.
        Too few patterns for the level: interval ends are null, warning FLOOR_ABOVE_ALPHA for p.
        `tasks`: arms stand by the weighted mean of the tasks, and a pair without two units of some task in common is
            null. An arm without an outcome in a task is refused: it has no mean of the suite.
        Gaps: each pair on the items that both have, GAPS; arms that lack more than a tenth, INCOMPLETE_ARMS. Arms
            stand by additive least-squares means, null where the items do not link all arms. A pair with too few
            units in common is null. Pairs that tell a round of arms, each ahead of the next, are null:
            GAPS_CONTRADICT. With `missing` worst_case, pairs that are not told apart by the common items alone where
            more than a twentieth is missing: WORST_CASE_OPEN.
        Scores that stand apart by what was seen alone: not told apart, UNSEEN_OUTCOMES; up to 300 pairs are looked at,
            the least far apart first, and of the rest LOPSIDED_PAIRS warns.
        Few clusters: FEW_CLUSTERS or CAUTION.
        More than 200 tied sets: the first ones, warning MANY_TIED_SETS.

    Sources:
        Gaffke (2005), Math Methods Statist 14:451.
        Beran (1988), JASA 83:679 (pairs of unlike size on one scale). Searle (1971), Linear Models, ch. 7 (gaps).
        Romano & Wolf (2005), Econometrica 73:1237. Hsu (1996), Multiple Comparisons, ch. 5 (all pairs at once).
        MacKinnon, Nielsen & Webb (2023), J Appl Econometrics 38:671 (clusters of unequal sizes).
        Mogstad, Romano, Shaikh & Wilhelm (2024), Rev Econ Stud 91:476 (ranks).
        Petrondas & Gabriel (1983), JASA 78:949 (why labels are not permuted).
        Cochran (1950), Biometrika 37:256. Friedman (1937), JASA 32:675.

    Example:
        Three arms on 16 items, right 14, 11 and 5 times: Cochran's Q is 14 at 2 df, p .00091 (statsmodels
        gives the same); the small one is told apart from both, and either of the others may be the best.
    """
    return _analyse(request)
