"""Variance components of repeated runs and agreement of raters, beside statsmodels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.harness import Sides, row
from benchmarks.ours import computed
from service.kernels.repeats.repeated_runs import RUN, reml
from service.stats.repeated.repeats import flatten

GROUP = "repeated runs"
ITEMS, RATED = 40, 200


def runs() -> dict[str, Any]:
    """One to four runs of each item in each arm, one to three judgements of each."""
    rng = np.random.default_rng(2)
    levels = rng.normal(0, 1, ITEMS)
    return {
        arm: [
            [
                (level + suits + rng.normal(0, 0.7) + rng.normal(0, 0.4, rng.integers(1, 4))).tolist()
                for _ in range(rng.integers(1, 5))
            ]
            for level, suits in zip(levels, rng.normal(0, 0.5, ITEMS), strict=True)
        ]
        for arm in ("baseline", "candidate")
    }


@row(f"REML of {ITEMS} items, 1 to 4 runs, 1 to 3 judgements", group=GROUP, peer="statsmodels MixedLM", bar=2)
def _components() -> Sides:
    import pandas as pd
    import statsmodels.formula.api as smf

    body = runs()
    table = pd.DataFrame(
        [
            (item, arm, f"{item}.{arm}", f"{item}.{arm}.{place}", y)
            for arm, of_arm in body.items()
            for item, of_item in enumerate(of_arm)
            for place, run in enumerate(of_item)
            for y in run
        ],
        columns=["item", "arm", "cell", "run", "y"],
    )

    def peer() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = {"cell": "0+C(cell)", "run": "0+C(run)"}
            model = smf.mixedlm("y ~ C(arm)", table, groups="item", re_formula="1", vc_formula=parts)
            return float(model.fit(reml=True).vcomp[1])

    def ours() -> float:
        data, size, _ = flatten(body["baseline"], body["candidate"])
        return float(reml(data)[RUN]) * size**2

    # both stop short of the top by so much
    return Sides(ours, peer, 1e-3, scale=1.0, of="a variance of 1")


@row(f"agreement of 3 raters on {RATED} items, jackknife", group=GROUP, peer="statsmodels, a loop", bar=2)
def _agreement() -> Sides:
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    rng = np.random.default_rng(3)
    ratings = np.where(
        rng.random((RATED, 3)) < 0.6, rng.integers(0, 4, (RATED, 1)), rng.integers(0, 4, (RATED, 3))
    )
    counts = aggregate_raters(ratings)[0]
    ours = computed("agreement", ratings=ratings.astype(float).tolist())

    def peer() -> float:
        without = np.array([fleiss_kappa(np.delete(counts, place, axis=0)) for place in range(RATED)])
        return float(np.sqrt((RATED - 1) / RATED * ((without - without.mean()) ** 2).sum()))

    return Sides(lambda: float(ours().fleiss_kappa.se), peer, 1e-9, scale=1.0, of="kappa")
