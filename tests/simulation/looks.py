"""Comparisons that grow: how often the true difference is lost at any look, and what looking costs.

`python -m tests.simulation.looks [SERIES]` prints the table of docs/series.md, from so many comparisons per row.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.kernels.sequential.confidence_sequence import first_exclusion, limits

Floats = NDArray[np.float64]
ALPHA, SEED = 0.05, 20_261_124
FIRST, STEP, LAST = 100, 100, 1000
LOOKS = range(FIRST, LAST + 1, STEP)
CLUSTER = 5


@dataclass(frozen=True)
class World:
    """A way that both arms' outcomes of `LAST` items come about, each look a draw from the same items."""

    name: str
    draw: Callable[[np.random.Generator], tuple[Floats, Floats]]
    truth: float
    clustered: bool = False


def shares(
    baseline: float, lost: float, won: float
) -> Callable[[np.random.Generator], tuple[Floats, Floats]]:
    """0 and 1: of all items `lost` are right in the baseline alone, and `won` in the candidate alone."""

    def draw(rng: np.random.Generator) -> tuple[Floats, Floats]:
        at = rng.random(LAST)
        both = (rng.random(LAST) < baseline).astype(np.float64)
        loses, wins = at < lost, (at >= lost) & (at < lost + won)
        return np.where(loses, 1.0, np.where(wins, 0.0, both)), np.where(
            loses, 0.0, np.where(wins, 1.0, both)
        )

    return draw


def rare_losses(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Scores: nearly every item gains a little, and one in fifty loses all that the others gain."""
    loses = rng.random(LAST) < 0.02
    return np.where(loses, 0.98, 0.5), np.where(loses, 0.0, 0.52)


def clusters(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """0 and 1 in clusters of five, each with a difference of its own."""
    own = np.repeat(rng.choice([-0.25, 0.25], LAST // CLUSTER), CLUSTER)
    at = rng.random(LAST)
    wins, loses = at < (0.3 + own) / 2, at > 1 - (0.3 - own) / 2
    both = rng.integers(0, 2, LAST).astype(np.float64)
    return np.where(loses, 1.0, np.where(wins, 0.0, both)), np.where(loses, 0.0, np.where(wins, 1.0, both))


WORLDS = (
    World("0 and 1, 20 % discordant, no difference", shares(0.7, 0.1, 0.1), 0.0),
    World("0 and 1, 6 % discordant, no difference", shares(0.9, 0.03, 0.03), 0.0),
    World("0 and 1, 15 % discordant, +5 pp", shares(0.7, 0.05, 0.10), 0.05),
    World("scores, rare losses of nearly everything, no difference", rare_losses, 0.0),
    World("clusters of five, no difference", clusters, 0.0, clustered=True),
)


@dataclass(frozen=True)
class Outcome:
    """One comparison: whether the truth was ever lost, by either interval, and their widths at the end."""

    lost_by_sequence: bool
    lost_by_interval: bool
    lost_at_the_end: bool
    price: float
    """Share of the items that an interval of the sequence's width does without."""


def follow(world: World, rng: np.random.Generator, *, intervals: bool = True) -> Outcome:
    """A comparison with all its looks. Without `intervals` the sequence alone: the others are false, and 0."""
    baseline, candidate = world.draw(rng)
    difference = candidate - baseline
    sums, sizes = difference, np.ones(LAST)
    if world.clustered:
        sums, sizes = difference.reshape(-1, CLUSTER).sum(axis=1) / CLUSTER, np.ones(LAST // CLUSTER)
    # the running intersection after the last item has lost the truth if any moment before has
    gone = first_exclusion(sums, sizes, ALPHA, world.truth) is not None
    if not intervals:
        return Outcome(gone, False, False, 0.0)
    ends = [interval_of(baseline[:n], candidate[:n], clustered=world.clustered) for n in LOOKS]
    outside = [not low <= world.truth <= high for low, high in ends]
    low, high = limits(sums, sizes, ALPHA)
    width = ends[-1][1] - ends[-1][0]
    price = 1 - min((width / (high - low)) ** 2, 1.0) if high > low else math.nan
    return Outcome(gone, any(outside), outside[-1], price)


def interval_of(baseline: Floats, candidate: Floats, *, clustered: bool) -> tuple[float, float]:
    """The gate's interval, as it is read once."""
    n = len(baseline)
    labels = {"clusters": [f"c{at // CLUSTER}" for at in range(n)]} if clustered else {}
    arms = [
        {"name": name, "item_ids": [str(at) for at in range(n)], "values": values.tolist(), **labels}
        for name, values in (("a", baseline), ("b", candidate))
    ]
    request = ComparisonRequest.model_validate(
        {"baseline": arms[0], "candidate": arms[1], "alpha": ALPHA, "range": {"low": 0, "high": 1}}
    )
    ci = compare(request).ci
    return (-1.0 if ci.low is None else ci.low), (1.0 if ci.high is None else ci.high)


def rates(world: World, series: int) -> tuple[float, float, float, float]:
    """Shares of comparisons in which the truth was lost, by sequence, by interval and at the end; the mean price."""
    number = WORLDS.index(world)
    followed = [follow(world, np.random.default_rng([SEED, number, run])) for run in range(series)]
    return (
        float(np.mean([each.lost_by_sequence for each in followed])),
        float(np.mean([each.lost_by_interval for each in followed])),
        float(np.mean([each.lost_at_the_end for each in followed])),
        float(np.nanmean([each.price for each in followed])),
    )


def main(series: int) -> None:
    """The table."""
    print(
        "| Items | Confidence sequence, ever | The gate's interval, at any look | at the last alone | Price |"
    )
    print("|---|--:|--:|--:|--:|")
    for world in WORLDS:
        sequence, interval, end, price = rates(world, series)
        print(f"| {world.name} | {sequence:.3f} | {interval:.3f} | {end:.3f} | {price:.0%} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
