"""The bootstrap of a ratio of sums on a grid, exactly: the joint distribution of both sums by one transform.

G draws of clusters with whole-number (difference sum, size) add up to a point (S, T) of the plane. Its
probabilities are the inverse transform of the G-th power of the transform of one draw, on a window that holds
all but 2e-16 of the mass; the ratio S / T is then read off point by point.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from service.kernels.exact.lattice import TINY_MASS, integer_grid

Floats = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)


def joint_ratios(sums: Floats, sizes: Floats, most: int) -> tuple[Floats, Floats, float] | None:
    """Return ratios ascending (m,), their probabilities (m,) and the error of any sum of them.

    None where sums or sizes (G,) lie on no lattice, or the window has more than `most` points. Memory: about
    60 bytes per point.
    """
    if _least_points(sums, sizes) > most:
        return None
    across, along = integer_grid(sums), integer_grid(sizes)
    if across is None or along is None:
        return None
    g, unit = len(sums), across[1] / along[1]
    # turned towards the estimate, the window is as narrow as the residuals
    slope = round(float(across[0].sum()) / float(along[0].sum()))
    first, second = _Axis(across[0] - slope * along[0]), _Axis(along[0])
    shape = (first.length, second.length)
    if math.prod(shape) > most:
        return None
    once = np.zeros(shape)
    np.add.at(once, (first.steps % shape[0], second.steps % shape[1]), 1 / g)
    joint = fft.irfft2(_power(fft.rfft2(once), g), shape)
    # by Parseval's equation: a relative error of each factor, G times
    noise = 4 * EPSILON * g * math.sqrt(float((joint * joint).sum()) / joint.size)
    total, size = first.values[:, None], second.values[None, :]
    row, column = np.nonzero((joint > noise) & (size > 0))
    ratios = (total[row, 0] / size[0, column] + slope) * unit
    order = np.argsort(ratios, kind="stable")
    return ratios[order], joint[row, column][order], 2 * TINY_MASS + noise * joint.size


def _least_points(sums: Floats, sizes: Floats) -> float:
    """About the least that a window has: as wide as in `_Axis`, in units as large as can be."""
    apart = sizes - sizes.mean()
    size = float(apart @ apart)
    slope = float(sums @ apart) / size if size else 0.0
    # by Bernstein's bound of `_Axis` without its term for the widest step: 2 sqrt(2 nats variance) from end to end
    nats, points = math.log(2 / TINY_MASS), 1.0
    for away, values in ((sums - slope * apart, np.abs(sums)), (apart, np.abs(sizes - sizes[0]))):
        away = away - away.mean()
        reach = min(math.sqrt(8 * nats * float(away @ away)), len(away) * float(np.ptp(away)))
        points *= max(reach / float(np.min(values, where=values > 0, initial=math.inf)), 1.0)
    return points


class _Axis:
    """Sums of G draws of whole numbers, on a window modulo its length."""

    def __init__(self, values: NDArray[np.int64]) -> None:
        g, least = len(values), int(values.min())
        step = int(np.gcd.reduce(values - least)) or 1
        self.steps = (values - least) // step
        centred = self.steps - self.steps.mean()
        # Bernstein: P(|S - mean| >= x) <= 2 exp(-x^2 / 2(variance + widest x / 3))
        nats, widest = math.log(2 / TINY_MASS), int(self.steps.max())
        reach = widest * nats / 3 + math.sqrt((widest * nats / 3) ** 2 + 2 * nats * float(centred @ centred))
        mean = float(self.steps.sum())
        low = max(math.floor(mean - reach), 0)
        high = min(math.ceil(mean + reach), g * widest)
        self.length = fft.next_fast_len(high - low + 1, real=True)
        self._values = (low, step, g * least)

    @property
    def values(self) -> Floats:
        """The sum at every place of the window."""
        low, step, origin = self._values
        place = low + (np.arange(self.length) - low) % self.length
        return np.asarray(origin + step * place, dtype=np.float64)


def _power(transform: NDArray[np.complex128], g: int) -> NDArray[np.complex128]:
    """Return the G-th power by squaring: numpy's own goes through logarithms."""
    product, square = np.ones_like(transform), transform
    while g:
        if g & 1:
            product *= square
        g >>= 1
        if g:
            square = square * square
    return product
