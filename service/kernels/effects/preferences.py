"""Bradley-Terry strengths of arms from pairwise preferences, with Davidson's parameter for ties.

Arm i is preferred to j with chance w_i / D, neither with nu sqrt(w_i w_j) / D, D = w_i + w_j + nu sqrt(w_i w_j).
In log strengths l = ln w and ln nu this is a multinomial logit, whose likelihood is concave. Tables are (k, k):
`wins[i, j]` counts i preferred to j, `ties[i, j]` is symmetric with each tie counted once on either side.

Sources: Bradley & Terry (1952), Biometrika 39:324; Ford (1957), Am Math Mon 64:28 (when strengths are finite);
Davidson (1970), JASA 65:317 (ties); Kline & Santos (2012), J Econometric Methods 1:23 (signs on scores).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.float64]

POINTS = 400 / np.log(10)
"""Points of a unit of log strength: 400 of them are odds of ten to one."""
MOST_STEPS = 200
"""Of Newton's method with halved steps, beyond which the counts are too uneven."""
LARGEST = 700.0
"""The largest exponent: e to it is still a finite double, which ends at e^709.8."""
CONVERGED = 1e-12
"""Squared length of a step in standard errors after which the next one would be rounding."""


def groups(wins: Counts, ties: Counts) -> list[list[int]]:
    """Arms that are linked by wins in both directions, ties being both; the strengths are finite within one group."""
    reach = ((wins + ties) > 0) | np.eye(len(wins), dtype=bool)
    for middle in range(len(reach)):
        reach |= np.outer(reach[:, middle], reach[middle])
    both = reach & reach.T
    return [list(group) for group in sorted({tuple(np.flatnonzero(row).tolist()) for row in both})]


def group_linked(wins: Counts, ties: Counts) -> list[list[int]]:
    """Return arms that are linked by comparisons of any outcome."""
    return groups(wins + wins.T, ties)


def are_ties_bounded(wins: Counts, ties: Counts) -> bool:
    """Tell whether Davidson's parameter has a finite estimate with these strengths, given one group.

    It grows without limit just where strengths d exist with d_i - d_j >= 1 for every win and |d_i - d_j| <= 1 for
    every tie: a system of differences, without solution where a round of wins and ties has more wins than ties.
    Bellman-Ford; O(k^3).
    """
    if not ties.any():
        return True
    step = np.where(wins > 0, -1.0, np.where(ties > 0, 1.0, np.inf))
    least = np.zeros(len(wins))
    for _ in range(len(wins)):
        least = np.minimum(least, (least[:, None] + step).min(axis=0))
    return bool((least[:, None] + step < least).any())


@dataclass(frozen=True, eq=False)
class Strengths:
    """The fit: log strengths of mean 0 (k,), nu (0 without ties), and the information about both (k + 1, k + 1)."""

    logs: Floats
    nu: float
    information: Floats

    def chances(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
        """Return first preferred, second preferred, neither. Shape (P, 3)."""
        return _chances(self.logs, np.log(self.nu) if self.nu else -np.inf, first, second)

    def influence(
        self, first: NDArray[np.intp], second: NDArray[np.intp], outcome: NDArray[np.intp]
    ) -> Floats:
        """Return what one comparison of each kind moves the log strengths by, to first order. Shape (kinds, k).

        `outcome`: 0 where the first was preferred, 1 the second, 2 neither.
        """
        k, chance, rows = len(self.logs), self.chances(first, second), np.arange(len(first))
        lead = (chance[:, 0] - chance[:, 1]) / 2
        score = np.zeros((len(first), k + 1))
        pull = np.array([0.5, -0.5, 0.0])[outcome] - lead
        np.add.at(score, (rows, first), pull)
        np.add.at(score, (rows, second), -pull)
        score[:, k] = (outcome == 2) - chance[:, 2]
        free = slice(None) if self.nu else slice(k)
        influence = np.linalg.solve(_anchor(self.information)[free, free], score[:, free].T).T
        return np.asarray(influence[:, :k] - influence[:, :k].mean(axis=1, keepdims=True))


def fit(wins: Counts, ties: Counts) -> Strengths:
    """Maximize the likelihood by Newton's method with halved steps. Needs one group, and bounded ties.

    Raises:
        ArithmeticError: counts so uneven that the steps do not settle.
    """
    k = len(wins)
    first, second = np.triu_indices(k, 1)
    seen = np.stack([wins[first, second], wins[second, first], ties[first, second]])
    met = seen.sum(axis=0) > 0
    first, second, seen = first[met], second[met], seen[:, met]
    share = seen[2].sum() / seen.sum()
    log_nu = np.log(2 * share / (1 - share)) if share > 0 else -np.inf
    logs = np.zeros(k)
    free = slice(None) if share > 0 else slice(k)
    odds = _odds(logs, log_nu, first, second)
    reached = _likelihood(odds, seen)
    for _ in range(MOST_STEPS):
        score, information = _derivatives(k, odds, first, second, seen)
        step = np.zeros(k + 1)
        try:
            step[free] = np.linalg.solve(_anchor(information)[free, free], score[free])
        except np.linalg.LinAlgError as singular:
            raise ArithmeticError("the counts are too uneven for strengths to be computed") from singular
        length = 1.0
        while True:
            ahead = logs + length * step[:k], log_nu + length * step[k] if share > 0 else log_nu
            odds = _odds(*ahead, first, second)
            likelihood = _likelihood(odds, seen)
            if likelihood >= reached - 1e-12 * abs(reached) or length < 1e-9:
                break
            length /= 2
        logs, log_nu, reached = ahead[0] - ahead[0].mean(), ahead[1], likelihood
        if score @ step <= CONVERGED:
            break
    else:
        raise ArithmeticError("the counts are too uneven for strengths to be computed")
    _, information = _derivatives(k, odds, first, second, seen)
    return Strengths(logs, float(np.exp(log_nu)), information)


def _odds(logs: Floats, log_nu: float, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
    """Odds against the first preferred, the second preferred, and neither. Shape (3, P)."""
    half = (logs[first] - logs[second]) / 2
    others = np.stack([-2 * half, 2 * half, half - log_nu, log_nu - half, log_nu + half, -half - log_nu])
    rates = np.exp(np.minimum(others, LARGEST, out=others), out=others)
    return np.asarray(rates[:3] + rates[3:])


def _chances(logs: Floats, log_nu: float, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
    chance: Floats = 1 / (1 + _odds(logs, log_nu, first, second))
    if log_nu == -np.inf:
        chance[2] = 0.0
    return chance.T


def _likelihood(odds: Floats, seen: Counts) -> float:
    # by log1p: a chance near 1 keeps its digits, and a billion of them do not add up to noise
    return -float(np.vdot(seen, np.log1p(odds)))


def _derivatives(
    k: int, odds: Floats, first: NDArray[np.intp], second: NDArray[np.intp], seen: Counts
) -> tuple[Floats, Floats]:
    """Score (k + 1,) and information (k + 1, k + 1), log nu last. Every pair of arms is there once at most."""
    # log P(i over j) = l_i - log D and log P(tie) = log nu + (l_i + l_j) / 2 - log D, so that a pair's score for l_i is
    # half of (wins - losses) less half of what is expected of it, and the opposite for l_j.
    many, chance = seen.sum(axis=0), 1 / (1 + odds)
    lead = (chance[0] - chance[1]) / 2
    pull, pulled = (seen[0] - seen[1]) / 2 - many * lead, np.zeros((k, k))
    pulled[first, second] = pull
    score = np.zeros(k + 1)
    score[:k] = pulled.sum(axis=1) - pulled.sum(axis=0)
    score[k] = float((seen[2] - many * chance[2]).sum())
    information, shared = np.zeros((k + 1, k + 1)), np.zeros((k, k))
    shared[first, second] = many * ((chance[0] + chance[1]) / 4 - lead**2)
    shared += shared.T
    information[:k, :k] = np.diag(shared.sum(axis=1)) - shared
    pulled[first, second] = -many * lead * chance[2]
    information[:k, k] = information[k, :k] = pulled.sum(axis=1) - pulled.sum(axis=0)
    information[k, k] = float((many * chance[2] * (1 - chance[2])).sum())
    return score, information


def _anchor(information: Floats) -> Floats:
    """The information with the sum of the log strengths held at 0, which no comparison tells: it can be inverted."""
    k = len(information) - 1
    anchored = information.copy()
    anchored[:k, :k] += np.diagonal(information)[:k].mean() / k
    return anchored
