"""Measure and write docs/score-coverage.md: `python -m tests.simulation.score_coverage [--runs N]`.

How often the interval of one share in clusters holds the true share: by `one-sample-mean` and by what others print.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from scipy import special

from service.kernels.pairs.mean_bounds import MeanBounds
from service.stats.shared.data.score_range import UNIT
from service.stats.shared.methods.one_mean import OneMean

PAGE = Path(__file__).resolve().parents[2] / "docs" / "score-coverage.md"
LEVEL, TAIL, SEED, RUNS, SIZE = 0.95, 0.025, 20_261_124, 1000, 20
CLUSTERS, ICCS, SHARES = (3, 5, 10, 20, 100), (0.0, 0.05, 0.3), (0.5, 0.8, 0.95, 0.99)
SIZES = ("equal", "one holds two thirds", "log-normal 1")
LENGTHS = 100
"""Data sets of which the length of our interval is computed."""
SIDE_CLUSTERS, SIDE_ICCS, SIDE_SHARES = (5, 8, 10, 20, 40), (0.05, 0.3), (0.5, 0.7, 0.8, 0.9, 0.95)
METHODS = ("Wilson", "CR0, normal", "CR1, t(G - 1)", "CR2", "Korn-Graubard, t(G - 1)", "score")
SHOWN = ("Wilson", "CR0, normal", "CR1, t(G - 1)", "score")
Z = float(special.ndtri(1 - TAIL))


def sizes_of(kind: str, g: int, rng: np.random.Generator) -> np.ndarray:
    """Items of g clusters."""
    if kind == "equal":
        return np.full(g, SIZE)
    if kind == "one holds two thirds":
        return np.array([2 * SIZE * (g - 1), *[SIZE] * (g - 1)])
    return np.maximum(1, np.round(rng.lognormal(np.log(15), 1.0, g))).astype(np.int64)


def draw(
    kind: str, g: int, icc: float, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong items and their clusters, whose own shares are beta with that mean and correlation."""
    sizes = sizes_of(kind, g, rng)
    own = np.full(g, share)
    if icc > 0:
        own = rng.beta(share * (1 - icc) / icc, (1 - share) * (1 - icc) / icc, g)
    codes = np.repeat(np.arange(g), sizes)
    return (rng.random(len(codes)) < own[codes]).astype(np.float64), codes


def intervals(values: np.ndarray, codes: np.ndarray) -> Iterator[tuple[float, float]]:
    """By every method, in their order; cut at 0 and 1."""
    n, mean = len(values), float(values.mean())
    g = int(codes.max()) + 1
    ours = OneMean(values, codes, UNIT)
    assert ours.as_if_independent is not None
    yield ours.as_if_independent[1].ends(TAIL)
    t = float(special.stdtrit(g - 1, 1 - TAIL))
    cr1 = ours.cr0 * np.sqrt(g / (g - 1))
    for half in (Z * ours.cr0, t * cr1):
        yield max(mean - half, 0.0), min(mean + half, 1.0)
    robust = ours.beside.get("cr2_t")
    yield (mean, mean) if robust is None else robust.ends(TAIL)
    error, independent = ours.error, mean * (1 - mean) / n
    effective = float(g)
    if error is not None and error.se > 1e-12 and independent > 0:
        few = special.stdtrit(n - 1, 1 - TAIL) / t
        effective = min(n * independent / error.se**2 * few**2, float(n))
    right = mean * effective
    low = 0.0 if right <= 0 else float(special.betaincinv(right, effective - right + 1, TAIL))
    yield low, 1.0 if mean == 1 else float(special.betaincinv(right + 1, effective - right, 1 - TAIL))
    yield _deciding(ours).ends(TAIL)


def _deciding(mean: OneMean) -> MeanBounds:
    assert mean.deciding is not None
    return mean.deciding[1]


def _holds(values: np.ndarray, codes: np.ndarray, share: float) -> bool:
    """Whether the interval that decides holds it: as its test does not reject, which takes a tenth of the time."""
    bounds = _deciding(OneMean(values, codes, UNIT))
    return min(bounds.p_above(share), bounds.p_below(share)) >= TAIL


def coverage(kind: str, g: int, icc: float, share: float, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """By method: the share of data sets whose interval holds the true share, and the mean length of `LENGTHS`."""
    rng = np.random.default_rng([SEED, SIZES.index(kind), g, round(100 * icc), round(100 * share)])
    sets = [draw(kind, g, icc, share, rng) for _ in range(runs)]
    ends = np.array([list(islice(intervals(*each), len(METHODS) - 1)) for each in sets])
    held = ((ends[:, :, 0] <= share + 1e-12) & (ends[:, :, 1] >= share - 1e-12)).mean(axis=0)
    length = (ends[:, :, 1] - ends[:, :, 0]).mean(axis=0)
    ours = np.array([_deciding(OneMean(*each, UNIT)).ends(TAIL) for each in sets[:LENGTHS]])
    return (
        np.append(held, np.mean([_holds(*each, share) for each in sets])),
        np.append(length, (ours[:, 1] - ours[:, 0]).mean()),
    )


def beyond(g: int, icc: float, share: float, runs: int) -> tuple[float, float]:
    """How often the lower end lies above the true share, and the upper one below it, in clusters of one size."""
    rng = np.random.default_rng([SEED, 1, g, round(100 * icc), round(100 * share)])
    told = []
    for _ in range(runs):
        values, codes = draw("equal", g, icc, share, rng)
        bounds = _deciding(OneMean(values, codes, UNIT))
        told.append((bounds.p_above(share) < TAIL, bounds.p_below(share) < TAIL))
    above, below = np.mean(told, axis=0)
    return float(above), float(below)


TEXT = """\
<!-- Made by `python -m tests.simulation.score_coverage`. -->

# The interval of one score in clusters

How often the 95% interval of a share holds the true share, where items come in clusters: by `forelock score` and
[one-sample-mean](tests/one-sample-mean.md), and by what others print. {runs} data sets a cell: a true .95 is measured
as {band:.3f} or more in 99.9% of such cells. Clusters have {size} items each; or one of them holds two thirds of all
items; or their sizes are log-normal with a standard deviation of 1 of the logarithm. Their own shares are beta with
that mean and intraclass correlation (ICC).

## What decides, and why

Two intervals were to be had of clusters. CR2 is right where the mean is far from 0 and 1 and clusters are alike in
size; near an end a few bad clusters that were not seen make it too short, by far. Korn and Graubard's knows of them,
and with their own degrees of freedom, G - 1, it is too short where sizes differ. So: CR2 alone where the sizes'
coefficient of variation is .5 or less, 20 effective items or more are right, and as many wrong, and the skewness of
their mean, (1 - 2 p) / sqrt(n p (1 - p)) with n effective items, is .05 or less, and 3 clusters' worth of either are
there; else at each end the furthest of three: CR2; Korn and Graubard's with Bell and McCaffrey's degrees of freedom, or
with those of the variance of the clusters' sums where these are fewer; and Gaffke's bound of whole clusters with a
part of one more that was not seen: 2.5 times the items that count for one, at most two fifths of the cluster of an
item. Where nothing varies it is Clopper and Pearson's of one item per cluster.

Both others miss where clusters are seldom bad as a whole, with an ICC of .3 one end in .10 of the data sets. A whole
unseen cluster would hold always, and make the distance of the bound 2.7 times as long on average. [What was
tried](rare-losses.md#the-part-of-a-cluster-that-was-not-seen).

{summary}

{below}

## One side alone

"At least 90%" rests on the lower end. How often that end of `score` lies above the true share / the upper one below it,
in clusters of {size} items; nominal {tail:g}, measured as {most:.3f} or less in 99.9% of such cells.

| ICC | clusters | {side_shares} |
| --- | --- | {side_rule} |
{sides}

## Coverage

{shown}, by the share of right items.

| sizes | ICC | clusters | {shares} |
| --- | --- | --- | {rule} |
{rows}
"""


def page(runs: int) -> str:
    """The page."""
    from scipy import stats

    cells = {
        (kind, icc, g, share): coverage(kind, g, icc, share, runs)
        for kind in SIZES
        for icc in ICCS
        for g in CLUSTERS
        for share in SHARES
    }
    held, length = (np.array([each[at] for each in cells.values()]) for at in (0, 1))
    lines = ["| interval | least coverage | cells below .94 | mean length |", "| --- | --- | --- | --- |"]
    for at, name in enumerate(METHODS):
        bold = "**" if name == "score" else ""
        lines.append(
            f"| {bold}{name}{bold} | {held[:, at].min():.3f} | {int((held[:, at] < 0.94).sum())} of {len(cells)} | "
            f"{length[:, at].mean():.3f} |"
        )
    short = [
        f"{kind}, ICC {icc:g}, {g} clusters, share {share:g}: {rates[-1]:.3f}"
        for (kind, icc, g, share), (rates, _) in cells.items()
        if rates[-1] < 0.94
    ]
    below = "No cell of `score` is below .94."
    if short:
        told = "\n".join(f"- {each}" for each in short)
        below = (
            "`score` is below .94 where nearly all is right and whole clusters are seldom bad, so that none of them\n"
            f"was seen, or by the chance of {runs} data sets:\n\n{told}"
        )
    rows = []
    for kind in SIZES:
        for icc in ICCS:
            for g in CLUSTERS:
                columns = (cells[kind, icc, g, share][0] for share in SHARES)
                rows.append(f"| {kind} | {icc:g} | {g} | " + " | ".join(map(_cell, columns)) + " |")
    sides = []
    for icc in SIDE_ICCS:
        for g in SIDE_CLUSTERS:
            pairs = (beyond(g, icc, share, runs) for share in SIDE_SHARES)
            sides.append(f"| {icc:g} | {g} | " + " | ".join(f"{a:.3f} / {b:.3f}" for a, b in pairs) + " |")
    return TEXT.format(
        tail=TAIL,
        most=float(stats.binom.ppf(0.999, runs, TAIL)) / runs,
        side_shares=" | ".join(f"{share:g}" for share in SIDE_SHARES),
        side_rule=" | ".join("---" for _ in SIDE_SHARES),
        sides="\n".join(sides),
        runs=runs,
        band=float(stats.binom.ppf(0.001, runs, LEVEL)) / runs,
        size=SIZE,
        summary="\n".join(lines),
        below=below,
        shown=" / ".join(f"**{name}**" if name == "score" else name for name in SHOWN),
        shares=" | ".join(f"{share:g}" for share in SHARES),
        rule=" | ".join("---" for _ in SHARES),
        rows="\n".join(rows),
    )


def _cell(rates: np.ndarray) -> str:
    told = [f"{rates[METHODS.index(name)]:.3f}" for name in SHOWN]
    return " / ".join([*told[:-1], f"**{told[-1]}**"])


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.score_coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    PAGE.write_text(page(parser.parse_args().runs), "utf-8")


if __name__ == "__main__":
    main()
