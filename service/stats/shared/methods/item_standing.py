"""Which items are right at least so often, by their runs: exact binomial tests with Holm's correction over items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field
from scipy import special

from service.kernels.multiplicity.corrections import holm
from service.kernels.numeric.binomial import clopper_pearson
from service.records import Record

Standing = Literal["reliable", "unreliable", "undecided"]


class ItemStanding(Record):
    """One item over its runs."""

    item: int = Field(description="Its place in `values`, from 0.")
    runs: int = Field(description="Runs, a count.")
    mean: float = Field(description="Mean of its runs, a proportion or score units.")
    standing: Standing | None = Field(
        description="`reliable`: shown to be right at least `least_share` of the time; `unreliable`: less often."
    )
    low: float | None = Field(
        description="Clopper-Pearson bound of how often it is right, at a level that holds over all items."
    )
    high: float | None = Field(description="The upper one.")


def standings_of(
    values: Sequence[Sequence[float]], least_share: float, tail: float, *, binary: bool
) -> list[ItemStanding]:
    """Say where items with right and wrong runs stand, each direction at `tail` over all; of scores the means alone.

    The bounds have the level tail / n each (Bonferroni), the standings Holm's, which rejects whatever those do.
    """
    if not binary:
        return [
            ItemStanding(
                item=item, runs=len(runs), mean=float(np.mean(runs)), standing=None, low=None, high=None
            )
            for item, runs in enumerate(values)
        ]
    runs = np.array([len(row) for row in values])
    right = np.array([sum(row) for row in values])
    # P(X >= c) and P(X <= c) under the share itself, the border of either hypothesis
    more = np.where(right > 0, special.betainc(np.maximum(right, 1), runs - right + 1, least_share), 1.0)
    wrong = runs - right
    fewer = np.where(wrong > 0, special.betainc(np.maximum(wrong, 1), right + 1, 1 - least_share), 1.0)
    reliable, unreliable = holm(more) <= tail, holm(fewer) <= tail
    ends = {
        pair: clopper_pearson(*pair, 1 - 2 * tail / len(values))
        for pair in set(zip(right.tolist(), runs.tolist(), strict=True))
    }
    return [
        ItemStanding(
            item=item,
            runs=int(r),
            mean=float(c) / int(r),
            standing="reliable" if reliable[item] else "unreliable" if unreliable[item] else "undecided",
            low=ends[c, r][0],
            high=ends[c, r][1],
        )
        for item, (c, r) in enumerate(zip(right.tolist(), runs.tolist(), strict=True))
    ]


def runs_of_perfect_items(n: int, least_share: float, tail: float) -> int:
    """Runs of each of n items that show all reliable when every run is right: Holm's first step is the hardest."""
    return max(1, math.ceil(math.log(tail / n) / math.log(least_share) - 1e-9))
