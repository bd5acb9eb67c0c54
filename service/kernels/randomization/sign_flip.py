"""The sign-flip distribution: S* = sum of +-x_i, every sign a fair coin, without drawing.

Exact by convolution when the values lie on a lattice (integers, scores on a grid), and by
enumeration up to 40 values; for more by the characteristic function, or by rounding to a grid with a
stated bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from service.kernels.exact import lattice
from service.kernels.exact.inversion import smooth_flips
from service.kernels.numeric.moments import binary_unit

Floats = NDArray[np.float64]

ENUMERATED_UP_TO = 40
"""Values whose patterns are counted in two halves of 2^20 sums."""

GRID = 2**18
"""Points over which values off any lattice are rounded."""

ROUNDING_RISK = 1e-12
"""Chance that the rounding of a random pattern exceeds Hoeffding's bound; it is added to the tails."""

RESOLVED = 1e-6
"""Tails below this are not left to inversion, whose error is absolute."""


@dataclass(frozen=True, slots=True)
class FlipTails:
    """Tails at the observed sum S, its whole atom included."""

    at_least: float
    at_most: float
    two_sided: float
    error: float
    route: Literal["convolution", "enumeration", "inversion", "grid"]


def sign_flip(values: Floats) -> FlipTails:
    """Return P(S* >= S), P(S* <= S) and P(|S*| >= |S|) for `values` (G,). `error` is absolute.

    On a lattice small tails keep their relative accuracy. Memory: 2^20 points at most in the
    enumerated and rounded routes, `lattice.MAX_POINTS` in the convolution.
    """
    values = values[values != 0]
    if len(values) == 0:
        return FlipTails(1.0, 1.0, 1.0, 0.0, "convolution")
    values = values / binary_unit(values)  # or the squares of small scores would underflow
    grid = lattice.integer_grid(values)
    if grid is not None:
        try:
            return _convolve(grid[0])
        except lattice.WindowTooLong:
            pass
    if len(values) <= ENUMERATED_UP_TO:
        return _enumerate(values)
    return _invert(values) or _round_to_grid(values)


def _convolve(multiples: NDArray[np.int64]) -> FlipTails:
    """Compute the tails of S* by convolving two-point distributions, one for each of these multiples (n,) of a step."""
    groups = lattice.sign_groups(multiples)
    near = lattice.distribution(groups)
    s = int(multiples.sum())
    far, rest = lattice.at_least(groups, near, abs(s)), lattice.at_most(groups, near, abs(s))
    if len(multiples) <= ENUMERATED_UP_TO:
        # patterns are counted in whole numbers: undo the transform's rounding
        patterns = 2.0 ** len(multiples)
        far, rest = round(far * patterns) / patterns, round(rest * patterns) / patterns
    two_sided = min(1.0, 2 * far) if s else 1.0
    return FlipTails(far if s >= 0 else rest, rest if s >= 0 else far, two_sided, near.error, "convolution")


def _enumerate(values: Floats) -> FlipTails:
    """Return all sign patterns: the halves' sums, one sorted, the other counted against it."""
    half = len(values) // 2
    left, right = every_signed_sum(values[:half]), np.sort(every_signed_sum(values[half:]))
    s = float(values.sum())
    slack = 1e-10 * float(np.abs(values).sum())
    above = len(right) - np.searchsorted(right, s - slack - left, side="left")
    below = np.searchsorted(right, s + slack - left, side="right")
    patterns = 2.0 ** len(values)
    at_least, at_most = float(above.sum()) / patterns, float(below.sum()) / patterns
    two_sided = min(1.0, 2 * (at_least if s >= 0 else at_most)) if abs(s) > slack else 1.0
    return FlipTails(at_least, at_most, two_sided, 0.0, "enumeration")


def sign_patterns(units: int, *, mirrored: bool = True) -> Floats:
    """Return all patterns of `units` signs, (2^units, units); not `mirrored`: those in which the last sign is +1."""
    # bit j of a pattern's number is the sign of unit j, and below 2^(units - 1) the last bit is 0
    numbers = np.arange(2 ** (units if mirrored else units - 1))
    return np.asarray(1.0 - 2.0 * (numbers[:, None] >> np.arange(units) & 1))


def every_signed_sum(values: Floats) -> Floats:
    """Return the sums of `values` (n,) under all 2^n patterns of signs, (2^n,), in an order of no meaning."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _invert(values: Floats) -> FlipTails | None:
    """The tails by the product of cosines; None where that is not exact, or for tails that it does not resolve."""
    smooth = smooth_flips(values)
    if smooth is None:
        return None
    total, spread = smooth
    s = float(values.sum())
    inside = total.at_most(abs(s) / spread)
    far = 1 - inside
    if far < RESOLVED:
        return None
    two_sided = min(1.0, 2 * far) if s else 1.0
    return FlipTails(
        far if s >= 0 else inside, inside if s >= 0 else far, two_sided, total.error, "inversion"
    )


def _round_to_grid(values: Floats) -> FlipTails:
    """Values rounded to a grid; Hoeffding bounds what that moves the sum by.

    The two-sided tail is taken at the bound's far side, so it errs upwards.
    """
    nats = math.log(2 / lattice.TINY_MASS)
    spread = math.sqrt(float(values @ values))
    widest = float(np.abs(values).max())
    reach = 2 * (2 * widest * nats / 3 + math.sqrt((2 * widest * nats / 3) ** 2 + 2 * nats * spread**2))
    # signed lattice sums move in steps of two units
    unit = reach / GRID
    cells = np.rint(values / unit).astype(np.int64)
    left = values - cells * unit
    slip = math.sqrt(2 * float(left @ left) * math.log(2 / ROUNDING_RISK))
    near = lattice.distribution(lattice.sign_groups(cells))
    s = float(values.sum())
    inner, outer = math.ceil((abs(s) - slip) / unit), math.ceil((abs(s) + slip) / unit)
    high = min(near.at_least(inner) + ROUNDING_RISK, 1.0)
    low = max(near.at_least(outer) - ROUNDING_RISK, 0.0)
    rest = min(1 - low, 1.0)
    error = (high - low) + near.error
    return FlipTails(high if s >= 0 else rest, rest if s >= 0 else high, min(1.0, 2 * high), error, "grid")
