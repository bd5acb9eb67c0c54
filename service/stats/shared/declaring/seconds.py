"""Roughly how long the bootstrap and the sign flips take, before anything is drawn."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from service.kernels.bootstrap.metric_bootstrap import REPEATED
from service.kernels.bootstrap.ratio_bootstrap import ENUMERATED_UP_TO
from service.kernels.exact.inversion import LARGEST_SHARE, LEAST_VALUES
from service.kernels.numeric.metrics import PairedSums
from service.kernels.randomization.sign_flip import ENUMERATED_UP_TO as FLIPS_ENUMERATED_UP_TO

Floats = NDArray[np.float64]

FEW_UNITS = 100
"""Whole numbers below this are convolved in no time."""
LOOK = 2_000
"""Values or items that a cost estimate looks at."""


def looks_smooth(values: Floats) -> bool:
    """Tell whether the law of a sum of such values can probably be inverted: many, few ties, none too large."""
    if len(values) < LEAST_VALUES:
        return False
    squares = (values - values.mean()) ** 2
    ties = int(np.unique(values, return_counts=True)[1].max())
    uneven = float(squares.max()) > max(0.1, 20 / len(values)) * float(squares.sum())
    return ties <= LARGEST_SHARE * len(values) and not uneven


def scores_seconds(look: Floats, n: int, draws: int, *, alike: bool = True) -> float:
    """Return the rough cost of the bootstrap of a mean or a ratio over n items or clusters, some looked at.

    `alike`: all of them have one size.
    """
    if n <= ENUMERATED_UP_TO:
        return 0.0015 + 2.5e-8 * math.exp2(2 * n)
    if alike and looks_smooth(look):
        return 0.03 + 2.5e-6 * n
    return 0.6 + n * (2e-6 + 2.5e-9 * draws)


def table_seconds(discordant: int) -> float:
    """Return the rough cost of the bootstrap of four counts: its window is as long as the sum's spread."""
    return 0.001 + 8e-6 * math.sqrt(discordant)


def flips_seconds(moves: Floats) -> float:
    """Return the rough cost of the sign-flip distribution of a sum (G,)."""
    n = len(moves)
    if n <= FLIPS_ENUMERATED_UP_TO:
        return 0.001 + 4e-7 * math.exp2(n / 2)
    look = moves[:LOOK]
    if np.array_equal(look, np.rint(look)) and float(np.abs(look).max()) < FEW_UNITS:
        return 0.005 + 2e-6 * n
    # tails too small for inversion, and values too uneven for it, are rounded to a long grid
    far = float(np.abs(moves.sum())) > 4.5 * float(np.sqrt(moves @ moves))
    return 0.8 + 8e-6 * n if far or not looks_smooth(look) else 0.05 + 1e-6 * n


def metric_seconds(units: PairedSums, draws: int, *, studentize: bool) -> float:
    """Return the rough cost of drawing the difference of a metric of sums."""
    width = units.metric.width
    cells = few_cells(units)
    if cells is not None:
        return 0.002 + draws * cells * (1.2e-7 if studentize else 9e-8) + 2e-7 * draws
    # beyond the cache every weight comes from memory
    unit_seconds = (1.2e-8 if studentize else 5e-9) + 1e-9 * width * (2 if units.n_units > 100_000 else 1)
    return 0.003 + draws * (5e-7 + unit_seconds * units.n_units)


def few_cells(units: PairedSums) -> int | None:
    """Return different units if they are few enough to be drawn by their counts, by the look of the first."""
    some = PairedSums(
        units.metric, units.baseline[:LOOK], units.candidate[:LOOK], np.ones(len(units.copies[:LOOK]))
    )
    cells = len(some.distinct.copies)
    return cells if cells * REPEATED <= units.n_units and cells * 4 <= max(len(some.copies), 16) else None
