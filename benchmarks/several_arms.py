"""Several arms compared at once, against the same definition written as a loop over resamples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.harness import Sides, row
from benchmarks.ours import computed
from service.kernels.max_t import flipped, max_t, summed

GROUP = "several arms"
ARMS, ITEMS, DRAWS = 20, 2_000, 10_000
PEER = "numpy, a loop over resamples"
SEEDS = 12
"""Of the peer's fewer draws, from which the error of its critical value is told."""


def outcomes() -> Any:
    """Right and wrong, (items, arms)."""
    chances = np.linspace(0.7, 0.8, ARMS)
    return (np.random.default_rng(5).random((ITEMS, ARMS)) < chances).astype(np.float64)


def by_loop(columns: Any, draws: int, seed: int) -> float:
    """The critical value of the largest |t| over all pairs, one resample after the other."""
    rng, n = np.random.default_rng(seed), len(columns)
    first, second = np.triu_indices(columns.shape[1], 1)
    centred = columns - columns.mean(axis=0)
    squares = ((centred[:, first] - centred[:, second]) ** 2).sum(axis=0)
    largest = np.empty(draws)
    for draw in range(draws):
        means = rng.choice([-1.0, 1.0], n) @ centred / n
        shift = means[first] - means[second]
        largest[draw] = np.abs(shift / np.sqrt((squares - n * shift**2) / (n - 1) / n)).max()
    return float(np.quantile(largest, 0.95))


@row(f"leaderboard, {ARMS} arms, {ITEMS:,} items, B {DRAWS:,}", group=GROUP, peer=PEER, bar=2)
def _leaderboard() -> Sides:
    columns = outcomes()
    ours = computed("leaderboard", arms={f"{arm}": each.tolist() for arm, each in enumerate(columns.T)})
    units = summed(columns, None)
    few = [max_t(units, flipped(units, seed, range(4)), 0.05).critical for seed in range(SEEDS)]
    error = float(np.std(few, ddof=1)) * math.sqrt(1_000 / DRAWS)
    return Sides(
        lambda: float(ours().critical_value),
        lambda: by_loop(columns, DRAWS, 1),
        error,
        scale=error,
        of="its own Monte-Carlo error",
        ours_error=error,
    )
