"""Many data sets of a judge's scores with people's labels of some items, and prediction-powered differences of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class LabelledSets(NamedTuple):
    """T data sets of independent items: moments of differences, candidate minus baseline, (T,) each."""

    n: int
    """Labelled items of every data set."""
    many: int
    """The others."""
    people: Floats
    """Mean of people's differences, on the labelled items."""
    judge: Floats
    """Mean of the judge's, on the same."""
    unlabelled: Floats
    """Mean of the judge's on the others."""
    of_people: Floats
    """Variance, divisor n - 1."""
    of_judge: Floats
    both: Floats
    """Covariance of people's and the judge's on the labelled items, divisor n - 1."""
    of_unlabelled: Floats
    """Variance, divisor many - 1."""


class PoweredSets(NamedTuple):
    """Estimate, standard error and degrees of freedom of every data set, (T,) each."""

    estimate: Floats
    se: Floats
    df: Floats
    weight: Floats
    """Of the judge."""


def powered_sets(sets: LabelledSets, weight: float | None) -> PoweredSets:
    """What `effects.prediction_powered.estimate_powered` gives of each data set; None tunes the judge's weight in each.

    Source: Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453 (PPI++).
    """
    spread = sets.of_judge / sets.n + sets.of_unlabelled / sets.many
    tuned = np.clip(sets.both / sets.n / np.where(spread > 0, spread, 1.0), 0.0, 1.0)
    used = np.where(spread > 0, tuned, 0.0) if weight is None else np.full(len(spread), weight)
    # var(people - weight judge) from its parts; rounding must not take it below 0
    rest = np.maximum(sets.of_people - 2 * used * sets.both + used**2 * sets.of_judge, 0.0)
    rest = np.where(rest <= 1e-12 * (sets.of_people + used**2 * sets.of_judge), 0.0, rest)
    one, other = rest / sets.n, used**2 * sets.of_unlabelled / sets.many
    variance = one + other
    below = one**2 / (sets.n - 1) + other**2 / (sets.many - 1)
    df = np.where(below > 0, variance**2 / np.where(below > 0, below, 1.0), sets.n - 1.0)
    estimate = sets.people + used * (sets.unlabelled - sets.judge)
    return PoweredSets(estimate, np.sqrt(variance), df, used)


def powered_interval(sets: PoweredSets, level: float) -> tuple[Floats, Floats]:
    """t interval of every data set; NaN where nothing varies."""
    half = np.where(sets.se > 0, special.stdtrit(sets.df, 0.5 + level / 2) * sets.se, np.nan)
    return sets.estimate - half, sets.estimate + half


def powered_p(sets: PoweredSets) -> Floats:
    """Return the two-sided p of no difference; NaN where nothing varies."""
    t = sets.estimate / np.where(sets.se > 0, sets.se, 1.0)
    return np.where(sets.se > 0, 2 * special.stdtr(sets.df, -np.abs(t)), np.nan)


def draw_answers(
    generator: np.random.Generator, n_sets: int, labelled: int, others: int, mean: float, agreement: float
) -> LabelledSets:
    """One arm's answers, of which people call this share right, and a judge who agrees that often with either."""
    joint = np.outer([mean, 1 - mean], [agreement, 1 - agreement])
    joint[1] = joint[1, ::-1]  # by people, then by the judge: right first
    counts = generator.multinomial(labelled, joint.reshape(-1), size=n_sets).reshape(n_sets, 2, 2)
    rest = generator.binomial(others, joint[:, 0].sum(), size=n_sets) / others
    people, judge = counts[:, 0].sum(axis=1) / labelled, counts[:, :, 0].sum(axis=1) / labelled
    more = labelled / (labelled - 1)
    return LabelledSets(
        labelled,
        others,
        people,
        judge,
        rest,
        people * (1 - people) * more,
        judge * (1 - judge) * more,
        (counts[:, 0, 0] / labelled - people * judge) * more,
        rest * (1 - rest) * others / (others - 1),
    )


def judge_chances(agreement: float) -> Floats:
    """Chances of the judge's difference (1, -1, 0) given people's (1, -1, 0), (3, 3).

    On every answer it says what they say with this chance, whatever else it says.
    """
    right, wrong = agreement**2, (1 - agreement) ** 2
    one = agreement * (1 - agreement)
    return np.array([[right, wrong, 2 * one], [wrong, right, 2 * one], [one, one, right + wrong]])


def draw_signs(
    generator: np.random.Generator,
    n_sets: int,
    labelled: int,
    others: int,
    shares: tuple[float, float, float],
    agreement: float,
) -> tuple[LabelledSets, Ints, Ints]:
    """Right/wrong items by people's `shares` of items won, lost and tied, and a judge who agrees that often.

    Returns the moments, and the items that the judge gives to the candidate and to the baseline, (T, 1) each.
    """
    judged = judge_chances(agreement)
    joint = np.asarray(shares)[:, None] * judged
    counts = generator.multinomial(labelled, joint.reshape(-1), size=n_sets).reshape(n_sets, 3, 3)
    rest = generator.multinomial(others, joint.sum(axis=0), size=n_sets)
    people, judge = counts.sum(axis=2), counts.sum(axis=1)
    both = counts[:, 0, 0] + counts[:, 1, 1] - counts[:, 0, 1] - counts[:, 1, 0]
    mean_y, var_y = _of_signs(people, labelled)
    mean_f, var_f = _of_signs(judge, labelled)
    mean_u, var_u = _of_signs(rest, others)
    cov = (both - labelled * mean_y * mean_f) / (labelled - 1)
    sets = LabelledSets(labelled, others, mean_y, mean_f, mean_u, var_y, var_f, cov, var_u)
    return sets, (judge[:, :1] + rest[:, :1]), (judge[:, 1:2] + rest[:, 1:2])


def _of_signs(counts: Ints, n: int) -> tuple[Floats, Floats]:
    """Mean and variance of n values of 1, -1 and 0, from how many there are of each."""
    mean = (counts[:, 0] - counts[:, 1]) / n
    return mean, (counts[:, 0] + counts[:, 1] - n * mean**2) / (n - 1)


def of_scores(people: Floats, judge: Floats) -> LabelledSets:
    """Return moments of people's differences (T, n) of the first n items and the judge's (T, N) of all."""
    labelled = people.shape[1]
    seen, rest = judge[:, :labelled], judge[:, labelled:]
    y, f = (column - column.mean(axis=1, keepdims=True) for column in (people, seen))
    return LabelledSets(
        labelled,
        rest.shape[1],
        people.mean(axis=1),
        seen.mean(axis=1),
        rest.mean(axis=1),
        people.var(axis=1, ddof=1),
        seen.var(axis=1, ddof=1),
        (y * f).sum(axis=1) / (labelled - 1),
        rest.var(axis=1, ddof=1),
    )
