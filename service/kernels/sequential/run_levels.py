"""Levels of successive runs that may swing as a whole: whether they are lower since some run.

A run's level is the system's, plus a swing of the whole run, plus the noise of its items, whose variance is read from
the spread over items or clusters of that very run. Swings are normal, with any standard deviation up to a twentieth of
the values' range (or the noise's), the same in all runs, and each keeps a share of the one before, at most one half.
Nothing is known of the system's own level, so only differences between runs count: likelihoods are integrated over it
(the right Haar measure of shifts).

For every start of a drop, a mixture over swings and sizes of the drop is a probability density q of the runs. Over the
largest likelihood without a drop, of any swings, it is at most its ratio to the true one, a martingale of mean one
(universal inference: Wasserman, Ramdas & Balakrishnan 2020, PNAS 117:16880). The sum of these ratios over the starts up
to run t thus has a mean of at most t wherever it is stopped by then, reaches 2 N by run t with a chance of at most
t / (2 N), and takes N runs or more on average to do so: half the sum is what is compared with N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.sequential.run_changes import Evidence

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SWINGS = np.array([*(0.4 * 1.3 ** np.arange(14)), 16.0, 25.0, 40.0])
"""Standard deviations of swings that are tried, in those of the first runs' noise; and none."""
LARGEST_SWING = 0.05
"""Of a standard deviation, as a share of the range of the first run's values; that of the noise where it is larger."""
KEPT = (0.0, 0.25, 0.5)
"""Shares of a swing that the next run keeps."""
MORE_KEPT = (0.7, 0.9, 0.97)
"""Such as no evidence allows for: a drop looks just like them."""
DROPS = np.array([1.0, 4.0])
"""Half-normal scales of the size of a drop, in standard deviations of the first runs' noise."""
STEADY = 0.5
"""Weight of no swings at all in the mixture; all others share the rest."""
WINDOW = 60
"""Starts of a drop that are followed, the newest ones."""
MOST_FORETOLD = 40
"""Runs to come that are looked at."""
LEAST_REACH, LARGEST_MARGIN = 1e-9, 4.0
"""In the largest value: smaller ranges are that of rounding, and no two levels are farther apart."""
NEGLIGIBLE = 15.0
"""Logarithm: swings that explain the runs so much worse, whatever the start, add nothing to the mixture."""


class Levels(NamedTuple):
    """Of runs in their order (T,): levels on one scale, and the variances of their noise; NaN for no item."""

    level: Floats
    variance: Floats
    reach: float
    """Range of the first run's values; their size where it has none."""
    unit: float = 1.0
    """What these numbers are in: the largest value there is, so that no square leaves the floats."""


def levels_of(values: Floats, codes: Ints | None) -> Levels:
    """Return levels of runs `values` (T, n), NaN is no value: by each run's differences from what its items had before.

    What an item had is its mean over past runs, each less its level: without gaps levels are the runs' means less the
    first one's. The variance is that of a sum over independent items or clusters (`codes` (n,)); what past means add to
    the spread is taken off. It is never below that of a number rounded to a step as wide as one block's share of the
    first run's range.

    >>> levels_of(np.array([[0.0, 1, 1, 1], [1, 1, 1, 1], [0, 1, 0, 1]]), None).level
    array([ 0.  ,  0.25, -0.25])
    """
    there = ~np.isnan(values)
    unit = float(np.abs(values[there]).max(initial=0.0)) or 1.0
    filled = np.where(there, values / unit, 0.0)
    counts, sums = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    level, variance = np.full(len(values), np.nan), np.full(len(values), np.nan)
    reach, least = 1.0, math.nan
    for run, row in enumerate(there):
        both = row & (counts > 0)
        n = int(both.sum())
        known = np.flatnonzero(~np.isnan(level[:run]))
        if len(known) and n:
            difference = np.where(both, filled[run] - sums / np.maximum(counts, 1), 0.0)
            mean = float(difference.sum()) / n
            level[run] = mean
            spread = _variance_of_sum(np.where(both, difference - mean, 0.0), both, codes) / n**2
            _add_variance(variance, known, run, spread, least)
        elif len(known) == 0 and row.any():
            level[run] = 0.0
            reach = max(float(np.ptp(filled[run, row])) or float(np.abs(filled[run, row]).max()), LEAST_REACH)
            blocks = len(np.unique(codes[row])) if codes is not None else int(row.sum())
            least = (reach / blocks) ** 2 / 12
        if not math.isnan(level[run]):
            counts += row
            sums += np.where(row, filled[run] - level[run], 0.0)
    return Levels(level, np.where(np.isnan(level), np.nan, np.fmax(variance, least)), reach, unit)


def _variance_of_sum(rest: Floats, both: NDArray[np.bool_], codes: Ints | None) -> float:
    blocks = int(both.sum())
    if codes is not None:
        blocks = int((np.bincount(codes, both) > 0).sum())
        rest = np.bincount(codes, rest).astype(np.float64)
    return float(rest @ rest) * blocks / (blocks - 1) if blocks > 1 else 0.0


def _add_variance(variance: Floats, known: Ints, run: int, spread: float, least: float) -> None:
    """A run's own, without that of the mean of the runs before, of which the first takes the second's."""
    if len(known) == 1:
        variance[known[0]] = variance[run] = max(spread / 2, least)
    else:
        of_mean = float(variance[known].sum()) / len(known) ** 2
        variance[run] = max(spread - of_mean, spread / 2, least)


def follow(levels: Levels, first: int, margin: float = 0.0) -> tuple[Evidence, Watcher]:
    """Logarithms of evidence for a drop of more than `margin` after every run from number `first` on.

    `change` is half the sum over starts, `series` a mixture of them as `weigh` has it: its mean is at most 1 at any
    time while nothing changes. A run without a level leaves what there was. Beside them where the watcher stands after
    the last run.
    """
    accepted = min(margin / levels.unit, LARGEST_MARGIN)
    watcher = Watcher(_scale(levels.variance, first), levels.reach, accepted)
    told = [
        watcher.add(level, variance, watched=run >= first)
        for run, (level, variance) in enumerate(zip(levels.level, levels.variance, strict=True))
    ][first:]
    change, series = np.array(told).reshape(-1, 2).T
    return Evidence(change, series), watcher


def count_runs_until_shown(watcher: Watcher, levels: Levels, drop: float, every: float) -> int | None:
    """After how many more runs, all of them `drop` below the mean of those so far, evidence of levels reaches `every`.

    Their noise has the mean variance of those so far; the median of a few draws, always the same. None: after more
    than `MOST_FORETOLD`.
    """
    there = ~np.isnan(levels.level)
    level = float(levels.level[there].mean()) - min(drop / levels.unit, LARGEST_MARGIN)
    variance = float(levels.variance[there].mean())
    drawn = level + math.sqrt(variance) * noise_to_come()
    runs = sorted(_until(deepcopy(watcher), to_come, variance, every) for to_come in drawn)
    middle = runs[len(runs) // 2]
    return None if math.isinf(middle) else int(middle)


@cache
def noise_to_come() -> Floats:
    """Noise of runs to come in its standard deviations, a few draws that are always the same: (5, MOST_FORETOLD)."""
    return np.random.default_rng(28).normal(size=(5, MOST_FORETOLD))


def _until(ahead: Watcher, levels: Floats, variance: float, every: float) -> float:
    for run, level in enumerate(levels, 1):
        if ahead.add(float(level), variance, watched=True)[0] >= math.log(every):
            return run
    return math.inf


class Swing(NamedTuple):
    """What explains runs best without a drop."""

    deviation: float
    """Of the whole runs, in the levels' unit."""
    kept: float
    """Share that the next run keeps."""
    gain: float
    """Logarithm of its likelihood over that of the best that evidence allows for."""


def likeliest_swing(levels: Levels) -> Swing:
    """Return the swings, larger and longer ones too, that explain the runs best."""
    scale = _scale(levels.variance, len(levels.variance))
    watcher = Watcher(scale, math.inf, 0.0, (*KEPT, *MORE_KEPT))
    for level, variance in zip(levels.level, levels.variance, strict=True):
        watcher.add(level, variance, watched=False)
    fits = watcher.likelihoods()
    best = int(np.argmax(fits))
    small = watcher.swing * scale <= max(LARGEST_SWING * levels.reach, scale)
    covered = fits[small & (watcher.kept <= max(KEPT))].max()
    return Swing(
        float(watcher.swing[best] * scale * levels.unit),
        float(watcher.kept[best]),
        float(max(fits[best] - covered, 0.0)),
    )


def _scale(variance: Floats, first: int) -> float:
    """Standard deviation of the first runs' noise; 1 where no run has any."""
    there = variance[: max(first, 1) + 1]
    there = there[~np.isnan(there)]
    return math.sqrt(float(there.mean())) if len(there) and there.mean() > 0 else 1.0


class Watcher:
    """A Kalman filter of a run's swing for every size and share of swings, (S,), with every followed start, (S, W).

    Generalised least squares of the system's level and of a drop since each start: sums of squares and products of what
    the filter leaves of the runs (y), of a constant (u) and of steps (w).
    """

    def __init__(self, scale: float, reach: float, margin: float, kept: Sequence[float] = KEPT) -> None:
        self.scale, self.margin = scale, margin / scale
        largest = max(LARGEST_SWING * reach / scale, 1.0)
        swings = np.append(SWINGS[largest > SWINGS], largest) if math.isfinite(largest) else SWINGS
        self.swing = np.concatenate([[0.0], np.tile(swings, len(kept))])
        self.kept = np.concatenate([[0.0], np.repeat(np.array(kept), len(swings))])
        rest = len(self.swing) - 1
        self.prior = np.log(np.concatenate([[STEADY], np.full(rest, (1 - STEADY) / rest)]))
        self.n = self.starts = 0
        none = np.zeros(len(self.swing))
        self.ahead = self.swing**2
        self.of_run, self.of_constant = none, none
        self.uu, self.uy, self.yy, self.logs = none, none, none, none
        self.of_step, self.ww, self.wu, self.wy = (np.zeros((len(none), 0)) for _ in range(4))
        self.told = (-math.inf, 0.0)

    def add(self, level: float, variance: float, *, watched: bool) -> tuple[float, float]:
        """Logarithms of both evidences once the next run is in, at which a drop may begin where it is `watched`."""
        if math.isnan(level):
            return self.told
        deviation = self._filter(level / self.scale, variance / self.scale**2)
        if watched:
            self._follow(deviation)
            self.told = self._weigh()
        return self.told

    def _filter(self, level: float, variance: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Take one level into the filter, and return its predicted standard deviation, the gain, u and y, (S,) each."""
        total = self.ahead + variance
        gain, deviation = self.ahead / total, np.sqrt(total)
        y, u = level - self.of_run, 1 - self.of_constant
        self.of_run = self.kept * (self.of_run + gain * y)
        self.of_constant = self.kept * (self.of_constant + gain * u)
        self.ahead = self.kept**2 * (1 - gain) * self.ahead + (1 - self.kept**2) * self.swing**2
        y, u = y / deviation, u / deviation
        self.uu, self.uy, self.yy = self.uu + u * u, self.uy + u * y, self.yy + y * y
        self.logs = self.logs - np.log(deviation)
        self.n += 1
        return deviation, gain, u, y

    def _follow(self, filtered: tuple[Floats, Floats, Floats, Floats]) -> None:
        """Take the same level into the sums of every followed start.

        It is a start itself, and the oldest beyond `WINDOW` goes.
        """
        deviation, gain, u, y = (one[:, None] for one in filtered)
        self.starts += 1
        oldest = max(self.of_step.shape[1] + 1 - WINDOW, 0)
        self.of_step, self.ww, self.wu, self.wy = (
            np.concatenate([sums[:, oldest:], np.zeros((len(sums), 1))], axis=1)
            for sums in (self.of_step, self.ww, self.wu, self.wy)
        )
        w = 1 - self.of_step
        self.of_step = self.kept[:, None] * (self.of_step + gain * w)
        w = w / deviation
        self.ww, self.wu, self.wy = self.ww + w * w, self.wu + w * u, self.wy + w * y

    def likelihoods(self) -> Floats:
        """Logarithms of the runs' likelihood without a drop, by swing (S,)."""
        return np.asarray(self.logs - 0.5 * np.log(self.uu) - 0.5 * (self.yy - self.uy**2 / self.uu))

    def _weigh(self) -> tuple[float, float]:
        """Compute the log e-values of a drop: against the best fit without one, and over all starts to come."""
        fits, margin = self.likelihoods(), self.margin
        information = self.ww - self.wu**2 / self.uu[:, None]
        slope = self.wy - self.wu * (self.uy / self.uu)[:, None]
        none = float(fits.max())
        if margin > 0:
            # drops up to the margin are no drop, whenever they began
            size = np.clip(-slope / np.maximum(information, 1e-300), 0.0, margin)
            none = max(none, float((fits[:, None] - slope * size - information * size**2 / 2).max()))
        reach = fits + (np.minimum(slope, 0.0) ** 2 / (2 * np.maximum(information, 1e-300))).max(axis=1)
        tried = reach >= reach.max() - NEGLIGIBLE
        d, beyond = information[tried], -slope[tried] - information[tried] * margin
        at_margin = (fits + self.prior)[tried, None] - slope[tried] * margin - d * margin**2 / 2
        dropped = _sum_logs(np.array([_gain(d, beyond, size) for size in DROPS])) - math.log(len(DROPS))
        by_start = _sum_logs(at_margin + dropped)
        begun = np.arange(self.starts - len(by_start), self.starts) + 1.0
        yet_to_come = float(_sum_logs(fits + self.prior)) - math.log(self.starts + 1)
        stakes = float(_sum_logs(by_start - np.log(begun * (begun + 1))))
        return (
            float(_sum_logs(by_start)) - none - math.log(2),
            float(np.logaddexp(stakes, yet_to_come)) - none,
        )


def _sum_logs(logs: Floats) -> Floats:
    """ln of the sum of exp over the first axis; none of them is without a finite one.

    scipy's `logsumexp` takes seven times as long on arrays as small as these, of which every run asks five.
    """
    largest = logs.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)))


def _gain(information: Floats, slope: Floats, size: float) -> Floats:
    """ln of the mean of exp(slope x - information x^2 / 2) over half-normal x of scale `size`."""
    precision = information + size**-2
    z = slope / np.sqrt(precision)
    return np.asarray(z * z / 2 - np.log(size * size * precision) / 2 + special.log_ndtr(z) + math.log(2))
