"""Drawn distributions as tests of kernels read them: whole, from one seed, by the kernels that draw blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from service.kernels.bootstrap.bootstrap_draws import Draws, ratio_blocks
from service.kernels.bootstrap.independent_bootstrap import Drawn, estimate_blocks, in_order
from service.kernels.bootstrap.metric_bootstrap import MetricDraws, difference_blocks
from service.kernels.numeric.metrics import PairedSums
from service.kernels.numeric.streams import block_count
from service.kernels.randomization.metric_flips import Flips, flip_blocks, flips_of, list_flips


def draw_ratios(sums: np.ndarray, sizes: np.ndarray, n_resamples: int, seed: int) -> Draws:
    return Draws(np.sort(ratio_blocks(sums, sizes, seed, range(block_count(n_resamples)))[:n_resamples]))


def draw_estimates(samples: Sequence[np.ndarray], n_resamples: int, seed: int) -> Drawn:
    """Means of one sample, or differences of two: whole blocks, cut to length."""
    return in_order(samples, estimate_blocks(samples, seed, range(block_count(n_resamples)))[:n_resamples])


def draw_means(values: np.ndarray, n_resamples: int, seed: int) -> Draws:
    return draw_ratios(values, np.ones(len(values)), n_resamples, seed)


def draw_differences(
    units: PairedSums, n_resamples: int, seed: int, *, studentize: bool = False
) -> MetricDraws:
    replicates = difference_blocks(units, seed, range(block_count(n_resamples)), studentize=studentize)
    return replicates.sort_into_draws(units, n_resamples)


def flip(sums: PairedSums, n_resamples: int, seed: int, *, listed: bool = True) -> Flips:
    """Listed where there are few swaps, unless they are to be drawn."""
    if listed and (result := list_flips(sums)) is not None:
        return result
    return flips_of(sums, *flip_blocks(sums, seed, range(block_count(n_resamples))), n_resamples)
