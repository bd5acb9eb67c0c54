"""Paired binary outcomes by their cells (only_candidate b, only_baseline c) of n items: many cells at once.

What a rule makes of an outcome depends on the cell alone, so power is a sum over cells. These
are the tails that rules compare, for arrays of cells, and the search for where they cross a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Predicate = Callable[[Ints, Ints], NDArray[np.bool_]]
"""(row numbers, b) to truth."""

NATS = math.log(2e16)
"""A window leaves out 1e-16 of the mass."""

VANISHED = 40.0
"""A characteristic function below exp(-40) adds nothing."""

AT_ONCE = 400_000
"""Cells times frequencies held in memory at once."""


def share_at_most(k: Ints, only_candidate: Ints, only_baseline: Ints, n: int) -> Floats:
    """Return P(S* <= k) for arrays of equal shape (cells,): S* is the sum of n draws of +1, -1 and 0.

    The draws have the shares of the cell, so S*/n is the difference in a resample. Inverted at as many
    frequencies as the cell needs; absolute error about 1e-14 sqrt(n). Memory O(`AT_ONCE`).
    """
    b, c = only_candidate.astype(np.float64), only_baseline.astype(np.float64)
    share, delta = (b + c) / n, (b - c) / n
    variance = n * (share - delta * delta)
    # Bernstein's inequality, as in lattice.distribution; an odd length has no frequency of its own sign
    reach = np.ceil(2 * NATS / 3 + np.sqrt((2 * NATS / 3) ** 2 + 2 * variance * NATS))
    length = 2 * reach + 1
    start = np.round(b - c) - reach
    count = np.clip(k - start + 1, 0, length)
    # |phi|^n <= exp(-n (1 - cos t) share (1 - share)) where at most half of the items differ
    spread = n * share * (1 - share)
    with np.errstate(divide="ignore"):
        turn = np.where(share <= 0.5, np.minimum(VANISHED / spread, 2.0), 2.0)
    terms = np.minimum(np.ceil(np.arccos(1 - turn) * length / (2 * math.pi)), reach).astype(np.int64)
    shares = np.empty(len(b))
    order = np.argsort(terms)
    done = 0
    while done < len(order):
        left = terms[order[done:]]
        # as many cells as fit, all with the last one's number of frequencies
        fitting = int(np.searchsorted(left * np.arange(1, len(left) + 1), AT_ONCE, side="right"))
        rows = order[done : done + max(fitting, 1)]
        done += len(rows)
        frequency = np.arange(1, int(terms[rows[-1]]) + 1)
        own = frequency <= terms[rows, None]
        half = math.pi / length[rows, None] * np.where(own, frequency, 1)
        sine = np.sin(half)
        away = 2 * share[rows, None] * sine * sine
        odd = delta[rows, None] * (2 * sine * np.cos(half))
        with np.errstate(divide="ignore"):
            log_size = n * np.log(np.hypot(1 - away, odd))
        phase = n * np.arctan2(odd, 1 - away) - half * (2 * start + count - 1)[rows, None]
        kernel = np.sin(half * count[rows, None]) / sine
        total = np.where(own, np.exp(log_size) * np.cos(phase) * kernel, 0.0).sum(axis=1)
        shares[rows] = (count[rows] + 2 * total) / length[rows]
    return np.clip(shares, 0.0, 1.0)


def first_true(holds: Predicate, low: Ints, high: Ints, guess: Ints | None = None) -> Ints:
    """For every row the least b in [low, high] at which a condition that stays true holds; high + 1 if none.

    From `guess` the crossing is bracketed by steps that double, so a good guess costs a few looks.
    """
    below, above = low - 1, high + 1

    def look(rows: Ints, b: Ints) -> NDArray[np.bool_]:
        truth = holds(rows, b)
        above[rows] = np.where(truth, b, above[rows])
        below[rows] = np.where(truth, below[rows], b)
        return truth

    if guess is not None:
        rows = np.flatnonzero(above - below > 1)
        down = look(rows, np.clip(guess, low, high)[rows])
        step = 2
        while len(rows):
            probe = np.where(down, above[rows] - step, below[rows] + step)
            inside = (probe > below[rows]) & (probe < above[rows])
            rows, down = rows[inside], down[inside]
            same = look(rows, probe[inside]) == down
            rows, down, step = rows[same], down[same], 2 * step
    while True:
        rows = np.flatnonzero(above - below > 1)
        if not len(rows):
            return above
        look(rows, (below[rows] + above[rows]) // 2)
