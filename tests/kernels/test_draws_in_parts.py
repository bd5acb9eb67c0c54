"""Resamples of many units are drawn in parts: what is held does not grow with their number."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from service.kernels.bootstrap import paired_ratio, quantile_bootstrap

N, CHUNK = 1000, 20_000


def columns() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    before = rng.lognormal(0, 1, N)
    return before, before * rng.lognormal(-0.1, 0.3, N)


def of_clusters(draws: int) -> None:
    quantile_bootstrap.resampled_quantiles(columns(), np.arange(N) // 2, 0.5, draws, 1)


def of_items(draws: int) -> None:
    quantile_bootstrap.resampled_quantiles(columns(), np.arange(N), 0.9, draws, 1)


def of_ratios(draws: int) -> None:
    paired_ratio.pivots(paired_ratio.PairedRatio.of(*columns(), np.ones(N)), draws, 1)


@pytest.mark.parametrize("draw", [of_clusters, of_items, of_ratios])
def test_memory_is_of_a_part_and_not_of_all_resamples(
    draw: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block of 250 resamples of 1,000 items would be 2 MB of weights, and a part is a twelfth of that."""
    for module in (paired_ratio, quantile_bootstrap):
        monkeypatch.setattr(module, "CHUNK", CHUNK)
    draw(1)  # what is kept from the first call on
    peaks = []
    for draws in (250, 750):
        tracemalloc.start()
        draw(draws)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 100_000  # the answers themselves
    assert peaks[1] < 6 * 8 * CHUNK
