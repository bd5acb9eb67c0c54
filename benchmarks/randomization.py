"""Sign flips of a mean difference, ours by convolution or inversion, against a peer that draws signs."""

from __future__ import annotations

import numpy as np
from scipy import stats

from benchmarks.bootstrap import Arms
from benchmarks.harness import Sides, Task, row, share_error
from benchmarks.ours import computed
from service.kernels.randomization.sign_flip import sign_flip

GROUP = "randomization"
PEER = "scipy.stats.permutation_test"
DRAWS = 10_000


def scores(n: int) -> Arms:
    """Scores whose difference is near the border of significance."""
    rng = np.random.default_rng(n)
    baseline = rng.normal(0.5, 0.2, n)
    return baseline, baseline + rng.gamma(2.0, 0.05, n) - 0.094


def grades(n: int) -> Arms:
    """Grades in hundredths: a lattice."""
    baseline, candidate = scores(n)
    return np.round(baseline, 2), np.round(candidate, 2)


def flipped(arms: Arms, ours: Task) -> Sides:
    """Both two-sided p-values; the peer's are counts over draws."""
    difference = arms[1] - arms[0]
    rng = np.random.default_rng(1)

    def mean(values: np.ndarray, axis: int = -1) -> np.ndarray:
        return values.mean(axis=axis)

    def peer() -> float:
        result = stats.permutation_test(
            (difference,), mean, permutation_type="samples", n_resamples=DRAWS, vectorized=True, rng=rng,
            batch=2000,
        )  # fmt: skip
        return float(result.pvalue)

    p = sign_flip(difference).two_sided
    return Sides(ours, peer, 2 * share_error(p / 2, DRAWS), scale=p, of="p")


def analysis(arms: Arms) -> Task:
    """The whole `randomization` analysis."""
    run = computed("randomization", baseline=arms[0].tolist(), candidate=arms[1].tolist())
    return lambda: run().p_value


for _name, _arms in (("continuous", scores(500)), ("grades in hundredths", grades(500))):
    row(f"sign-flip p, {_name}, n 500, B 10,000", group=GROUP, peer=PEER, bar=250)(
        lambda arms=_arms: flipped(arms, lambda: sign_flip(arms[1] - arms[0]).two_sided)
    )
    row(f"same, whole analysis, {_name}", group=GROUP, peer=PEER, bar=None)(
        lambda arms=_arms: flipped(arms, analysis(arms))
    )
