"""Whether a mean is normal enough for its interval: Cochran's rule, for every test that leans on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from service.stats.shared.declaring.common import StatWarning
from service.stats.shared.declaring.warnings import define

COCHRAN = 25
"""So many times the squared skewness a sample has to be large, for an error of 5 % to stay below 6 %."""
LEAST_PARTS = 10
"""The skewness of fewer is mostly noise; warnings of few runs, items or clusters speak there."""

SKEWED = define("SKEWED", "caution", "Cochran (1977), Sampling Techniques, 2.15")


def warn_if_skewed(
    parts: NDArray[np.float64], units: str, copies: NDArray[np.float64] | None = None
) -> tuple[StatWarning, ...]:
    """Warn with SKEWED when `units` are fewer than 25 times the squared skewness of what they add to the estimate.

    `parts` (n,) are deviations that sum to 0, each `copies` (n,) times where given; they have to vary.
    """
    n = len(parts) if copies is None else round(float(copies.sum()))
    size = float(np.abs(parts).max(initial=0.0))
    if n < LEAST_PARTS or size == 0:
        return ()
    scaled, weights = parts / size, np.ones(len(parts)) if copies is None else copies
    skewness = float(weights @ scaled**3) / float(weights @ scaled**2) ** 1.5 * n**0.5
    needed = COCHRAN * skewness**2
    if n >= needed:
        return ()
    return (SKEWED(n=n, units=units, skewness=skewness, needed=int(needed) + 1),)
