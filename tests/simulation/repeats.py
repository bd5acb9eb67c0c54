"""Worlds of repeated runs: what items, arms, runs and judgements add, and items that stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.simulation.boards import Body, Draw


def judged_runs(n: int, runs: int, judgements: int, sds: Sequence[float], per_cluster: int = 0) -> Draw:
    """Two arms on `n` items: normal scores whose items, items by arm, runs and judgements have these SDs."""

    def draw(rng: np.random.Generator, effect: float) -> Body:
        item, by_arm, run, judge = sds
        codes = np.arange(n) // (per_cluster or 1)
        shared = rng.normal(0, by_arm if per_cluster else 0.0, codes[-1] + 1)[codes]
        level = rng.normal(0, item, n)
        arms = []
        for shift in (0.0, effect + shared):
            suits = level + shift + rng.normal(0, by_arm, n)
            ran = suits[:, None] + rng.normal(0, run, (n, runs))
            arms.append((ran[:, :, None] + rng.normal(0, judge, (n, runs, judgements))).tolist())
        body: Body = {"baseline": arms[0], "candidate": arms[1]}
        return {**body, "clusters": codes.tolist()} if per_cluster else body

    return draw


def fixed_runs(n: int, runs: int, fail: float, varying: float) -> Draw:
    """Two arms on `n` fixed items: a share of them, `varying`, fails at that rate in both, and others never or always.

    The candidate fails less often there, by the effect on the mean of all items.
    """

    def draw(rng: np.random.Generator, effect: float) -> Body:
        at = np.arange(n)
        before = np.where(at < varying * n, 1 - fail, (at % 3 > 0).astype(float))
        after = np.where(at < varying * n, 1 - fail + effect / varying, before)
        arms = [
            (rng.random((n, runs)) < chance[:, None]).astype(float).tolist() for chance in (before, after)
        ]
        return {"baseline": arms[0], "candidate": arms[1]}

    return draw
