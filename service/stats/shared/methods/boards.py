"""What rankings of several arms share: how they are asked and drawn, what every one answers, warns of and says."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from service.kernels.multiplicity.standings import find_tied_sets
from service.kernels.numeric.streams import block_count
from service.kernels.randomization import max_t
from service.kernels.randomization.max_t import ManyArms, MaxT
from service.kernels.randomization.partial_arms import PartialArms
from service.stats.shared.data.skewness import COCHRAN, LEAST_PARTS
from service.stats.shared.declaring.certainty import of_share
from service.stats.shared.declaring.common import Analysis, Proportion, Request, Resampling, StatWarning
from service.stats.shared.declaring.fields import DrawSeed
from service.stats.shared.declaring.sentences import level_text
from service.stats.shared.declaring.warnings import FLOOR_ABOVE_ALPHA, define
from service.stats.shared.methods.resampling import DEFAULT_DRAWS, first_seed
from service.stats.shared.methods.standings import EXACT, NO_SPREAD, TOO_FEW, ComparedPair, Guard, Standings
from service.words import Message, Value, list_values, message

MOST_SETS = 200
"""Sets of tied arms that are listed; there may be exponentially many."""
MOST_NAMED = 10

NO_SPREAD_BETWEEN = define("NO_SPREAD_BETWEEN", "caution")
ARMS_ALIKE = define("ARMS_ALIKE", "info")
EXACT_TEST_OPEN = define("EXACT_TEST_OPEN", "info", "Tango (1998), Stat Med 17:891")
MANY_TIED_SETS = define("MANY_TIED_SETS", "info")

LOPSIDED_PAIRS = define("LOPSIDED_PAIRS", "caution", "Cochran (1977), Sampling Techniques, 2.15")

UNSEEN_OUTCOMES = define("UNSEEN_OUTCOMES", "caution", "Gaffke (2005), Math Methods Statist 14:451")

WORST_CASE_OPEN = define("WORST_CASE_OPEN", "serious")

ArmName = Annotated[str, Field(min_length=1, max_length=200)]


class BoardOptions(Request):
    """How sure, and how many draws."""

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
    seed: DrawSeed = None

    @property
    @abstractmethod
    def units(self) -> ManyArms | PartialArms:
        """The units of a leaderboard, each of which gets one sign in every draw."""

    @property
    def draws(self) -> int:
        """How many, where not all patterns are listed: fewer by default where each of them takes long."""
        return self.n_resamples or DEFAULT_DRAWS

    @property
    def first_seed(self) -> int:
        """The seed of the draws: as sent, or the default."""
        return first_seed(self.seed)

    @property
    def lists_all(self) -> bool:
        """True where every pattern of signs is listed and none drawn."""
        return self.units.n_units <= max_t.LISTED_UP_TO

    def standings(self, names: list[str], size: float, sign: int, word: str) -> Standings:
        """Return where the arms stand, from the signs of every unit."""
        joint = self._joint(self.units)
        guard, farthest = self.guard_of(joint), self.farthest
        return Standings(
            names, self.units, joint, self.alpha, size, sign, word, guard=guard, farthest=farthest
        )

    @property
    def farthest(self) -> float:
        """How far two arms can differ, in units of the board; infinite where that is not known."""
        return math.inf

    def guard_of(self, _joint: MaxT) -> Guard | None:
        """Return what bounds of outcomes not seen leave of the pairs told apart; None where none are asked."""
        return None

    def _joint(self, units: ManyArms | PartialArms) -> MaxT:
        if isinstance(units, PartialArms):
            return units.max_t(self.first_seed, self.draws)
        if self.lists_all:
            return max_t.max_t(units, max_t.list_flips(units), self.alpha)
        blocks = range(block_count(self.draws))
        return max_t.max_t(units, max_t.flip_signs(units, self.first_seed, blocks)[: self.draws], self.alpha)


def seconds(units: int, arms: int, draws: int) -> float:
    """Return what so many signs take over all pairs."""
    pairs, drawn = arms * (arms - 1) / 2, 2.0 ** (units - 1) if units <= max_t.LISTED_UP_TO else draws
    signs = units * (1e-9 + 1.2e-10 * arms)
    return 0.003 + 2e-5 * pairs + 1.5e-9 * units * pairs + drawn * (signs + 5e-8 * pairs)


def partial_seconds(items: int, units: int, arms: int, drawn: int) -> float:
    """Return the seconds where pairs have gaps: one product of signs and residuals."""
    pairs = arms * (arms - 1) / 2
    products = drawn * pairs * (units * (8e-11 if drawn * pairs * units > 1e9 else 1.5e-10) + 2e-8)
    return 0.004 + 2e-5 * pairs + 4e-8 * items * pairs + 2e-10 * drawn * units + products


class BoardAnalysis(Analysis):
    """All pairs of arms, and what follows from them."""

    pairs: tuple[ComparedPair, ...] = Field(description="All pairs, in the order of the arms.")
    heat: tuple[tuple[float | None, ...], ...] = Field(
        description="Standard errors by which the row's arm is ahead of the column's, in the order of `arms`."
    )
    best_set: tuple[str, ...] = Field(
        description="The arms that no other is shown to be ahead of, at 1 - alpha."
    )
    tied_sets: tuple[tuple[str, ...], ...] = Field(
        description="Largest sets of arms of which no two are told apart. They overlap: being tied does not carry over."
    )
    critical_value: float | None = Field(
        description="Of the largest |t| over all pairs: what the simultaneous intervals are made with. With gaps on "
        "the scale of the normal law, from which every pair has its own by its degrees of freedom."
    )
    n_apart: int = Field(description="Pairs told apart, a count.")
    min_attainable_p: float = Field(description="Least p that so many patterns or draws of signs can give.")


def collect_shared_fields(request: BoardOptions, board: Standings) -> dict[str, Any]:
    """Return the fields of a `BoardAnalysis`, with reasons, ranges and warnings; `within` may be added to."""
    arms, pairs, heat, units, joint = board.arms, board.pairs, board.heat, board.units, board.joint
    sets, complete = find_tied_sets(board.apart, MOST_SETS)
    least, varies = board.least_p, bool(units.squares.any())
    critical = joint.critical if math.isfinite(joint.critical) and varies else None
    if critical is None:
        why = TOO_FEW if varies else NO_SPREAD
        board.reasons["critical_value"] = why.format(count=units.n_units, unit=board.word)
    range_of = cache(lambda p: of_share(p, joint.count))  # of many pairs few p differ
    within = {} if request.lists_all or board.of_two == EXACT else {
        f"pairs.{place}.p_value": range_of(pair.p_value)
        for place, pair in enumerate(pairs)
        if pair.p_value is not None
    }  # fmt: skip
    return {
        "pairs": pairs,
        "heat": heat,
        "best_set": tuple(arm.name for arm in arms if arm.may_be_best),
        "tied_sets": tuple(tuple(arms[place].name for place in tied) for tied in sets),
        "critical_value": critical,
        "n_apart": sum(pair.apart for pair in pairs),
        "min_attainable_p": least,
        "reasons": board.reasons,
        "within": within,
        "warnings": tuple(_list_warnings(board, least, complete=complete)),
        "resampling": Resampling(exact=True)
        if request.lists_all
        else Resampling.drawn(joint.count, request.first_seed),
    }


def _list_warnings(board: Standings, least: float, *, complete: bool) -> Iterator[StatWarning]:
    """Warn of what a ranking cannot tell: pairs without spread, arms alike, lopsided units, many ties, few units."""
    still, pairs = board.still, len(board.still)
    guarded = np.zeros(pairs, dtype=bool) if board.guard is None else board.guard.weighed
    if (still & ~guarded).any():
        yield NO_SPREAD_BETWEEN(count=int(np.count_nonzero(still & ~guarded)), pairs=pairs)
    alike = still & guarded & (board.units.differences == 0)
    if alike.any():
        yield ARMS_ALIKE(count=int(np.count_nonzero(alike)), pairs=pairs)
    if board.untested:
        yield EXACT_TEST_OPEN()
    yield from _warn_if_lopsided(board)
    if not complete:
        yield MANY_TIED_SETS(most=MOST_SETS)
    if least >= board.alpha:
        what, more = f"{board.units.n_units} {board.word}s", f"{board.word}s"
        yield FLOOR_ABOVE_ALPHA(what=what, least=least, alpha=board.alpha, more=more)


def _warn_if_lopsided(board: Standings) -> Iterator[StatWarning]:
    """Warns of pairs that t tells apart: those that bounds left open, and others on too few units for such skewness."""
    units, guard = board.units, board.guard
    apart = np.flatnonzero(board.joint.adjusted < board.alpha)
    if guard is not None:
        open_ = int(np.count_nonzero(guard.p[apart] >= board.alpha)) - guard.by_gaps
        if guard.by_gaps:
            yield WORST_CASE_OPEN(count=guard.by_gaps, apart=len(apart))
        if open_ and guard.alone != EXACT:
            yield UNSEEN_OUTCOMES(count=open_, apart=len(apart))
        apart = apart[~guard.weighed[apart]]
    shared = units.shared[apart]
    # Cochran (1977), 2.15: a mean of n values is near enough to normal from n = 25 G1^2 on.
    skewed = (shared >= LEAST_PARTS) & (shared < COCHRAN * units.skewness[apart] ** 2)
    if skewed.any():
        few = int(shared[skewed].min())
        yield LOPSIDED_PAIRS(count=int(skewed.sum()), apart=len(apart), shared=few, unit=board.word)


def name_leaders(board: Standings) -> Value:
    """Return the arms that share the first rank, quoted; of many the first ones."""
    ahead = [message("lists.name", name=arm.name) for arm in board.arms if arm.rank == 1]
    return _first_of(ahead)


def count_leaders(board: Standings) -> int:
    """Return how many arms share the first rank."""
    return sum(arm.rank == 1 for arm in board.arms)


def _first_of(names: Sequence[Value]) -> Value:
    first = list_values(names[:MOST_NAMED], "lists.pause")
    return message("boards.and_others", names=first) if len(names) > MOST_NAMED else first


def describe_best(board: Standings) -> Message:
    """Say who may be the best, to go on a sentence about the arm that is ahead."""
    possible = [arm.name for arm in board.arms if arm.may_be_best]
    level = level_text(1 - board.alpha)
    if len(possible) == 1:
        return message("boards.is_best", level=level)
    if len(possible) == len(board.arms):
        return message("boards.any_best", level=level)
    return message("boards.some_best", level=level, count=len(possible), names=_first_of(possible))


def describe_pairs(board: Standings, closest: Value) -> Message:
    """Say how many pairs are told apart, and what that does not show. `closest`: of the gaps told apart."""
    apart, pairs = sum(pair.apart for pair in board.pairs), len(board.pairs)
    which = "none" if not apart else "some" if apart < pairs else "all"
    return message(
        f"boards.pairs_{which}", told=apart, pairs=pairs, alpha=f"{board.alpha:.10g}", closest=closest
    )
