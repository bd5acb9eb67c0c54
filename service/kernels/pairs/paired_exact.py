"""Exact unconditional p-value of a one-sided test about a paired difference, for sparse tables.

Under H0 the candidate-only share is q + D and the baseline-only share q, with q unknown (the
nuisance). The p-value is the greatest probability, over q, of a table at least as extreme as
the observed one by Tango's score.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from service.kernels.numeric.binomial import log_choose
from service.kernels.pairs import tango

Floats = NDArray[np.float64]

SPARSE = 10
"""Discordant items below which the score test is not to be trusted alone."""

MOST_EXPECTED = 20_000
"""Expected discordant items beyond which the score is normal to three digits and q is not searched."""

SCORE_SLACK = 1e-9
"""Tables whose score is this close to the observed one tie with it: they count as extreme."""

TAIL_NATS = 45.0
"""Counts of discordant items beyond this many nats are left out: Chernoff's bound leaves e^-45, 3e-20."""

COARSE_GRID = 25
"""Points of the nuisance parameter at which a quick look is taken."""

INTERPOLATION_NATS = 21.0
"""The interpolant between the nodes is off by at most about exp(-21) = 1e-9."""
FINE = 128
"""Points of the interpolant per node: its peaks exceed them by at most 1 - cos(pi / 256) = 8e-5 of the greatest."""
MOST_PEAKS = 8
"""Peaks of the interpolant that are climbed, the highest first."""

ZOOM = np.linspace(-1, 1, 9)


@lru_cache(maxsize=4096)
def exact_p_below(
    only_candidate: int, only_baseline: int, n: int, difference: float, *, coarse: bool = False
) -> float:
    """Exact p of H0: true difference >= `difference`, against less; `difference` in (0, 1).

    With q = (1 - D) sin(u)^2 / 2 the probability is an entire function of u, and at a distance b from the
    real line at most (1 + 2 (1 - D) sinh(b)^2)^n, since the moduli of the three cells' shares add up to no
    more. So a Chebyshev interpolant of O(sqrt(n)) nodes has a known error, and the supremum over q
    cannot hide: above 1e-5 it is missed by less than 1e-4 of itself, by the theorem of Ehlich & Zeller
    (1964), Math Z 86:41; from there it is climbed to its last digits. What rounding may lose is added.
    `coarse`: a lower bound, from a few q, seldom more than a few percent short.

    Time: about 10 sqrt(min(n, 20,000)) sums of O(sqrt(min(n, 20,000))) terms.

    Source: Chan & Zhang (1999), Biometrics 55:1202 (the p-value); the least favourable
    difference is the boundary, since the score falls in the difference (Roehmel & Mansmann
    1999, Biom J 41:149).
    """
    observed = tango.score(only_candidate, only_baseline, n, difference)
    mass = _Mass(n, difference, observed + SCORE_SLACK * max(1.0, abs(observed)))
    reach = math.asin(math.sqrt(min(1.0, max(MOST_EXPECTED / n - difference, 0.0) / (1 - difference))))
    if coarse:
        best = max(mass.at(math.asin(x * math.sin(reach))) for x in np.linspace(0, 1, COARSE_GRID).tolist())
    else:
        best = _supremum(mass, reach)
    # relative: logarithms of factorials of size n log n, and a thousand roundings of what is summed
    rounding = 4e-16 * (1000 + n * math.log(n + 1))
    return min(best * (1 + rounding), 1.0)


def _supremum(mass: _Mass, reach: float) -> float:
    """Return the greatest mass for u in [0, reach]."""
    if reach == 0:
        return mass.at(0.0)
    degree = mass.degree(reach)
    nodes = reach * np.cos(math.pi / 2 / degree * np.arange(degree + 1))
    values = np.array([mass.at(u) for u in nodes.tolist()])
    top = int(np.argmax(values))
    spacing = reach * math.pi / 2 / degree
    best = float(values[top])
    if best > 0:
        best = max(best, _climb(mass, float(nodes[top]), spacing, reach))
    # even in u, so a polynomial in y = 2 (u / reach)^2 - 1 of half the degree
    series = fft.dct(values, type=1) / degree
    dense = np.zeros(FINE * degree + 1)
    dense[: degree + 1] = series
    dense[degree] /= 2
    dense = fft.dct(dense, type=1) / 2
    inner = np.r_[False, (dense[1:-1] >= dense[:-2]) & (dense[1:-1] >= dense[2:]), False]
    peaks = np.flatnonzero(inner & (dense > best * (1 - 1e-4)))
    for peak in peaks[np.argsort(-dense[peaks])][:MOST_PEAKS].tolist():
        u = reach * math.cos(math.pi / 2 / (FINE * degree) * peak)
        best = max(best, _climb(mass, u, spacing / FINE, reach))
    return best


def _climb(mass: _Mass, u: float, width: float, reach: float) -> float:
    """Return the greatest mass within `width` of u, by closer and closer looks."""
    best = 0.0
    for _ in range(4):
        tried = np.clip(u + width * ZOOM, 0.0, reach).tolist()
        values = [mass.at(share) for share in tried]
        top = int(np.argmax(values))
        best, u, width = max(best, values[top]), tried[top], width / 4
    return best


def exact_seconds(n: int, difference: float) -> float:
    """Rough cost of an exact p."""
    if n * difference < MOST_EXPECTED:
        return 0.02 + 5.5e-5 * min(n, MOST_EXPECTED)
    return 0.01 + 4e-5 * math.sqrt(n * difference)


class _Mass:
    """P(score <= cutoff) on the boundary of H0, as a function of u."""

    def __init__(self, n: int, difference: float, cutoff: float) -> None:
        self.n, self.difference = n, difference
        self.first, _ = self._window(difference)
        _, most = self._window(min(1.0, max(difference, MOST_EXPECTED / n)))
        every = np.arange(self.first, most + 1, dtype=np.float64)
        self.limit = most_wins(every, n, difference, cutoff)
        inside = np.flatnonzero(self.limit >= 0)
        self.last = self.first + int(inside[-1]) if len(inside) else -1
        self.log_choices = log_choose(every, np.asarray(n))

    def at(self, u: float) -> float:
        """Return the probability where a share difference + (1 - difference) sin(u)^2 of the items is discordant."""
        share = min(self.difference + (1 - self.difference) * math.sin(u) ** 2, 1.0)
        first, most = self._window(share)
        m = np.arange(first, min(most, self.last) + 1)
        limit = self.limit[m - self.first]
        m, limit = m[limit >= 0], limit[limit >= 0]
        if not len(m):
            return 0.0
        win_share = min((share + self.difference) / (2 * share), 1.0)
        log_weight = (
            self.log_choices[m - self.first] + special.xlogy(m, share) + special.xlog1py(self.n - m, -share)
        )
        return float(np.exp(log_weight) @ special.bdtr(limit, m, win_share))

    def degree(self, reach: float) -> int:
        """Half the degree in u of a Chebyshev interpolant on [-reach, reach] with the error promised."""
        # On the Bernstein ellipse through i b the function is at most M(b) = (1 + 2 (1 - D) sinh(b)^2)^n, and N nodes
        # err by 2 M exp(-N a) / (exp(a) - 1), a = arcsinh(b / reach): the b that needs the fewest nodes is looked for.
        height = np.geomspace(1e-3, 3, 200) * math.sqrt(INTERPOLATION_NATS / (2 * self.n))
        rate = np.arcsinh(height / reach)
        log_bound = self.n * np.log1p(2 * (1 - self.difference) * np.sinh(height) ** 2)
        wanted = (log_bound + INTERPOLATION_NATS + np.log(2 / np.expm1(rate))) / rate
        return math.ceil(float(wanted.min()) / 2) + 1

    def _window(self, share: float) -> tuple[int, int]:
        mean = self.n * share
        reach = TAIL_NATS + math.sqrt(2 * TAIL_NATS * mean)
        return max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), self.n)


def most_wins(m: Floats, n: int, difference: float, cutoff: float) -> Floats:
    """For each number of discordant items, the most candidate wins whose score is <= cutoff; -1 if none."""
    low, high = np.full(len(m), -1.0), m.copy()
    while True:
        open_ = high > low
        if not open_.any():
            return low
        middle = np.ceil((low + high) / 2)
        fits = tango.scores(middle, m - middle, n, difference) <= cutoff
        low = np.where(open_ & fits, middle, low)
        high = np.where(open_ & ~fits, middle - 1, high)
