"""How often a ranking in clusters tells arms apart, by signs alone and with bounds that know of a cluster not seen.

`python -m tests.simulation.clustered_ranks [--runs N]` prints the rows of the table in docs/rare-losses.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.stats.leaderboard.leaderboard import LeaderboardRequest

ALPHA, DRAWS, RUNS = 0.05, 1000, 150
LOST, SOLVED = 0.1, 0.6
SIZES = "equal", "log-normal"
WORLDS = "alike", "clusters lost", "one better"
"""Arms alike, whose clusters suit some arms; the same mean, but the first arm is wrong in a tenth of the clusters; the
first arm right on 15 items in 100 more."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Of boards: those that tell any pair apart, or in `one better` of pairs with that arm those told apart."""

    signs: float
    bounds: float


def measure(world: str, arms: int, clusters: int, sizes: str, runs: int, seed: int = 0) -> Shares:
    """Both shares over so many boards."""
    signs = bounds = 0.0
    for run in range(runs):
        request = _board(np.random.default_rng([seed, run]), world, arms, clusters, sizes)
        units, names = request.units, list(request.arms)
        board = request.standings(names, request.size, request.sign, "cluster")
        if world == "one better":
            chosen = units.pairs[0] == 0
            signs += float((board.joint.adjusted[chosen] < ALPHA).mean())
            bounds += float(
                np.mean([pair.apart for pair in board.pairs if "arm 0" in (pair.first, pair.second)])
            )
        else:
            signs += bool((board.joint.adjusted < ALPHA).any())
            bounds += any(pair.apart for pair in board.pairs)
    return Shares(signs / runs, bounds / runs)


def _board(rng: np.random.Generator, world: str, arms: int, clusters: int, sizes: str) -> LeaderboardRequest:
    many = np.full(clusters, 20) if sizes == "equal" else _uneven(rng, clusters)
    codes = np.repeat(np.arange(clusters), many)
    chance = np.full((len(codes), arms), SOLVED)
    suits = rng.normal(0, 0.1, (clusters, arms))
    chance += suits[codes]
    if world == "one better":
        chance[:, 0] += 0.15
    if world == "clusters lost":
        lost = (rng.random(clusters) < LOST)[codes]
        chance[:, 0] = np.where(lost, 0.0, chance[:, 0] / (1 - LOST))
    right = (rng.random(chance.shape) < chance).astype(float)
    columns = {f"arm {arm}": right[:, arm].tolist() for arm in range(arms)}
    return LeaderboardRequest(arms=columns, clusters=codes.tolist(), n_resamples=DRAWS, alpha=ALPHA)


def _uneven(rng: np.random.Generator, clusters: int) -> NDArray[np.int64]:
    return np.maximum(np.round(12 * np.exp(1.0 * rng.standard_normal(clusters))), 1).astype(np.int64)


def rows(runs: int) -> Iterator[str]:
    """The rows of the table."""
    for arms in (2, 8):
        for world in WORLDS:
            for sizes in SIZES:
                cells = [measure(world, arms, clusters, sizes, runs) for clusters in (11, 20, 40)]
                shares = " | ".join(f"{cell.signs:.2f} / **{cell.bounds:.2f}**" for cell in cells)
                yield f"| {arms} | {world} | {sizes} | {shares} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.clustered_ranks", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    for row in rows(parser.parse_args().runs):
        print(row, flush=True)
