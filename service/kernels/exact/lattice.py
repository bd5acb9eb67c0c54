"""Exact distribution of a sum of independent variables that live on the integers.

A `Group` is `count` independent copies of a variable with the given values and probabilities.
The probability function comes from the characteristic function by FFT on a window that holds
all but 1e-16 of the mass: O(sqrt n) points, so n = 1,000,000 costs a millisecond or two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.roots import rising_root

MAX_POINTS = 2**22
"""Longest window: 32 MB of float64."""

FEW_VALUES = 8
"""Up to this many values a characteristic function is summed term by term, above it by FFT."""

VANISHED = -50.0
"""A transform below exp(-50) adds nothing."""

MOST_MULTIPLES = 2**20
"""A unit that needs multiples above this is no lattice."""

FEW_TRIED = 4
"""Values whose common unit is looked for first."""

MANY_PLACES = 2**12
"""Places in the table of cosines that are looked up at a time."""

KEPT_POINTS = 2**14
"""Longest window whose cosines are kept for the next: 300 KB."""

TINY_MASS = 1e-16
"""Mass that a window may leave out, below what a double resolves of 1."""

QUANTILE_SLACK = 1e-12
"""How far a cumulated chance may fall short of a level and count as reaching it: more than rounding takes off."""

ACCURATE_ABOVE = 1e-6
"""Tails below this are computed again by tilting, to keep their relative accuracy."""


class WindowTooLong(ValueError):
    """The window would need too many points; use another method."""


@dataclass(frozen=True, eq=False)
class Group:
    """`count` independent copies of one integer variable; `values`, ascending, and `probabilities` (k,)."""

    values: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    count: int

    @cached_property
    def is_coin(self) -> bool:
        """Whether the variable has two values, equally likely."""
        return len(self.values) == 2 and float(self.probabilities[0]) == float(self.probabilities[1]) == 0.5

    @cached_property
    def width(self) -> int:
        """The distance from the least to the largest value."""
        return int(self.values[-1]) - int(self.values[0])

    @cached_property
    def mean(self) -> float:
        """Mean of one copy, in steps of the lattice."""
        return float(self.probabilities @ self.values)

    @cached_property
    def variance(self) -> float:
        """Variance of one copy, in squared steps of the lattice."""
        return float(self.probabilities @ (self.values - self.mean) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class _Coins:
    """`counts` (k,) independent copies each of variables that are 0 or `widths` (k,), equally likely."""

    widths: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def mean(self) -> float:
        return self.top / 2

    @property
    def variance(self) -> float:
        return float(self.counts @ self.widths.astype(np.float64) ** 2) / 4

    @property
    def top(self) -> int:
        return int(self.counts @ self.widths)


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """P(S = first + i * step) = pmf[i]. `error` bounds the absolute error of any sum of them."""

    first: int
    step: int
    pmf: NDArray[np.float64]
    cdf: NDArray[np.float64]
    error: float

    def quantile(self, q: float) -> int:
        """Return the smallest k with P(S <= k) >= q - 1e-12."""
        index = int(np.searchsorted(self.cdf, q - QUANTILE_SLACK))
        return self.first + self.step * min(index, len(self.cdf) - 1)

    def at_most(self, k: int) -> float:
        """Return P(S <= k), to absolute accuracy `error`."""
        index = (k - self.first) // self.step
        if index < 0:
            return 0.0
        return 1.0 if index >= len(self.cdf) else min(float(self.cdf[index]), 1.0)

    def at_least(self, k: int) -> float:
        """Return P(S >= k), to absolute accuracy `error`; summed from the far end."""
        index = max(-((self.first - k) // self.step), 0)
        return min(float(self.pmf[index:].sum()), 1.0)

    def standard_deviation(self) -> float:
        """Return the standard deviation of S, from its probabilities."""
        k = self.step * np.arange(len(self.pmf), dtype=np.float64)
        mean = float(self.pmf @ k)
        return math.sqrt(max(float(self.pmf @ (k - mean) ** 2), 0.0))


def trinomial(plus: int, minus: int, n: int) -> list[Group]:
    """n resampled items, each +1 with probability plus/n, -1 with minus/n, else 0."""
    weights = np.array([minus, n - plus - minus, plus], dtype=np.float64) / n
    return [_drop_impossible(np.array([-1, 0, 1]), weights, n)]


def resample_groups(values: NDArray[np.int64]) -> list[Group]:
    """n draws with replacement from the column `values` of shape (n,)."""
    distinct, counts = np.unique(values, return_counts=True)
    return [_drop_impossible(distinct, counts / len(values), len(values))]


def sign_groups(sums: NDArray[np.int64]) -> list[Group]:
    """Return each of `sums` (G,) with a random sign; zeros fall away."""
    sizes, counts = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    half = np.array([0.5, 0.5])
    pairs = np.stack([-sizes, sizes], axis=1)
    return [Group(pair, half, count) for pair, count in zip(pairs, counts.tolist(), strict=True)]


def distribution(groups: Sequence[Group], most: int = MAX_POINTS) -> Distribution:
    """Return the distribution of the sum of all groups.

    Memory: about 10 arrays of the window's length. Error: 1e-16 of mass outside the window
    (Bernstein's inequality), and rounding of at most 1e-15 sqrt(total count), or 1e-15 times the
    count where a group has more than `FEW_VALUES` values.

    Raises:
        WindowTooLong: the window would exceed `most` points.
    """
    step = _step(groups)
    origin = sum(group.count * int(group.values[0]) for group in groups)
    fair = [group for group in groups if group.is_coin]
    coins = _Coins(
        np.array([group.width // step for group in fair], dtype=np.int64),
        np.array([group.count for group in fair], dtype=np.int64),
    )
    others = [
        Group((group.values - group.values[0]) // step, group.probabilities, group.count)
        for group in groups
        if not group.is_coin
    ]
    start, length = _window(coins, others, most)
    pmf = _pmf(coins, others, start, length)
    few = all(len(group.values) <= FEW_VALUES for group in groups)
    total = sum(group.count for group in groups)
    error = TINY_MASS + 1e-15 * (math.sqrt(max(total, 1)) if few else total)
    return Distribution(origin + step * start, step, pmf, np.cumsum(pmf), error)


def log_at_least(groups: Sequence[Group], k: int) -> float:
    """Return the natural logarithm of P(S >= k) with relative accuracy, however small; -inf when impossible.

    The groups are tilted by exp(theta v) so that k becomes their mean (Esscher transform); the
    tilted distribution near k is computed by FFT and the tilt undone term by term.
    """
    top = sum(group.count * int(group.values[-1]) for group in groups)
    bottom = sum(group.count * int(group.values[0]) for group in groups)
    if k > top:
        return -math.inf
    step = _step(groups)
    k = top - (top - k) // step * step  # the smallest attainable value that counts
    if k <= bottom:
        return 0.0
    if k == top:
        return sum(group.count * math.log(group.probabilities[-1]) for group in groups)
    theta = _tilt_to(groups, k)
    if theta <= 0:
        return math.log(max(distribution(groups).at_least(k), 1e-300))
    tilted, log_mass = [], 0.0
    for group in groups:
        logits = np.log(group.probabilities) + theta * group.values
        peak = float(logits.max())
        weights = np.exp(logits - peak)
        norm = float(weights.sum())
        log_mass += group.count * (peak + math.log(norm))
        tilted.append(_drop_impossible(group.values, weights / norm, group.count))
    near = distribution(tilted)
    index = -((near.first - k) // near.step)
    terms = near.pmf[index:] * np.exp(-theta * near.step * np.arange(len(near.pmf) - index))
    return log_mass - theta * k + math.log(float(terms.sum()))


def log_at_most(groups: Sequence[Group], k: int) -> float:
    """Return the natural logarithm of P(S <= k), as `log_at_least`."""
    mirrored = [Group(-group.values[::-1], group.probabilities[::-1], group.count) for group in groups]
    return log_at_least(mirrored, -k)


def at_least(groups: Sequence[Group], near: Distribution, k: int) -> float:
    """Return P(S >= k): from `near`, the distribution of the same groups, or by tilting when small."""
    p = near.at_least(k)
    return p if p >= ACCURATE_ABOVE else _exp(log_at_least(groups, k))


def at_most(groups: Sequence[Group], near: Distribution, k: int) -> float:
    """Return P(S <= k): from `near`, the distribution of the same groups, or by tilting when small."""
    p = near.at_most(k)
    return p if p >= ACCURATE_ABOVE else _exp(log_at_most(groups, k))


def integer_grid(
    values: NDArray[np.float64], most: int = MOST_MULTIPLES
) -> tuple[NDArray[np.int64], float] | None:
    """Return the largest unit of which every value (n,) is a multiple: (multiples, unit), or None.

    Values count as multiples when they agree to 1e-9 of the unit; a unit that needs multiples
    above `most` is no lattice.
    """
    sizes = np.abs(values)
    largest = float(sizes.max(initial=0.0))
    if largest == 0:
        return np.zeros(len(values), dtype=np.int64), 1.0
    # a few values of continuous data show that they have no common unit
    if len(sizes) > FEW_TRIED and _common_unit(sorted(sizes[:FEW_TRIED].tolist()), largest, most) is None:
        return None
    unit = _common_unit(np.unique(sizes).tolist(), largest, most)
    if unit is None:
        return None
    unit = largest / round(largest / unit)
    multiples = np.rint(values / unit)
    if np.any(np.abs(values / unit - multiples) > 1e-9 * np.maximum(np.abs(multiples), 1)):
        return None
    return multiples.astype(np.int64), unit


def _common_unit(ascending: list[float], largest: float, most: int) -> float | None:
    """Euclid's algorithm, zeros left out; None where the unit falls below largest / most."""
    unit = next((size for size in ascending if size > 0), largest)
    if largest / unit > most:
        return None
    for size in ascending:
        rest = size
        while rest > 1e-9 * largest:
            unit, rest = rest, math.fmod(unit, rest)
            # a remainder a hair below the divisor is a multiple too
            if unit - rest < 1e-9 * largest:
                rest = 0.0
        if largest / unit > most:
            return None
    return unit


def _drop_impossible(values: NDArray[np.int64], probabilities: NDArray[np.float64], count: int) -> Group:
    keep = probabilities > 0
    return Group(values[keep], probabilities[keep], count)


def _exp(log_p: float) -> float:
    return math.exp(log_p) if log_p > -math.inf else 0.0


def _step(groups: Sequence[Group]) -> int:
    """Greatest common divisor of the values' distances within each group."""
    divisor = 0
    for group in groups:
        if len(group.values) == 2:
            divisor = math.gcd(divisor, group.width)
        else:
            divisor = math.gcd(divisor, *(group.values - group.values[0]).tolist())
    return divisor or 1


def _window(coins: _Coins, groups: Sequence[Group], most: int) -> tuple[int, int]:
    """First value and a power-of-two length that hold all but `TINY_MASS` of the sum."""
    mean = coins.mean + sum(group.count * group.mean for group in groups)
    variance = coins.variance + sum(group.count * group.variance for group in groups)
    top = coins.top + sum(group.count * int(group.values[-1]) for group in groups)
    widest = max(int(coins.widths.max(initial=0)), *(group.width for group in groups), 0)
    return window(mean, variance, widest, top, most)


def window(mean: float, variance: float, widest: int, top: int, most: int = MAX_POINTS) -> tuple[int, int]:
    """First value and a power-of-two length that hold all but `TINY_MASS` of a sum of independent whole numbers.

    The sum lies between 0 and `top`, and none of its terms has more than `widest` between its ends.

    Raises:
        WindowTooLong: it would exceed `most` points.
    """
    # Bernstein: P(|S - mean| >= x) <= 2 exp(-x^2 / 2(variance + widest x / 3))
    nats = math.log(2 / TINY_MASS)
    reach = widest * nats / 3 + math.sqrt((widest * nats / 3) ** 2 + 2 * variance * nats)
    low = max(math.floor(mean - reach), 0)
    high = min(math.ceil(mean + reach), top)
    length = 1 << max(high - low, 1).bit_length()
    if length > most:
        raise WindowTooLong(f"{length} points")
    return low, length


def _pmf(coins: _Coins, groups: Sequence[Group], start: int, length: int) -> NDArray[np.float64]:
    """P(S = start + i), i = 0 .. length - 1, by inverting the characteristic function."""
    frequency, log_size, phase = _of_coins(coins, length)
    mean = coins.mean
    for group in groups:
        t = frequency.astype(np.float64) * (2 * math.pi / length)
        log_once, phase_once, centre = _log_transform(group, t, frequency, length)
        log_size += group.count * log_once
        phase += group.count * phase_once
        mean += group.count * centre
        live = log_size > VANISHED
        # to copy what is left costs more than to carry a few frequencies on
        if live.mean() < 0.7:
            frequency, log_size, phase = frequency[live], log_size[live], phase[live]
    # the shift start - mean, its whole part reduced exactly modulo the window
    whole = round(mean) - start
    t = frequency.astype(np.float64) * (2 * math.pi / length)
    phase += (mean - round(mean)) * t + 2 * math.pi / length * (frequency * whole % length)
    spectrum = np.zeros(length // 2 + 1, dtype=np.complex128)
    spectrum[frequency] = np.exp(log_size - 1j * phase)
    return np.maximum(np.fft.irfft(spectrum, length), 0.0)


def _of_coins(
    coins: _Coins, length: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the frequencies at which the characteristic function has not vanished, its log size there and its
    phase centred at the mean.

    Cosines are read from a table, since every angle is on it.
    """
    frequency = np.arange(length // 2 + 1)
    log_size, turns = np.zeros(len(frequency)), np.zeros(len(frequency), dtype=np.uint8)
    if len(coins.counts) == 0:
        return frequency, log_size, np.zeros(len(frequency))
    table = _kept_cosines if length <= KEPT_POINTS else _cosines
    logs, negative = table(length)
    # the widest first: they leave few frequencies to the others, which are then taken together
    order = np.argsort(coins.counts * -(coins.widths.astype(np.float64) ** 2))
    widths, counts = coins.widths[order], coins.counts[order]
    while len(counts):
        several = max(1, MANY_PLACES // len(frequency))
        places = np.multiply.outer(widths[:several], frequency)
        places &= 2 * length - 1  # modulo: the length is a power of two
        log_size += counts[:several] @ logs[places]
        turns ^= np.bitwise_xor.reduce(negative[places[counts[:several] % 2 == 1]], axis=0)
        widths, counts = widths[several:], counts[several:]
        live = log_size > VANISHED
        frequency, log_size, turns = frequency[live], log_size[live], turns[live]
    return frequency, log_size, np.asarray(math.pi * turns, dtype=np.float64)


def _cosines(length: int) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """log |cos|, and 1 where cos is negative, at pi j / length for j below twice the length."""
    cosines = np.cos(np.arange(2 * length) * (math.pi / length))
    logs = np.log(np.maximum(np.abs(cosines), 1e-300))
    logs[length // 2] = logs[length + length // 2] = -np.inf  # cos(pi / 2) but for rounding
    return logs, (cosines < 0).view(np.uint8)


_kept_cosines = lru_cache(maxsize=8)(_cosines)


def _log_transform(
    group: Group, t: NDArray[np.float64], frequency: NDArray[np.int64], length: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Log size and phase of one copy's characteristic function, centred at the returned value."""
    with np.errstate(divide="ignore"):
        if len(group.values) > FEW_VALUES:
            once = np.bincount(group.values % length, weights=group.probabilities, minlength=length)
            transform = np.fft.rfft(once)[frequency]
            return np.log(np.abs(transform)), -np.angle(transform), 0.0
        # cos - 1 and sin of the centred variable: no cancellation where the transform matters
        below_one, odd = np.zeros(len(t)), np.zeros(len(t))
        for value, p in zip(group.values - group.mean, group.probabilities, strict=True):
            half = np.sin(0.5 * value * t)
            below_one -= 2 * p * half * half
            odd += p * np.sin(value * t)
        log_once = 0.5 * np.log1p(2 * below_one + below_one * below_one + odd * odd)
        return log_once, np.arctan2(odd, 1 + below_one), group.mean


def _tilt_to(groups: Sequence[Group], k: int) -> float:
    """Return the theta whose tilted mean is k."""

    def excess(theta: float) -> float:
        total = -float(k)
        for group in groups:
            logits = np.log(group.probabilities) + theta * group.values
            weights = np.exp(logits - logits.max())
            total += group.count * float(weights @ group.values) / float(weights.sum())
        return total

    if excess(0.0) >= 0:
        return 0.0
    high = 1e-3
    while excess(high) < 0:
        high *= 2
    return rising_root(excess, high / 2 if high > 1e-3 else 0.0, high, 1e-6 * high)
