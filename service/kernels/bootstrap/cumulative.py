"""The effect after every item: running sums, and intervals for all n at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.bootstrap.trinomial_quantiles import quantiles

Floats = NDArray[np.float64]

SEED, SEED_DRAWS = 42, 500
"""Of the published recipe: the seed, and the resamples for every n."""

CLOSE = 1e-13
"""A running variance below this share of the square of the largest deviation is rounding: nothing varies yet."""


def percentile_intervals(b: Floats, c: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Return percentile bootstrap intervals of binary pairs, exactly, on the lattice 1/n; all tables in one sweep."""
    low, high = quantiles(b, c, n, ((1 - level) / 2, (1 + level) / 2))
    return low / n, high / n


def cornish_fisher_intervals(values: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """Return percentile bootstrap intervals of the running mean of `values` (n,): (low, high, error), each (n,); NaN
    where nothing varies yet.

    Quantiles of a bootstrap mean by the Cornish-Fisher expansion up to 1/n (Hall 1992, The Bootstrap
    and Edgeworth Expansion, 2.5). `error` is the size of the last term kept, a bound in practice for
    what is left out where the expansion serves at all.
    """
    scale = float(np.abs(values - values.mean()).max()) or 1.0
    # Centred by the mean of all before powers are summed: raw fourth moments would cancel in m4.
    centred = (values - values.mean()) / scale
    n = np.arange(1, len(values) + 1)
    first, second, third, fourth = (np.cumsum(centred**power) / n for power in (1, 2, 3, 4))
    variance = np.maximum(second - first**2, 0.0)
    m3 = third - 3 * first * second + 2 * first**3
    m4 = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    flat = variance <= CLOSE
    safe = np.where(flat, 1.0, variance)
    skewness, kurtosis = m3 / safe**1.5, m4 / safe**2 - 3
    z = float(special.ndtri(0.5 + level / 2))
    se = np.where(flat, np.nan, np.sqrt(variance / n))
    # Skewness moves both ends one way, by 1/sqrt(n); what moves them apart is of order 1/n.
    lean = skewness / np.sqrt(n) * (z * z - 1) / 6
    last = (kurtosis * (z**3 - 3 * z) / 24 - skewness**2 * (2 * z**3 - 5 * z) / 36) / n
    mean = values.mean() + scale * first
    reach = z + last
    return (
        mean + scale * se * (lean - reach),
        mean + scale * se * (lean + reach),
        np.where(flat, 0.0, scale * se * np.abs(last)),
    )


def t_intervals(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Return Student's t intervals of the running mean of `values` (n,); NaN where nothing varies yet."""
    scale = float(np.abs(values - values.mean()).max()) or 1.0
    centred = (values - values.mean()) / scale
    n = np.arange(1, len(values) + 1)
    # centred by the mean of all, so that the running squares do not cancel
    first, second = np.cumsum(centred) / n, np.cumsum(centred**2) / n
    variance = second - first**2
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.where(variance <= CLOSE, np.nan, np.sqrt(np.maximum(variance, 0.0) / (n - 1)))
        half = special.stdtrit(n - 1, 0.5 + level / 2) * se
    mean = values.mean() + scale * first
    return mean - scale * half, mean + scale * half


def seed_intervals(baseline: Floats, candidate: Floats, first: int) -> tuple[Floats, Floats]:
    """Return the literal published recipe for n = first, first + 1, ..: the arms resampled apart, 500 draws.

    One stream of `default_rng(42)` runs through all n, so no n can be left out. Proportions.
    """
    rng = np.random.default_rng(SEED)
    low, high = [], []
    for n in range(first, len(baseline) + 1):
        # the same numbers as 500 times choice(n, n) for the candidate and choice(n, n) for the baseline
        picked = rng.integers(0, n, (SEED_DRAWS, 2, n))
        boots = (candidate[picked[:, 0]].mean(axis=1) - baseline[picked[:, 1]].mean(axis=1)) * 100
        ends = np.percentile(boots, [2.5, 97.5])
        low.append(ends[0] / 100)
        high.append(ends[1] / 100)
    return np.array(low), np.array(high)
