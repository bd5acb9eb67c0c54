"""Several arms compared at once, against the same definitions written with numpy and scipy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import optimize

from benchmarks.harness import Sides, row
from benchmarks.ours import computed
from service.kernels.effects import preferences
from service.kernels.randomization.max_t import flip_signs, max_t, sum_by_unit

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
    units = sum_by_unit(columns, None)
    few = [max_t(units, flip_signs(units, seed, range(4)), 0.05).critical for seed in range(SEEDS)]
    error = float(np.std(few, ddof=1)) * math.sqrt(1_000 / DRAWS)
    return Sides(
        lambda: float(ours().critical_value),
        lambda: by_loop(columns, DRAWS, 1),
        error,
        scale=error,
        of="its own Monte-Carlo error",
        ours_error=error,
    )


RATED = 30


@row(
    f"Bradley-Terry with ties, {RATED} arms, 100,000 comparisons",
    group=GROUP,
    peer="scipy.optimize, L-BFGS",
    bar=1,
)
def _strengths() -> Sides:
    rng = np.random.default_rng(7)
    logs = rng.normal(0, 0.5, RATED)
    first, second = np.triu_indices(RATED, 1)
    half = (logs[first] - logs[second]) / 2
    rates = np.exp(np.stack([half, -half, np.full(len(half), -0.7)], axis=1))
    seen = rng.multinomial(100_000 // len(half), rates / rates.sum(axis=1, keepdims=True)).astype(np.float64)
    wins, ties = np.zeros((RATED, RATED)), np.zeros((RATED, RATED))
    wins[first, second], wins[second, first] = seen[:, 0], seen[:, 1]
    ties[first, second] = ties[second, first] = seen[:, 2]

    def minus(parameters: Any) -> tuple[float, Any]:
        """Minus the log likelihood, with its slope."""
        lead = (parameters[first] - parameters[second]) / 2
        each = np.exp(np.stack([lead, -lead, np.full(len(lead), parameters[-1])], axis=1))
        total = each.sum(axis=1)
        left = seen - seen.sum(axis=1, keepdims=True) * each / total[:, None]
        slope = np.zeros(RATED + 1)
        np.add.at(slope, first, (left[:, 0] - left[:, 1]) / 2)
        np.add.at(slope, second, (left[:, 1] - left[:, 0]) / 2)
        slope[-1] = left[:, 2].sum()
        return -float((seen * np.log(each / total[:, None])).sum()), -slope

    def peer() -> float:
        result = optimize.minimize(
            minus, np.zeros(RATED + 1), jac=True, method="L-BFGS-B", options={"ftol": 1e-14}
        )
        return float(result.x[0] - result.x[1])

    def ours() -> float:
        fitted = preferences.fit(wins, ties)
        return float(fitted.logs[0] - fitted.logs[1])

    return Sides(ours, peer, error=1e-5)
