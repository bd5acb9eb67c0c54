"""What is missing: by arm, by pair, and what is warned of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from pydantic import Field

from service.kernels.randomization.partial_arms import PartialArms
from service.records import Record
from service.stats.shared.declaring.common import StatWarning
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.boards import MOST_NAMED
from service.stats.shared.methods.standings import RankedArm, Standings

INCOMPLETE = 0.1
"""Share of the items that an arm may lack without a mark."""
NOTHING_MISSING = "every arm has every item"
NOT_LINKED = "no items link all arms, so nothing tells how far some are from others"

GAPS = define("GAPS", "info")
INCOMPLETE_ARMS = define("INCOMPLETE_ARMS", "caution")
GAPS_CONTRADICT = define("GAPS_CONTRADICT", "serious")
NOT_COMPARED = define("NOT_COMPARED", "caution")


class ListedArm(RankedArm):
    """One arm, and which items it has."""

    mean: float = Field(description="Mean outcome over its own items, score units.")
    additive_mean: float | None = Field(
        description="Least-squares mean of outcome = item + arm over all items: as if it had every one. The mean, "
        "where nothing is missing."
    )
    n: int = Field(description="Items that it has, a count.")
    missing: float = Field(description="Share of the items that it lacks, a proportion.")
    incomplete: bool = Field(description="It lacks more than a tenth of the items that others have.")

    @classmethod
    def of(cls, board: Standings) -> tuple[ListedArm, ...]:
        """Return the arms of a board in the order in which they stand, the best first."""
        units = board.units
        gaps = isinstance(units, PartialArms)
        own = units.own_means if isinstance(units, PartialArms) else units.means
        linked = not isinstance(units, PartialArms) or units.additive_means is not None
        listed = []
        for row, (arm, place) in enumerate(zip(board.arms, board.order, strict=True)):
            n = int(units.items[place]) if isinstance(units, PartialArms) else int(units.n)
            if not linked:
                board.reasons[f"arms.{row}.additive_mean"] = NOT_LINKED
            fields = (
                # `+ 0.0` turns the -0.0 of a sign of -1 into 0.0.
                dict(arm) | {"mean": float(own[place]) * board.size * board.sign + 0.0} if gaps else dict(arm)
            )
            missing = 1 - n / units.n
            listed.append(
                cls(
                    **fields,
                    additive_mean=arm.mean if linked else None,
                    n=n,
                    missing=missing,
                    incomplete=missing > INCOMPLETE,
                )
            )
        return tuple(listed)


class Missing(Record):
    """What arms and pairs lack."""

    share: float = Field(description="Of all outcomes, a proportion.")
    n_common: int = Field(description="Items that all arms have, a count.")
    shared: tuple[tuple[int, ...], ...] = Field(
        description="Items that both arms have, counts, in the order of `arms`; on the diagonal those that the arm has."
    )
    not_compared: int = Field(description="Pairs with too few units in common, a count.")
    least_shared: int = Field(description="Units that a pair has to have in common to be compared, a count.")

    @classmethod
    def of(cls, units: PartialArms, board: Standings) -> Self:
        """Return what arms lack, in the order of the board."""
        order = board.order
        table = np.diag(units.items)
        # The right side is written to the upper triangle and, through the transposed view, to the lower one.
        table[units.pairs] = table.T[units.pairs] = units.shared_items
        table = table[np.ix_(order, order)]
        return cls(
            share=float(1 - units.present.mean()),
            n_common=int(units.present.all(axis=1).sum()),
            shared=tuple(tuple(row) for row in table.tolist()),
            not_compared=int(board.unlike.sum()),
            least_shared=units.least_shared,
        )

    def warnings(self, board: Standings, arms: Sequence[ListedArm]) -> Iterator[StatWarning]:
        """Yield warnings of the gaps, and of what they make of single arms and pairs."""
        n = int(board.units.n)
        yield GAPS(count=round(self.share * n * len(arms)), cells=n * len(arms), common=self.n_common, n=n)
        lacking = [arm.name for arm in arms if arm.incomplete]
        if lacking:
            yield INCOMPLETE_ARMS(names=_join_names(lacking))
        if self.not_compared:
            pairs = len(board.units.squares)
            yield NOT_COMPARED(count=self.not_compared, pairs=pairs, least=self.least_shared, unit=board.word)
        both = np.triu(board.contradicted, 1)
        if both.any():
            rounds = [board.names[arm] for arm in np.flatnonzero(board.contradicted.any(axis=1)).tolist()]
            yield GAPS_CONTRADICT(pairs=int(both.sum()), names=_join_names(rounds))


def _join_names(names: list[str]) -> str:
    """Return the first of these names in a row."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
