"""Arms that were asked items of their own and do not differ, as bodies of a request."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.simulation.boards import Body, Draw

Floats = NDArray[np.float64]


def graded(n_baseline: int, n_candidate: int) -> Draw:
    """Scores between 0 and 1, most of them high: beta(4, 1)."""

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        return _body(rng.beta(4, 1, n_baseline), rng.beta(4, 1, n_candidate))

    return draw


def rarely_lost(n_baseline: int, n_candidate: int) -> Draw:
    """Scores near 1, and three in a hundred that are 0 and carry the mean."""

    def arm(rng: np.random.Generator, n: int) -> Floats:
        return np.where(rng.random(n) < 0.03, 0.0, rng.uniform(0.9, 1.0, n))

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        return _body(arm(rng, n_baseline), arm(rng, n_candidate))

    return draw


def conversations(n_baseline: int, n_candidate: int) -> Draw:
    """Right and wrong in so many conversations of 3 to 12 questions an arm, whose shares are beta(2.8, 1.2): ICC .2."""

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        values, labels = [], []
        for arm, n in enumerate((n_baseline, n_candidate)):
            sizes = rng.integers(3, 13, n)
            own = np.repeat(rng.beta(2.8, 1.2, n), sizes)
            values.append((rng.random(len(own)) < own).astype(np.float64))
            labels.append(np.repeat(np.arange(n) + 1000 * arm, sizes).tolist())
        return {
            **_body(*values),
            "clusters": {"baseline": labels[0], "candidate": labels[1]},
        }

    return draw


def with_covariate(n_baseline: int, n_candidate: int) -> Draw:
    """Scores of which a number that was known before explains half."""

    def draw(rng: np.random.Generator, _effect: float) -> Body:
        before = [rng.random(n) for n in (n_baseline, n_candidate)]
        values = [0.5 * known + 0.5 * rng.random(len(known)) for known in before]
        covariates = {"before": {"baseline": before[0].tolist(), "candidate": before[1].tolist()}}
        return {**_body(*values), "covariates": covariates}

    return draw


def _body(baseline: Floats, candidate: Floats) -> Body:
    return {
        "baseline": baseline.tolist(),
        "candidate": candidate.tolist(),
        "range": {"low": 0.0, "high": 1.0},
    }
