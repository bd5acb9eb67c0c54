"""Measure and write docs/rare-losses.md: `python -m tests.simulation.rare_losses [--runs N]`.

How often a loss of exactly the margin is called no worse, by the bounds of the gate and by those they replaced.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import special, stats

from service.kernels.numeric.clusters import cluster_sums, robust_errors
from service.kernels.randomization.flip_interval import MOST_CLUSTERS, flip_tail
from service.kernels.randomization.many_flips import tail_of_many
from service.stats.shared.methods.bounded import Bounded

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rare-losses.md"
MARGIN, TAIL, SEED, RUNS, DRAWS = 0.05, 0.025, 20_261_123, 400, 400
SIZES = (6, 20, 30, 50, 100, 200, 1000)
CLUSTERS, UNEVEN = (10, 20, 40, 100), (0.0, 0.7, 1.2)
Draw = Callable[[np.random.Generator, int], np.ndarray]


def mixture(values: list[float], shares: list[float]) -> Draw:
    return lambda rng, n: rng.choice(values, n, p=shares)


WORLDS: dict[str, Draw] = {
    "a tenth lost outright, a tenth gains a half": mixture([-1, 0.5, 0], [0.1, 0.1, 0.8]),
    "a twentieth lost outright, the rest alike": mixture([-1, 0], [0.05, 0.95]),
    "most gain .1, some lose .9": mixture([-0.9, 0.1], [0.15, 0.85]),
    "many small losses, rare large gains": mixture([0.8, -0.13 / 0.9], [0.1, 0.9]),
    "six of ten tie, three lose a quarter": mixture([-0.25, 0, 0.25], [0.3, 0.6, 0.1]),
    "four fifths tie, the rest are normal": lambda rng, n: np.clip(
        np.where(rng.random(n) < 0.8, 0.0, rng.normal(-0.25, 0.2, n)), -1, 1
    ),
    "skewed to the left": lambda rng, n: 0.05 - 0.1 * np.minimum(rng.exponential(1, n), 9),
    "heavy tails (t of 3)": lambda rng, n: np.clip(0.08 * rng.standard_t(3, n), -0.95, 0.95) - 0.05,
    "normal, SD .15": lambda rng, n: np.clip(rng.normal(-0.05, 0.15, n), -1, 0.9),
}
"""Differences of scores from 0 to 1 whose mean is minus the margin."""


def told(difference: np.ndarray, rng: np.random.Generator) -> Iterator[bool]:
    """Which bounds lie above minus the margin: Wald's, t, percentile, sign flips, ours."""
    n, mean, spread = len(difference), difference.mean(), difference.std(ddof=1)
    flat = spread < 1e-12
    z = (mean + MARGIN) / (1.0 if flat else spread / np.sqrt(n))
    yield bool(mean > -MARGIN if flat else special.ndtr(-z) < TAIL)
    yield bool(mean > -MARGIN if flat else stats.t.sf(z, n - 1) < TAIL)
    values, counts = np.unique(difference, return_counts=True)
    yield bool(np.quantile(rng.multinomial(n, counts / n, DRAWS) @ values / n, TAIL) > -MARGIN)
    tail = flip_tail if n <= MOST_CLUSTERS else tail_of_many
    yield tail(difference, np.ones(n), -MARGIN) < TAIL
    yield Bounded(difference, None, 1.0).p_above(-MARGIN) < TAIL


def of_items(world: str, n: int, runs: int) -> list[float]:
    """The share of data sets of one world that each calls no worse."""
    rng = np.random.default_rng([SEED, list(WORLDS).index(world), n])
    runs = runs if n < 500 else runs // 2
    return list(np.mean([list(told(WORLDS[world](rng, n), rng)) for _ in range(runs)], axis=0))


CLUSTERED = {
    "rare losses, ICC .05": 0.05,
    "rare losses, ICC .2": 0.2,
    "rare losses, ICC .5": 0.5,
    "strong effects": None,
    "whole clusters lost": 1.0,
}


def in_clusters(world: str, sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Differences with mean minus the margin, and their clusters."""
    g, codes = len(sizes), np.repeat(np.arange(len(sizes)), sizes)
    icc = CLUSTERED[world]
    if icc is None:  # four items in ten differ, for a side that each cluster has its own leaning to
        lean = rng.beta(0.5, 0.5, g)[codes]
        won = np.where(rng.random(len(codes)) < lean, 0.95, -0.95)
        return np.where(rng.random(len(codes)) < 0.4, won, 0.0) - MARGIN, codes
    if icc == 1.0:
        lost = (rng.random(g) < 0.1)[codes]
        return np.where(lost, -0.95, rng.choice([-0.05, 0.15], len(codes))), codes
    shares = rng.dirichlet(np.array([0.1, 0.1, 0.8]) * (1 / icc - 1), g)
    kind = (rng.random(len(codes))[:, None] > shares.cumsum(axis=1)[codes, :2]).sum(axis=1)
    return np.array([-1.0, 0.5, 0.0])[kind], codes


def of_clusters(world: str, g: int, uneven: float, runs: int) -> list[float]:
    """The same in clusters: CR2, CR2 or sign flips, ours, and ours of whole clusters."""
    rng = np.random.default_rng([SEED, 1, list(CLUSTERED).index(world), g, int(10 * uneven)])
    rows = []
    for _ in range(runs if g < 100 else runs // 2):
        drawn = rng.lognormal(np.log(15), uneven, g) if uneven else np.full(g, 20.0)
        difference, codes = in_clusters(world, np.maximum(1, np.round(drawn)).astype(int), rng)
        groups = cluster_sums(difference, codes)
        error = robust_errors(groups)["cr2"]
        t = (groups.item_weighted + MARGIN) / max(error.se, 1e-12)
        robust = float(stats.t.sf(t, error.df))
        tail = flip_tail if g <= MOST_CLUSTERS else tail_of_many
        wider = max(robust, tail(groups.sums, groups.sizes, -MARGIN))
        ours = [Bounded(difference, codes, 1.0, each).p_above(-MARGIN) for each in ("items", "clusters")]
        rows.append([robust < TAIL, wider < TAIL, *(each < TAIL for each in ours)])
    return list(np.mean(rows, axis=0))


TAME = {".05": 0.05, ".15": 0.15, ".3": 0.3}


def power(spread: float, n: int, runs: int) -> list[float]:
    """How often normal differences without an effect are called no worse: by t, and by ours."""
    rng = np.random.default_rng([SEED, 2, n, int(1000 * spread)])
    rows = []
    for _ in range(runs):
        difference = np.clip(rng.normal(0, spread, n), -1, 1)
        z = (difference.mean() + MARGIN) / (difference.std(ddof=1) / np.sqrt(n))
        rows.append([stats.t.sf(z, n - 1) < TAIL, Bounded(difference, None, 1.0).p_above(-MARGIN) < TAIL])
    return list(np.mean(rows, axis=0))


TEXT = """\
<!-- Made by `python -m tests.simulation.rare_losses`. -->

# Losses too rare to be seen

How often a candidate that loses exactly the margin, .05 on scores from 0 to 1, is called *no worse*. Nominal: {tail:g}.
{runs} data sets a cell, half as many of 1,000 items or 100 clusters: a true {tail:g} is measured as {band:.3f} or less
in 99.9% of such cells, and as {half:.3f} or less in the halved ones. **Bold** is what [the gate](gate.md) and
[bounded-difference](tests/bounded-difference.md) do.

## Independent items

Wald / t / percentile bootstrap / sign flips / **gate**, by the number of items.
"""


PART = """\
## The part of a cluster that was not seen

In clusters the [gate](gate.md), [bounded-difference](tests/bounded-difference.md), [score](score.md) and plans reckon
with a part of one more cluster, lost outright: 2.5 times the items that count for one (the design effect, and what so
few clusters tell of it), at most two fifths of the cluster that an item is in on average. A cluster is lost as a whole
only where its items are alike, and how much alike they are the data tell, if not to the last.

Tried on 1,000 data sets a cell: 5, 8, 10, 20, 40, 100 and 150 clusters of 5 and of 20 items, of log-normal sizes
(standard deviations .7 and 1.2 of the logarithm), and with one of two thirds of the items. Losses at the margin:
a twentieth, a tenth and a fifth of items, lost by an intraclass correlation of 0, .05, .3 and .6, those rare losses
and strong effects above: 560 cells. *Power* is that of no worse of two arms alike, a tenth of independent items
differing, 20 items a cluster, within .05, in 10 / 20 / 40 clusters. *Uneven*: that power on average over margins of .05
and .1, discordances of .1 and .3, correlations up to .2, and 10 to 100 clusters of log-normal sizes (1.2).

| the part | most but at ICC .6 | cells above .042 | most at ICC .6 | cells above .042 | power | uneven |
| --- | --- | --- | --- | --- | --- | --- |
| none | 0.097 | 22 | 0.135 | 31 | 0.28 / 0.75 / 0.98 | 0.68 |
| none, t with Hall's correction for skewness | 0.081 | 19 | 0.112 | 22 | 0.27 / 0.75 / 0.98 | 0.64 |
| a fifth, whatever the data show | 0.051 | 4 | 0.075 | 18 | 0.02 / 0.52 / 0.96 | 0.33 |
| the same, with Hall's correction | 0.051 | 2 | 0.064 | 10 | 0.02 / 0.52 / 0.96 | 0.32 |
| three tenths, whatever the data show | 0.042 | 0 | 0.062 | 6 | 0.00 / 0.15 / 0.90 | 0.08 |
| 2 design effects of losses, at most .3 | 0.066 | 15 | 0.117 | 26 | 0.24 / 0.73 / 0.98 | 0.67 |
| 2 times the items that count for one, at most .3 | 0.051 | 2 | 0.066 | 9 | 0.15 / 0.71 / 0.98 | 0.64 |
| 2.5 times, at most .3 | 0.043 | 1 | 0.062 | 7 | 0.06 / 0.63 / 0.98 | 0.60 |
| **2.5 times, at most .4** | 0.039 | 0 | 0.052 | 2 | 0.06 / 0.63 / 0.98 | 0.60 |
| 3 times, at most .4 | 0.039 | 0 | 0.043 | 1 | 0.02 / 0.54 / 0.97 | 0.57 |

With 300 clusters of very unlike sizes, a fiftieth of items lost and an ICC of .4 it is .050 (a fifth: .071). Clusters
of five independent items pay a little: .42 on average, where a fifth has .45. Suites of two arms have a fifth of one
more cluster, which costs them a twentieth of their width and holds .047 up to an ICC of .3.

## Rankings in clusters

How often [`rank`](ranking.md) tells arms apart at .05: by sign flips of the clusters alone / **with the bounds**.
Right and wrong, 85 boards a cell (a true 0.05 is measured as .10 or less in 98% of them); clusters of 20, or of
log-normal sizes (median 12, standard deviation 1 of the logarithm), which suit some arms (SD .1). *Alike*: any pair of
arms with the same chance .6. *Clusters lost*: the same means, but the first arm is wrong on every tenth cluster as a
whole; any pair. *One better*: the first arm right on 15 items in 100 more; the share of its pairs told apart.

| arms | world | sizes | 11 clusters | 20 | 40 |
| --- | --- | --- | --- | --- | --- |
| 2 | alike | equal | 0.05 / **0.00** | 0.04 / **0.04** | 0.02 / **0.02** |
| 2 | alike | log-normal | 0.06 / **0.01** | 0.07 / **0.02** | 0.11 / **0.06** |
| 2 | clusters lost | equal | 0.02 / **0.02** | 0.05 / **0.02** | 0.05 / **0.02** |
| 2 | clusters lost | log-normal | 0.09 / **0.01** | 0.05 / **0.02** | 0.06 / **0.04** |
| 2 | one better | equal | 0.56 / **0.35** | 0.91 / **0.84** | 1.00 / **1.00** |
| 2 | one better | log-normal | 0.51 / **0.29** | 0.72 / **0.52** | 0.87 / **0.81** |
| 8 | alike | equal | 0.01 / **0.00** | 0.02 / **0.01** | 0.05 / **0.05** |
| 8 | alike | log-normal | 0.07 / **0.00** | 0.07 / **0.02** | 0.07 / **0.05** |
| 8 | clusters lost | equal | 0.05 / **0.02** | 0.04 / **0.04** | 0.05 / **0.05** |
| 8 | clusters lost | log-normal | 0.06 / **0.00** | 0.06 / **0.00** | 0.07 / **0.05** |
| 8 | one better | equal | 0.14 / **0.09** | 0.45 / **0.39** | 0.91 / **0.89** |
| 8 | one better | log-normal | 0.06 / **0.01** | 0.22 / **0.16** | 0.59 / **0.53** |

The bounds cost most where clusters are few and unlike, which is where signs alone tell too much. Boards are drawn by
`python -m tests.simulation.clustered_ranks`.

## Runs of these items

Of a claim about these very items the runs are the sample, and what may not have been seen is a run that loses all it
can. Ends that are t's alone miss on one side up to .10 of the time at .025, where one run in twenty or fewer loses;
those of [`fixed-items`](tests/fixed-items.md) are no nearer than Clopper and Pearson's limit of such runs. They missed
up to .036 in 6,000 cells of 2,000 data sets: 1 to 50 items of 2 to 30 runs, 1 to 15 losses expected, one or two arms.
"""


def percentages(rates: list[float], ours: int = -1) -> str:
    """As table cells have them, ours in bold."""
    ours %= len(rates)
    return " / ".join(f"**{rate:.3f}**" if at == ours else f"{rate:.3f}" for at, rate in enumerate(rates))


def page(runs: int) -> str:
    """The page."""
    band = float(stats.binom.ppf(0.999, runs, TAIL)) / runs
    half = float(stats.binom.ppf(0.999, runs // 2, TAIL)) / (runs // 2)
    lines = [TEXT.format(tail=TAIL, runs=runs, band=band, half=half)]
    lines += [
        "| differences | " + " | ".join(f"{n:,}" for n in SIZES) + " |",
        "| --- " * (len(SIZES) + 1) + "|",
    ]
    for world in WORLDS:
        cells = (percentages(of_items(world, n, runs)) for n in SIZES)
        lines.append(f"| {world} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "## What it costs",
        "",
        "How often normal differences without any effect are called no worse: t / **gate**. Where nothing rare is",
        "about, t is right and needs fewer items; it cannot know.",
        "",
        "| SD | " + " | ".join(f"{n:,}" for n in (50, 100, 200, 400, 1000)) + " |",
        "| --- " * 6 + "|",
    ]
    for name, spread in TAME.items():
        cells = (percentages(power(spread, n, runs)) for n in (50, 100, 200, 400, 1000))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "## Clusters",
        "",
        "CR2 / the wider of CR2 and sign flips / **gate** / `unseen: clusters`, by the number of clusters. Sizes are",
        "equal (20), or log-normal with that standard deviation of the logarithm. Rare losses: a tenth lost outright,",
        "a tenth gains a half, with that intraclass correlation. Strong effects: four items in ten differ, for a side",
        "that every cluster has its own leaning to. Whole clusters lost: a tenth of the clusters loses nearly all, the",
        "others gain a little. The gate says of this last world that it is not covered; `unseen: clusters` covers it.",
        "",
        "| differences | sizes | " + " | ".join(map(str, CLUSTERS)) + " |",
        "| --- " * (len(CLUSTERS) + 2) + "|",
    ]
    for world in CLUSTERED:
        for uneven in UNEVEN:
            cells = (percentages(of_clusters(world, g, uneven, runs), 2) for g in CLUSTERS)
            name = f"log-normal {uneven:g}" if uneven else "equal"
            lines.append(f"| {world} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n" + PART


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.rare_losses", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    PAGE.write_text(page(parser.parse_args().runs), "utf-8")


if __name__ == "__main__":
    main()
