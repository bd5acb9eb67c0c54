"""What repeats cost and what they bring: the variance of a paired difference by items, runs and judgements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MOST = 100
"""Runs per item and arm, and judgements per run, that are looked at."""


class Spread(NamedTuple):
    """Variances of one item by arm, one run and one judgement; none below 0."""

    item_by_arm: float
    run: float
    judge: float


class Costs(NamedTuple):
    """What a new item costs, one run of one arm on one item, and judging one run once; in any one unit."""

    item: float
    run: float
    judge: float


class Allocation(NamedTuple):
    """Items, runs of each item in each arm, judgements of each run; what it costs, and the variance it gives."""

    items: int
    runs: int
    judgements: int
    cost: float
    variance: float


def variance(spread: Spread, items: float, runs: float, judgements: float) -> float:
    """Return the variance of the difference of two arms that share items, but neither runs nor judgements.

    2 [item_by_arm / I + run / (I R) + judge / (I R J)].

    Source: Miller (2024), arXiv:2411.00640, 3.
    """
    return 2 * (spread.item_by_arm + (spread.run + spread.judge / judgements) / runs) / items


def cost(costs: Costs, items: float, runs: float, judgements: float) -> float:
    """Return the cost of both arms together, in the unit of `costs`; an item is bought once, its runs in both arms."""
    return items * (costs.item + 2 * runs * (costs.run + judgements * costs.judge))


def gains(spread: Spread, costs: Costs, items: float, runs: float, judgements: float) -> Costs:
    """By how much the variance falls per unit of cost, spent on items, on runs, or on judgements."""
    judged_run = costs.run + judgements * costs.judge
    # minus the derivatives of `variance` over those of `cost`, by items, by runs and by judgements
    return Costs(
        variance(spread, items, runs, judgements) / items / (costs.item + 2 * runs * judged_run),
        2 * (spread.run + spread.judge / judgements) / (items * runs**2) / (2 * items * judged_run),
        2 * spread.judge / (items * runs * judgements**2) / (2 * items * runs * costs.judge),
    )


def best(
    spread: Spread,
    costs: Costs,
    budget: float,
    *,
    most_items: int | None,
    most_runs: int,
    most_judgements: int,
) -> Allocation | None:
    """Return the least variance within the budget, over whole numbers; of equals the cheapest, then the fewest runs.

    None where the budget does not reach for two items.
    """
    runs, judgements = np.meshgrid(
        np.arange(1.0, most_runs + 1), np.arange(1.0, most_judgements + 1), indexing="ij"
    )
    per_item = costs.item + 2 * runs * (costs.run + judgements * costs.judge)
    items = np.floor(budget / per_item * (1 + 1e-12))
    if most_items is not None:
        items = np.minimum(items, most_items)
    within = items >= 2
    if not within.any():
        return None
    items = np.where(within, items, 2)
    left = (spread.item_by_arm + (spread.run + spread.judge / judgements) / runs) * 2 / items
    left = np.where(within, left, np.inf)
    # what differs by rounding alone is equal
    equal = left <= left.min() * (1 + 1e-12)
    spent = np.where(equal, items * per_item, np.inf)
    place = np.unravel_index(int(np.argmin(spent)), spent.shape)
    i, r, j = int(items[place]), int(runs[place]), int(judgements[place])
    return Allocation(i, r, j, cost(costs, i, r, j), variance(spread, i, r, j))
