"""Pairs of arms told apart on the items that both have: whether they are with all that is missing against it.

Results are rarely missing by chance: a run that broke off, an answer that could not be read. Of two arms of which one
lacks more than a twentieth of the items, what their common items tell stands only where it stands in its worst case:
what the arm ahead lacks is the worst there can be, what the other lacks the best.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.randomization.max_t import MaxT
from service.kernels.randomization.partial_arms import PartialArms
from service.kernels.randomization.worst_gaps import lacking_shares, worst_cases
from service.stats.leaderboard.suites import ends_of
from service.stats.shared.methods.standings import Guard

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
MOST_LACKING = 0.05
"""Share of the items, or of a task's, that an arm of a pair may lack before the worst case has a say."""


def with_worst_cases(
    guard: Guard | None,
    raw: Floats,
    sign: int,
    units: PartialArms,
    joint: MaxT,
    alpha: float,
    codes: Codes | None,
    tasks: Codes | None,
    weights: Floats,
) -> Guard | None:
    """Return the guard with what is missing of outcomes (n, k) as sent, NaN where there is none.

    The worst case is weighed by the pair's own critical value, or Student's t's where that is more, so that one level
    holds over all pairs. Scores lie
    between 0 and 1 where all do, else between the least and the greatest seen, of a suite by task (`tasks` (n,)).
    """
    first, second = units.pairs
    gaps = np.nan_to_num(units.differences)
    own = np.zeros(len(raw), dtype=np.int64) if tasks is None else tasks
    missing = np.isnan(raw)
    lacking = lacking_shares(~missing, own)[first, second] > MOST_LACKING
    p_values = joint.adjusted if guard is None or guard.alone is None else guard.p
    weighed = (p_values < alpha) & lacking & (gaps != 0)
    if not weighed.any():
        return guard
    low, high, seen = ends_of(raw, own)
    least, most = (
        np.where(np.isnan(known), end, known) for known, end in zip((low, high), seen, strict=True)
    )
    worst, best = (least, most) if sign > 0 else (most, least)
    # in the units of the board, in which better is higher
    unit = sign / _size(raw)
    filled = [np.where(missing, ends[own][:, None], raw) * unit for ends in (worst, best)]
    groups = np.arange(len(raw)) if codes is None else codes
    means, errors = worst_cases(filled[0], filled[1], groups, own, weights)
    ahead, behind = np.where(gaps > 0, first, second), np.where(gaps > 0, second, first)
    # signs of few items have coarse critical values, which the filled ones do not share
    bars = np.maximum(joint.bars, special.stdtrit(max(int(groups.max()), 1), 1 - alpha / 2))
    ends = means[ahead, behind] - bars * errors[ahead, behind]
    open_ = weighed & ~(ends > 0)
    # its interval reaches from the gap that was seen to the end of the worst case, which is not above 0
    times = np.where(open_, 1 - ends / np.where(gaps == 0, 1.0, np.abs(gaps)), 0.0)
    p = np.where(open_, 1.0, 0.0)
    of_gaps = Guard.of_times(p, gaps, times, int(open_.sum()))
    if guard is None:
        return of_gaps
    return replace(
        guard,
        p=np.maximum(guard.p, p),
        low=np.fmin(guard.low, of_gaps.low),
        high=np.fmax(guard.high, of_gaps.high),
        by_gaps=int((open_ & (guard.p < alpha)).sum()),
    )


def _size(raw: Floats) -> float:
    """Return the unit of the board, as the request has it."""
    return float(np.nanmax(np.abs(raw))) or 1.0
