"""Cumulative curves: a band at every n, ours exact or with a stated error, against the published loop."""

from __future__ import annotations

import numpy as np

from benchmarks.bootstrap import binary, continuous
from benchmarks.harness import Measured, Sides, row, seconds
from benchmarks.ours import computed
from service.kernels.bootstrap.cumulative import SEED, SEED_DRAWS

GROUP = "curves"
FIRST, LAST = 10, 500


def published_loop() -> None:
    """At every n 500 resamples of either arm, in points, and the percentiles of their difference."""
    baseline, candidate = (column.astype(int) for column in binary(LAST))
    rng = np.random.default_rng(SEED)
    for n in range(FIRST, LAST + 1):
        boots = [
            candidate[:n][rng.choice(n, n, replace=True)].mean()
            - baseline[:n][rng.choice(n, n, replace=True)].mean()
            for _ in range(SEED_DRAWS)
        ]
        np.percentile(np.array(boots) * 100, [2.5, 97.5])


@row(
    "bootstrap band at every n to 500, exact, whole analysis",
    group=GROUP,
    peer="the published loop, 500 resamples at each n",
    bar=30,
)
def exact_band() -> Sides:
    """Ours also gives the confidence sequence."""
    baseline, candidate = binary(LAST)
    ours = computed(
        "cumulative-effect", baseline=baseline.tolist(), candidate=candidate.tolist(), band="percentile",
        order="locked_seed", first=FIRST,
    )  # fmt: skip
    return Sides(lambda: _none(ours()), lambda: _none(published_loop()))


def long_curve(kind: str, band: str | None) -> Measured:
    """Seconds of the whole analysis of 100,000 items, with what it states as the error of its band."""
    baseline, candidate = (binary if kind == "binary" else continuous)(100_000)
    ours = computed(
        "cumulative-effect", baseline=baseline.tolist(), candidate=candidate.tolist(), band=band,
        order="locked_seed", max_points=10_000,
    )  # fmt: skip
    error = ours().band.error
    taken = float(np.median([seconds(ours) for _ in range(5)]))
    return Measured(taken, None, taken, peer_error=f"ours states {error:.1e}")


for _kind, _band, _words in (
    ("binary", "tango", "score interval"),
    ("binary", "percentile", "exact bootstrap"),
    ("continuous", "percentile", "bootstrap, Cornish-Fisher"),
):
    row(
        f"band to n 100,000, {_kind}, {_words}, 10,000 points, whole analysis",
        group=GROUP,
        peer="",
        bar=1.0,
        at_most=True,
    )(lambda kind=_kind, band=_band: long_curve(kind, band))


def _none(_: object) -> None:
    return None
