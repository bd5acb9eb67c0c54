"""The items of a benchmark by several arms' outcomes: which tell arms apart, which may be wrong, how many it takes."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import InvalidData
from service.kernels.agreement import item_analysis as kernel
from service.kernels.numeric.t_distribution import t_quantile
from service.records import Record
from service.stats.shared.declaring.columns import is_binary, require_equal_lengths, require_size
from service.stats.shared.declaring.common import MAX_ITEMS, Analysis, Finite, Interval, Request
from service.stats.shared.declaring.fields import ItemCount, Level
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.warnings import define
from service.words import message, speak

MOST_ARMS, MOST_CELLS = 1000, 5_000_000
SHOWN, FEW_ARMS, KEPT = 200, 10, 0.8
"""Items that are listed, arms below which correlations say little, and the chance with which an order is to be kept."""
ERRS = 0.05
"""Chance that some item of all is taken for one that points the wrong way."""

Outcomes = Annotated[list[Finite | None], Field(max_length=MAX_ITEMS, fail_fast=True)]

FEW_ARMS_FOR_ITEMS = define(
    "FEW_ARMS_FOR_ITEMS", "caution", "Nunnally & Bernstein (1994), Psychometric Theory, ch. 8"
)
ITEMS_CHOSEN_AFTERWARDS = define(
    "ITEMS_CHOSEN_AFTERWARDS", "info", "Kriegeskorte, Simmons, Bellgowan & Baker (2009), Nat Neurosci 12:535"
)


class ItemAnalysisRequest(Request):
    """Several arms on the same items, with gaps where an arm has no outcome."""

    elsewhere: ClassVar = {
        "values": "describe",
        "baseline": "paired-difference",
        "candidate": "paired-difference",
    }

    arms: dict[Annotated[str, Field(max_length=512)], Outcomes] = Field(
        min_length=2,
        max_length=MOST_ARMS,
        description="Name of each arm to its outcomes, one per item, same order in all; null: none.",
    )
    level: Level = 0.95

    @model_validator(mode="after")
    def _require_usable(self) -> Self:
        """Refuse arms of other lengths, without an outcome, or more outcomes than are answered at once."""
        require_equal_lengths({f"arms.{name}": outcomes for name, outcomes in self.arms.items()})
        n = len(next(iter(self.arms.values())))
        if n * len(self.arms) > MOST_CELLS:
            raise InvalidData.field(
                "arms", f"hold more than {MOST_CELLS:,} outcomes", "send fewer items or arms at once"
            )
        for name, column in zip(self.arms, self.table.T, strict=True):
            known = column[~np.isnan(column)]
            if not len(known):
                raise InvalidData.field(f"arms.{name}", "has no outcome", "leave the arm out")
            require_size(known, f"arms.{name}")
        return self

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """Outcomes (n, k), NaN where there is none."""
        return np.array(list(self.arms.values()), dtype=np.float64).T


class ItemFacts(Record):
    """What the arms tell of one item."""

    item: int = Field(description="Its place in the columns, from 0.")
    mean: float = Field(
        description="Mean of the arms' outcomes: of right and wrong its easiness, a proportion or score."
    )
    n_arms: int = Field(description="Arms that have it, a count.")
    correlation: float | None = Field(
        description="With the arms' means over their other items; below 0: the better arms do worse on it."
    )
    beyond_chance: bool | None = Field(
        description="Further below 0 than any of so many unrelated items would be 95% of the time."
    )


class AdjacentArms(Record):
    """Two arms next to each other in the order of their means."""

    higher: str = Field(description="The arm with the higher mean over its items.")
    lower: str = Field(description="The next one.")
    delta: float | None = Field(
        description="Mean difference on their common items, a proportion or score units."
    )
    n_common: int = Field(description="Items that both have, a count.")
    items_needed: int | None = Field(
        description="Items like these on which they would keep their order with 80%, a count."
    )


class ItemAnalysisAnalysis(Analysis):
    """What the arms tell of the items."""

    n: ItemCount
    n_arms: int = Field(description="Arms, a count.")
    n_complete: int = Field(description="Items that every arm has, a count.")
    n_dead: int = Field(
        description="Items on which all arms are alike, so that they tell nothing of them, a count."
    )
    n_all_best: int = Field(
        description="Of these, items on which all have the greatest outcome seen, a count."
    )
    n_all_worst: int = Field(description="Of these, items on which all have the least outcome seen, a count.")
    dead: list[int] = Field(description="Places of these items; the first 200.")
    n_alone: int = Field(
        description="Items that a single arm has: they are not dead, and tell nothing of the arms either, a count."
    )
    n_negative: int = Field(description="Items that correlate below 0 with the rest, a count.")
    negative: list[ItemFacts] = Field(description="These items, lowest first; the first 200.")
    chance_correlation: float | None = Field(
        description="The correlation below which none of so many unrelated items falls 95% of the time."
    )
    n_decisive: int = Field(description="Items without which the arms would stand in another order, a count.")
    decisive: list[ItemFacts] = Field(description="These items; the first 200.")
    reliability: float | None = Field(
        description="Cronbach's alpha over the complete items, of right and wrong KR-20."
    )
    reliability_ci: Interval | None = Field(description="Feldt's interval of it.")
    reliability_name: Literal["KR-20", "Cronbach's alpha"] = Field(description="What it is called.")
    split_half: float | None = Field(
        description="Correlation of every second complete item with the others, stepped up by Spearman and Brown."
    )
    adjacent: list[AdjacentArms] = Field(description="Neighbours in the order of the means, best first.")
    items_needed: int | None = Field(
        description="Items like these on which each pair of neighbours would keep its order with 80%, a count."
    )


def _estimate_cost(request: ItemAnalysisRequest) -> float:
    return 0.005 + 4e-7 * len(next(iter(request.arms.values()))) * len(request.arms)


@stat_test(
    name="item-analysis",
    version=1,
    title="Item analysis (dead items, discrimination, reliability)",
    asked="several",
    example={
        "arms": {
            "large": [1, 1, 1, 1, 1, 0, 1, 1],
            "medium": [1, 1, 1, 0, 1, 0, 0, 1],
            "small": [1, 1, 0, 0, 1, 1, 0, 1],
            "tiny": [1, 0, 0, 0, 1, 1, 0, 0],
        }
    },
    cost=_estimate_cost,
)
def item_analysis(request: ItemAnalysisRequest) -> ItemAnalysisAnalysis:
    """Describe the items of a benchmark by what several arms did on them.

    Arms are what is measured and items measure them. An item on which all arms are alike tells nothing of them; one on
    which the better arms do worse may have a wrong label. Nothing is tested: these are descriptions of these items by
    these arms.

    Returns:
        dead: items on which all arms that have them are alike, two at least.
        negative: items whose correlation with the arms' means over their other items is below 0.
        chance_correlation: -r for the t of r on k - 2 degrees of freedom at .05 over the number of items that vary.
        decisive: items without which the order of the arms' means changes.
        reliability: alpha with Feldt's interval, and the split half, over the items that every arm has.
        adjacent: for neighbours in the order (z_.8 sd / delta)^2 items, by the normal law.

    Raises:
        InvalidData: fewer than two arms, an arm without an outcome, columns of different length, or more than five
            million outcomes.

    Edge cases:
        Fewer than ten arms: warning FEW_ARMS_FOR_ITEMS; fewer than three: no correlations.
        Arms that do not differ: reliability is null. Arms that tie: no number of items keeps their order, null.
        Gaps: an item counts for the arms that have it; reliability takes complete items alone. One that a single arm
            has tells no arms apart and is not dead: `n_alone`.
        Always: ITEMS_CHOSEN_AFTERWARDS where an item is named.

    Sources:
        Cronbach (1951), Psychometrika 16:297. Feldt (1965), Psychometrika 30:357.
        Nunnally & Bernstein (1994), Psychometric Theory, ch. 8.
        Kriegeskorte, Simmons, Bellgowan & Baker (2009), Nat Neurosci 12:535 (choosing by the same data).

    Example:
        Four arms right on 7, 5, 5 and 3 of eight items: two items are right in all, one is right in the two smaller
        arms alone, and KR-20 is .429.
    """
    table, names = request.table, list(request.arms)
    n, k = table.shape
    there = ~np.isnan(table)
    any_there = there.any(axis=1)
    low = np.where(any_there, np.where(there, table, np.inf).min(axis=1), np.nan)
    high = np.where(any_there, np.where(there, table, -np.inf).max(axis=1), np.nan)
    having = there.sum(axis=1)
    dead, alone = (low == high) & (having >= 2), int(np.count_nonzero(having == 1))
    least, most = float(np.nanmin(table)), float(np.nanmax(table))
    correlations = kernel.item_rest_correlations(table)
    reasons: dict[str, str] = {}
    bar = _chance(int(np.count_nonzero(~np.isnan(correlations))), k)
    if bar is None:
        reasons["chance_correlation"] = "needs four arms, and an item that varies"
        reasons["negative.beyond_chance"] = reasons["decisive.beyond_chance"] = reasons["chance_correlation"]
    reasons["decisive.correlation"] = "fewer than three arms have the item, or nothing varies"
    facts = _Facts(table, correlations, bar)
    negative = [item for item in np.argsort(correlations, kind="stable") if correlations[item] < 0]
    decisive = np.flatnonzero(kernel.decisive(table))
    complete = table[there.all(axis=1)]
    reliability, ci, split = _measure_reliability(complete, request.level, reasons)
    adjacent = _adjacent(table, names, reasons)
    needed = [pair.items_needed for pair in adjacent]
    known = [count for count in needed if count is not None]
    if len(known) < len(needed):
        reasons["items_needed"] = "neighbours that tie keep no order"
    all_needed = max(known) if known and len(known) == len(needed) else None
    warnings = [FEW_ARMS_FOR_ITEMS(k=k)] if k < FEW_ARMS else []
    if len(negative) or len(decisive) or dead.any():
        warnings.append(ITEMS_CHOSEN_AFTERWARDS())
    binary = is_binary(table[there])
    return ItemAnalysisAnalysis(
        n=n,
        n_arms=k,
        n_complete=len(complete),
        n_dead=int(dead.sum()),
        n_all_best=int((dead & (low == most)).sum()),
        n_all_worst=int((dead & (low == least)).sum()),
        dead=[int(item) for item in np.flatnonzero(dead)[:SHOWN]],
        n_alone=alone,
        n_negative=len(negative),
        negative=[facts.of(int(item)) for item in negative[:SHOWN]],
        chance_correlation=bar,
        n_decisive=len(decisive),
        decisive=[facts.of(int(item)) for item in decisive[:SHOWN]],
        reliability=reliability,
        reliability_ci=ci,
        reliability_name="KR-20" if binary else "Cronbach's alpha",
        split_half=split,
        adjacent=adjacent,
        items_needed=all_needed,
        reasons=reasons,
        warnings=tuple(warnings),
        sentence=_describe(
            n, names, int(dead.sum()) + alone, len(negative), reliability, all_needed, binary=binary
        ),
    )


def _measure_reliability(
    complete: NDArray[np.float64], level: float, reasons: dict[str, str]
) -> tuple[float | None, Interval | None, float | None]:
    """Measure alpha with its interval, and the split half, of the items that every arm has."""
    reliability, ci = kernel.alpha(complete), None
    if reliability is None:
        why = "needs two items that every arm has, and arms that differ on them"
        reasons |= dict.fromkeys(("reliability", "reliability_ci"), why)
    else:
        low, high = kernel.alpha_interval(reliability, len(complete), complete.shape[1], level)
        ci = Interval(low=low, high=high, level=level, method="feldt")
    split = kernel.split_half(complete)
    if split is None:
        reasons["split_half"] = "needs three arms and two complete items, and halves that vary"
    return reliability, ci, split


class _Facts:
    """What is said of single items, looked up by their place in the columns."""

    def __init__(
        self, table: NDArray[np.float64], correlations: NDArray[np.float64], bar: float | None
    ) -> None:
        self.table, self.correlations, self.bar = table, correlations, bar

    def of(self, item: int) -> ItemFacts:
        """Describes the item at this place, from 0."""
        row, r = self.table[item], float(self.correlations[item])
        known = row[~np.isnan(row)]
        undefined = bool(np.isnan(r))
        return ItemFacts(
            item=item,
            mean=float(known.mean()),
            n_arms=len(known),
            correlation=None if undefined else r,
            beyond_chance=None if self.bar is None else len(known) == self.table.shape[1] and r < self.bar,
        )


def _chance(n: int, k: int) -> float | None:
    """The correlation that none of n items falls below with 95 % where items and the k arms have nothing in common."""
    if n == 0 or k < 4:
        return None
    # r sqrt((k - 2) / (1 - r^2)) is t on k - 2 of one item; Bonferroni over n, which correlate: hence roughly
    t = t_quantile(1 - ERRS / n, k - 2)
    return -t / float(np.sqrt(k - 2 + t * t))


def _adjacent(table: NDArray[np.float64], names: list[str], reasons: dict[str, str]) -> list[AdjacentArms]:
    """Arms that stand next to each other by their means, and the items it takes to keep their order."""
    means = np.nanmean(table, axis=0)
    order = np.argsort(-means, kind="stable")
    pairs = []
    for at, (a, b) in enumerate(itertools.pairwise(order)):
        common = ~np.isnan(table[:, a]) & ~np.isnan(table[:, b])
        difference = table[common, a] - table[common, b]
        needed = kernel.items_to_keep_order(difference, KEPT) if len(difference) else None
        if needed is None:
            reasons[f"adjacent.{at}.items_needed"] = "they tie, or have fewer than two items in common"
        if not len(difference):
            reasons[f"adjacent.{at}.delta"] = "they have no item in common"
        pairs.append(
            AdjacentArms(
                higher=names[a],
                lower=names[b],
                delta=float(difference.mean()) if len(difference) else None,
                n_common=len(difference),
                items_needed=needed,
            )
        )
    return pairs


def _describe(
    n: int,
    names: list[str],
    silent: int,
    negative: int,
    reliability: float | None,
    needed: int | None,
    *,
    binary: bool,
) -> str:
    """Describe in one sentence how many items tell arms apart, how reliable they are, and how many would do."""
    estimate = message("items.no_estimate")
    if reliability is not None:
        estimate = message("items.is_estimate", value=reliability)
    keeps = message("items.neighbours_tie")
    if needed is not None:
        keeps = message("items.items_keep", needed=needed)
    return speak(
        "items.described",
        n=n,
        dead=silent,
        arms=len(names),
        negative=negative,
        called=message("items.kr_20" if binary else "items.cronbach"),
        estimate=estimate,
        keeps=keeps,
    )
