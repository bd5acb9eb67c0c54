"""Several arms on the same items: which can be told apart, which may be the best, and where each may rank."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels import max_t
from service.kernels.clusters import codes_of, largest
from service.kernels.max_t import ManyArms
from service.kernels.standings import tied_sets
from service.kernels.streams import block_count
from service.stats.shared import all_alike
from service.stats.shared.all_alike import AllAlike
from service.stats.shared.certainty import of_share
from service.stats.shared.clustering import cluster_warnings
from service.stats.shared.common import (
    Analysis,
    Column,
    Labels,
    Proportion,
    Request,
    Resampling,
    StatWarning,
    amount,
    is_binary,
    level_text,
    require_equal_lengths,
)
from service.stats.shared.registry import Blocks, Drawn, stat_test
from service.stats.shared.resampling import DEFAULT_DRAWS, DEFAULT_SEED
from service.stats.shared.standings import NO_SPREAD, TOO_FEW, ComparedPair, RankedArm, Standings
from service.stats.shared.warnings import FLOOR_ABOVE_ALPHA, define

MOST_ARMS = 50
MOST_SETS = 200

NO_SPREAD_BETWEEN = define(
    "NO_SPREAD_BETWEEN",
    "caution",
    "{count} of {pairs} pairs differ by the same amount everywhere, or not at all: they have no p-value and count as "
    "not told apart; look for arms that are copies.",
)
MANY_TIED_SETS = define(
    "MANY_TIED_SETS",
    "info",
    "There are more than {most} sets of arms that cannot be told apart: the rank intervals say it in fewer words.",
)

ArmName = Annotated[str, Field(min_length=1, max_length=200)]


class LeaderboardRequest(Request):
    """Arms on the same items, and optionally each item's cluster."""

    arms: dict[ArmName, Column] = Field(
        description="Name of each arm to its outcomes, one per item, same order in all.",
        min_length=2,
        max_length=MOST_ARMS,
    )
    clusters: Labels | None = Field(None, description="Cluster of each item, a label per item, same order.")
    better: Literal["higher", "lower"] = Field("higher", description="Which outcomes are the better ones.")
    alpha: Proportion = Field(
        0.05,
        description="Chance of any false difference over all pairs, a proportion; intervals have 1 - alpha.",
    )
    n_resamples: int | None = Field(
        None,
        ge=100,
        le=100_000,
        description="Draws of signs, a count; not used where all patterns are listed. Default 10,000.",
    )
    seed: int | None = Field(
        None, ge=0, le=2**53, description="Seed of the draws; used only where something is drawn. Default 42."
    )

    @model_validator(mode="after")
    def _usable(self) -> Self:
        columns: dict[str, Sequence[object]] = {f"arms.{name}": each for name, each in self.arms.items()}
        if self.clusters is not None:
            columns["clusters"] = self.clusters
        require_equal_lengths(columns)
        if self.clusters is not None and len(set(self.clusters)) < 2:
            raise InvalidData.field(
                "clusters", "hold a single cluster", "send two clusters or leave them out"
            )
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

    @property
    def lists_all(self) -> bool:
        """True where every pattern of signs is listed and none drawn."""
        return self.units.n_units <= max_t.LISTED_UP_TO


class LeaderboardAnalysis(Analysis):
    """Arms in order of their means, and all pairs."""

    arms: tuple[RankedArm, ...] = Field(description="Best mean first.")
    pairs: tuple[ComparedPair, ...] = Field(description="All pairs, in the order of the arms.")
    heat: tuple[tuple[float | None, ...], ...] = Field(
        description="Standard errors by which the row's arm is ahead of the column's, in the order of `arms`."
    )
    best_set: tuple[str, ...] = Field(description="The arms that may be the best, at 1 - alpha.")
    tied_sets: tuple[tuple[str, ...], ...] = Field(
        description="Largest sets of arms of which no two are told apart. They overlap: being tied does not carry over."
    )
    alike: AllAlike = Field(description="All arms against each other at once.")
    critical_value: float | None = Field(
        description="Of the largest |t| over all pairs: what the simultaneous intervals are made with."
    )
    n: int = Field(description="Items, a count.")
    n_clusters: int | None = Field(description="Clusters, a count.")
    n_apart: int = Field(description="Pairs told apart, a count.")
    min_attainable_p: float = Field(description="Least p that so many patterns or draws of signs can give.")
    better: Literal["higher", "lower"] = Field(description="As asked.")


def _cost(request: LeaderboardRequest) -> float:
    k, n = len(request.arms), len(next(iter(request.arms.values())))
    units = n if request.clusters is None else len(set(request.clusters))
    pairs = k * (k - 1) / 2
    draws = 2.0 ** (units - 1) if units <= max_t.LISTED_UP_TO else request.n_resamples or DEFAULT_DRAWS
    mixed = 0.0 if request.clusters is None else all_alike.seconds(units, k)
    reading = 2e-7 * n * k + 1.5e-9 * n * pairs
    return 0.003 + 2e-5 * pairs + reading + mixed + draws * (units * (1e-9 + 1.2e-10 * k) + pairs * 5e-8)


def _count(request: LeaderboardRequest, _drawn: Drawn | None) -> int:
    return 0 if request.lists_all else block_count(request.n_resamples or DEFAULT_DRAWS)


def _draw(request: LeaderboardRequest, which: range) -> Drawn:
    return {"signed": max_t.flipped(request.units, _seed(request), which)}


def _seed(request: LeaderboardRequest) -> int:
    return DEFAULT_SEED if request.seed is None else request.seed


def _analysis(request: LeaderboardRequest, drawn: Drawn) -> LeaderboardAnalysis:
    units, word = request.units, "item" if request.codes is None else "cluster"
    signed = (
        max_t.listed(units) if request.lists_all else drawn["signed"][: request.n_resamples or DEFAULT_DRAWS]
    )
    found = max_t.max_t(units, signed, request.alpha)
    board = Standings(list(request.arms), units, found, request.alpha, request.size, request.sign, word)
    sets, complete = tied_sets(board.apart, MOST_SETS)
    arms, pairs, heat = board.arms, board.pairs, board.heat
    reasons, least = board.reasons, 1 / (found.count + 1)
    critical = found.critical if math.isfinite(found.critical) and units.squares.any() else None
    if critical is None:
        none_vary = not units.squares.any()
        reasons["critical_value"] = (NO_SPREAD if none_vary else TOO_FEW).format(
            count=units.n_units, unit=word
        )
    if request.codes is None:
        reasons["n_clusters"] = "the items were given without clusters"
    alike = all_alike.all_alike(request.raw, request.codes, _seed(request), reasons)
    within = {} if alike.n_resamples is None or alike.p_value is None else {
        "alike.p_value": of_share(alike.p_value, alike.n_resamples)
    }  # fmt: skip
    if not request.lists_all:
        within |= {
            f"pairs.{place}.p_value": of_share(pair.p_value, found.count)
            for place, pair in enumerate(pairs)
            if pair.p_value is not None
        }
    best_set = tuple(arm.name for arm in arms if arm.may_be_best)
    return LeaderboardAnalysis(
        arms=arms,
        pairs=pairs,
        heat=heat,
        best_set=best_set,
        tied_sets=tuple(tuple(arms[place].name for place in each) for each in sets),
        alike=alike,
        critical_value=critical,
        n=int(units.n),
        n_clusters=None if request.codes is None else units.n_units,
        n_apart=sum(pair.apart for pair in pairs),
        min_attainable_p=least,
        better=request.better,
        reasons=reasons,
        within=within,
        warnings=tuple(_warnings(request, least, complete=complete)),
        resampling=Resampling(exact=True)
        if request.lists_all
        else Resampling.drawn(found.count, _seed(request)),
        sentence=_sentence(request, arms, pairs, best_set),
    )


def _warnings(request: LeaderboardRequest, least: float, *, complete: bool) -> Iterator[StatWarning]:
    units = request.units
    if request.codes is not None:
        yield from cluster_warnings(units.sizes)
    still = int(np.count_nonzero(units.squares == 0))
    if still:
        yield NO_SPREAD_BETWEEN(count=still, pairs=len(units.squares))
    if not complete:
        yield MANY_TIED_SETS(most=MOST_SETS)
    if least >= request.alpha:
        more = "items" if request.codes is None else "clusters"
        yield FLOOR_ABOVE_ALPHA(what=f"{units.n_units} {more}", least=least, alpha=request.alpha, more=more)


def _sentence(
    request: LeaderboardRequest,
    arms: tuple[RankedArm, ...],
    pairs: tuple[ComparedPair, ...],
    best_set: tuple[str, ...],
) -> str:
    """Who may be the best, what is told apart, and what was not shown."""
    binary, n = is_binary(request.raw), int(request.units.n)
    told = [pair.difference for pair in pairs if pair.apart]
    where = f"{n} items" if request.codes is None else f"{n} items in {request.units.n_units} clusters"
    mean = f"{arms[0].mean:.1%}" if binary else f"{arms[0].mean:.4g}"
    level, alpha = level_text(1 - request.alpha), f"{request.alpha:.10g}"
    if len(best_set) == 1:
        best = f"; it is the best at {level}"
    elif len(best_set) == len(arms):
        best = f", but at {level} any of them may be the best"
    else:
        best = f", and at {level} one of {len(best_set)} may be the best: {', '.join(best_set[:10])}"
        best += ", ..." if len(best_set) > 10 else ""
    apart = f"{len(told)} of {len(pairs)} pairs are told apart at alpha {alpha} over all pairs"
    if told:
        apart += f", the closest of them {amount(min(told), binary=binary).lstrip('+')} apart"
    others = "of the others " if told else ""
    unproven = (
        f"; {others}no difference is shown, which does not show equality" if len(told) < len(pairs) else ""
    )
    return f"Of {len(arms)} arms on {where}, '{arms[0].name}' has the best mean ({mean}){best}. {apart}{unproven}."


BLOCKS = Blocks(_count, _draw, _analysis)


@stat_test(
    name="leaderboard",
    version=1,
    title="Leaderboard (all pairs by max-T, best set, rank intervals)",
    example={
        "arms": {
            "large": [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1],
            "medium": [1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1],
            "small": [0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1],
        }
    },
    cost=_cost,
    blocks=BLOCKS,
)
def leaderboard(request: LeaderboardRequest) -> LeaderboardAnalysis:
    """Rank several arms on the same items and say which differences, bests and ranks the data carry.

    H0 of each pair: the mean difference is 0, items (or clusters) independent. Every pair's difference is studentized
    (CR1 with clusters). One random sign per item or cluster multiplies its whole vector of centred outcomes, which
    keeps all dependence between pairs; the largest |t| of the pairs still in play sets the bar, step by step.

    Returns:
        pairs: adjusted two-sided p of every pair, family-wise over all pairs, add one; simultaneous intervals of
            one common critical value, so an interval may hold 0 where the stepwise p rejects.
        arms: ranks and the ranks that the simultaneous intervals leave open; `gap` against the best of the others.
        best_set: arms whose gap is not shown to be below 0.
        tied_sets: maximal sets without a pair told apart.
        alike: Cochran's Q or Friedman's test that all arms are alike.

    Raises:
        InvalidData: fewer than two arms or items, columns of different length, or a single cluster.

    Edge cases:
        A pair with the same difference everywhere: p and interval null, warning NO_SPREAD_BETWEEN.
        Up to 14 items or clusters: all patterns of signs are listed, nothing is drawn.
        Too few patterns for the level: interval ends are null, warning FLOOR_ABOVE_ALPHA for p.
        Few clusters: FEW_CLUSTERS or CAUTION.
        More than 200 tied sets: the first ones, warning MANY_TIED_SETS.

    Sources:
        Romano & Wolf (2005), Econometrica 73:1237 and JASA 100:94. Hsu (1996), Multiple Comparisons, 4.2.
        Mogstad, Romano, Shaikh & Wilhelm (2024), Rev Econ Stud 91:476 (ranks).
        Petrondas & Gabriel (1983), JASA 78:949 (why labels are not permuted).
        Cochran (1950), Biometrika 37:256. Friedman (1937), JASA 32:675.

    Example:
        Three arms on 16 items, right 14, 11 and 5 times: Cochran's Q is 14 at 2 df, p .00091 (statsmodels
        gives the same); the small one is told apart from both, and either of the others may be the best.
    """
    return BLOCKS.whole(request)
