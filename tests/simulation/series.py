"""Whole series of nights: false alarms without change, and how long a drop takes to show.

`python -m tests.simulation.series [SERIES [WORLD ...]]` prints the tables of docs/series.md, from so many series per
row; of worlds by their numbers, from 0, the table of false alarms alone.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from service.kernels.sequential.run_changes import chances, weigh
from service.kernels.sequential.run_levels import follow, levels_of

Floats = NDArray[np.float64]
Nights = Callable[[np.random.Generator, int], Floats]

ITEMS, EVERY, NIGHTS, SEED = 200, 1000, 1000, 20_261_123
CLUSTERS = np.repeat(np.arange(40), 5)
CUSUM_LIMIT, CUSUM_SLACK = 4.85, 0.5
"""About 1,000 nights between false alarms where the standard deviation is known and the reference has no error."""

KNOWN = math.sqrt(0.6 * 0.3 / 0.9 / 1.9 / ITEMS)
"""Standard deviation of a night's mean of independent items, which CUSUM is told: E[q (1 - q)] of the beta."""


def independent(rng: np.random.Generator, nights: int, drop: float = 0.0, since: int = 0) -> Floats:
    """0 and 1, some items flaky and some not; from night `since` on every item is right less often."""
    shares = rng.beta(0.6, 0.3, ITEMS)
    level = np.where(np.arange(nights) >= since, 1 - drop / shares.mean(), 1.0)
    return (rng.random((nights, ITEMS)) < shares * level[:, None]).astype(np.float64)


def scored(rng: np.random.Generator, nights: int) -> Floats:
    """Scores in hundredths, each with the same noise every night."""
    return np.round(rng.uniform(0.4, 0.6, ITEMS) + 0.1 * rng.uniform(-1.5, 1.5, (nights, ITEMS)), 2)


def clustered(rng: np.random.Generator, nights: int) -> Floats:
    """Every night each cluster of five items has a good or a bad day of its own."""
    ease = rng.normal(1, 1.5, ITEMS)
    days = rng.normal(0, 1.0, (nights, int(CLUSTERS.max()) + 1))
    return (rng.random((nights, ITEMS)) < special.expit(ease + days[:, CLUSTERS])).astype(np.float64)


def clustered_scores(rng: np.random.Generator, nights: int) -> Floats:
    """The same of scores: half of an item's variance is its cluster's day."""
    days = rng.uniform(-1, 1, (nights, int(CLUSTERS.max()) + 1))[:, CLUSTERS]
    return np.round(
        rng.uniform(0.4, 0.6, ITEMS) + 0.15 * days + 0.15 * rng.uniform(-1, 1, (nights, ITEMS)), 2
    )


def unsettled(rng: np.random.Generator, nights: int) -> Floats:
    """0 and 1, nearly settled at times and at others nearly coins, within 200 nights; their mean stays one half."""
    apart = 0.25 + 0.2 * np.sin(np.arange(nights) * (2 * math.pi / 200))
    side = np.where(np.arange(ITEMS) % 2, 1.0, -1.0)
    return (rng.random((nights, ITEMS)) < 0.5 + apart[:, None] * side).astype(np.float64)


def drifting(rng: np.random.Generator, nights: int) -> Floats:
    """Scores in hundredths whose noise goes from half to twice its middle and back within 200 nights."""
    noise = 0.1 * 2 ** np.sin(np.arange(nights) * (2 * math.pi / 200))
    middle = rng.uniform(0.4, 0.6, ITEMS)
    return np.round(np.clip(middle + noise[:, None] * rng.uniform(-1.5, 1.5, (nights, ITEMS)), 0, 1), 2)


def together(deviation: float, kept: float = 0.0) -> Nights:
    """A strict or a lenient judge: items change sides on a usual night, all in one direction.

    Args:
        deviation: standard deviation of a night's shift, a proportion.
        kept: share of a night's shift that the next night keeps: 0 draws every night anew.
    """

    def draw(rng: np.random.Generator, nights: int) -> Floats:
        shares = rng.beta(0.6, 0.3, ITEMS)
        shift = rng.normal(0, deviation, nights)
        for night in range(1, nights):
            shift[night] = kept * shift[night - 1] + math.sqrt(1 - kept**2) * shift[night]
        return (rng.random((nights, ITEMS)) < np.clip(shares + shift[:, None], 0, 1)).astype(np.float64)

    return draw


@dataclass(frozen=True)
class World:
    """A way that nights come about without change, and how it is watched."""

    name: str
    draw: Nights
    codes: NDArray[np.int64] | None = None
    margin: float = 0.0
    share: float = 1.0
    """Of the series that are drawn: bags of scores take longer to go through."""


WORLDS = (
    World("independent items", independent),
    World("independent items (scores)", scored),
    World("clusters, declared", clustered, CLUSTERS),
    World("clusters, declared (scores)", clustered_scores, CLUSTERS),
    World("noise that drifts", unsettled),
    World("noise that drifts (scores)", drifting),
    World("clusters, not declared", clustered, share=0.3),
    World("nights that move all items, SD 1 pp", together(0.01), share=0.3),
    World("nights that move all items, SD 3 pp", together(0.03), share=0.3),
    World("nights that move all items, half of it kept, SD 3 pp", together(0.03, kept=0.5), share=0.3),
    World("nights that move all items, nine tenths kept, SD 1 pp", together(0.01, kept=0.9), share=0.3),
    World("nights that move all items, nine tenths kept, SD 3 pp", together(0.03, kept=0.9), share=0.3),
    World(
        "nights that move all items, nine tenths kept, SD 3 pp, margin 9 pp",
        together(0.03, kept=0.9),
        margin=0.09,
        share=0.3,
    ),
)


def count_alarms(values: Floats, world: World, reference: int, *, alike: bool = False) -> int:
    """Alarms over the nights of one series; after each the next nights are a new reference.

    Chances, which take longer, are only computed up to nights at which levels speak for a drop.
    """
    begun = alarms = 0
    limit = math.log(EVERY)
    while len(values) - begun > reference:
        nights = values[begun:]
        lows = chances(nights, world.codes, reference, world.margin)
        levels = follow(levels_of(nights, world.codes), reference, world.margin)[0].change
        p_values: list[float] = []
        for night in range(len(levels)) if alike else np.flatnonzero(levels >= limit):
            p_values += [next(lows).chance.p for _ in range(night + 1 - len(p_values))]
            if weigh(np.array(p_values)).change[-1] >= limit:
                alarms += 1
                begun += reference + int(night) + 1
                break
        else:
            break
    return alarms


def nightly_gate(values: Floats, reference: int) -> NDArray[np.bool_]:
    """Nights with p < .05 against the reference: one-sided, exact for 0 and 1 against one run, else by z."""
    after = values[reference:]
    if reference == 1 and bool(np.isin(values, (0, 1)).all()):
        lost = ((values[0] == 1) & (after == 0)).sum(axis=1)
        won = ((values[0] == 0) & (after == 1)).sum(axis=1)
        return np.asarray(stats.binom.cdf(won, lost + won, 0.5) < 0.05)
    difference = after - values[:reference].mean(axis=0)
    z = difference.mean(axis=1) / (difference.std(axis=1, ddof=1) / math.sqrt(values.shape[1]))
    return np.asarray(special.ndtr(z) < 0.05)


def cusum(values: Floats, reference: int, deviation: float) -> NDArray[np.bool_]:
    """Nights on which a CUSUM of the drop from the reference, its deviation known, is above its limit."""
    z = (values[:reference].mean() - values[reference:].mean(axis=1)) / deviation
    height, above = 0.0, []
    for drop in z:
        height = max(height + float(drop) - CUSUM_SLACK, 0.0)
        above.append(height >= CUSUM_LIMIT)
        height = 0.0 if above[-1] else height
    return np.array(above)


def false_alarms(series: int, worlds: Sequence[int]) -> None:
    """The first table."""
    print(
        "| Nights without change | Reference runs | Alarms in 1,000 nights | Nightly gate | CUSUM | Series |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for number in worlds:
        world = WORLDS[number]
        for reference in (1, 5):
            many = max(int(series * world.share), 4)
            told: list[tuple[int, float, float]] = []
            for run in range(many):
                rng = np.random.default_rng([SEED, number, reference, run])
                values = world.draw(rng, NIGHTS + reference)
                deviation = float(values.mean(axis=1).std(ddof=1))
                told.append(
                    (
                        count_alarms(values, world, reference),
                        float(nightly_gate(values, reference).sum()),
                        float(cusum(values, reference, deviation).sum()),
                    )
                )
            mean = np.mean(told, axis=0)
            print(
                f"| {world.name} | {reference} | {mean[0]:.2f} | {mean[1]:.0f} | {mean[2]:.1f} | {many} |",
                flush=True,
            )


def delays(series: int) -> None:
    """The second table."""
    print(
        "| Drop | Reference runs | Good nights before | Nights until shown: half, nine in ten | Shown in 60 | "
        "Nights alike: half, nine in ten | Shown in 60 | CUSUM |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for drop in (0.05, 0.10, 0.20):
        for reference in (1, 5):
            for before in (0, 10, 50):
                told: dict[str, list[float]] = {"vary": [], "alike": [], "cusum": []}
                for run in range(series):
                    rng = np.random.default_rng([SEED, 99, int(100 * drop), reference, before, run])
                    begins = reference + before
                    values = independent(rng, begins + 60, drop, begins)
                    for kind, alarms in alarms_by_kind(values, reference).items():
                        above = np.flatnonzero(alarms[before:])
                        told[kind].append(float(above[0]) + 1 if len(above) else math.inf)
                cells = []
                for kind in ("vary", "alike"):
                    half, most = np.quantile(told[kind], [0.5, 0.9], method="inverted_cdf")
                    cells.append(f"{half:g}, {most:g} | {np.mean(np.isfinite(told[kind])):.0%}")
                other = np.quantile(told["cusum"], 0.5, method="inverted_cdf")
                print(
                    f"| {100 * drop:.0f} pp | {reference} | {before} | {cells[0]} | {cells[1]} | {other:g} |",
                    flush=True,
                )


def alarms_by_kind(values: Floats, reference: int) -> dict[str, NDArray[np.bool_]]:
    """Nights after the reference on which evidence is enough, where nights may vary and where they are alike."""
    p_values = np.array([low.chance.p for low in chances(values, None, reference, 0.0)])
    alike = weigh(p_values).change
    levels = follow(levels_of(values, None), reference)[0].change
    return {
        "vary": np.minimum(alike, levels) >= math.log(EVERY),
        "alike": alike >= math.log(EVERY),
        "cusum": cusum(values, reference, KNOWN),
    }


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    numbers = [int(number) for number in sys.argv[2:]]
    if not numbers:
        delays(wanted)
    false_alarms(wanted, numbers or range(len(WORLDS)))
