"""Prediction-powered means: few labels by people, many scores by a judge, together unbiased whatever the judge does.

Student's t of a share errs too often near its ends: of rare failures the estimate and its error go together. Each half
of the interval is longer by (2 t^2 + 1) / 6 of what one label can move, which the greatest skewness of labels in a
range asks of a studentized mean (Johnson 1978, J Am Stat Assoc 73:536; Hall 1992, J R Stat Soc B 54:221); degrees of
freedom are twice the number of labels of the rarer kind at most, since that number is chance too. Where people's labels
are all alike the judge has nothing to add, and Clopper and Pearson's limits of the labels are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.clusters import largest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Powered(NamedTuple):
    """Estimate, its variance and degrees of freedom, and the weight of the judge that gave it."""

    estimate: float
    variance: float
    df: float
    weight: float


def estimate_powered(
    people: Floats,
    judge: Floats,
    unlabelled: Floats,
    weight: float | None,
    clusters: tuple[Ints, Ints] | None = None,
    *,
    noise: float = 0.0,
) -> Powered:
    """Return mean(people) + weight (mean(unlabelled) - mean(judge)), labels (n,), (n,) and (N,); None tunes the weight.

    The tuned weight has the least estimated variance among those from 0 to 1. Without clusters the variance is that of
    two independent means (Welch's degrees of freedom); `clusters` number those of labelled and unlabelled items, and
    what every cluster adds is summed (CR1 over clusters with labels). `noise`: what rounding can make of a value.
    Values should be about 1 in size, or squares leave the floats.

    Source: Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453 (PPI++).
    """
    n, many = len(people), len(unlabelled)
    y, f, u = (column - column.mean() for column in (people, judge, unlabelled))
    if clusters is None:
        # The variance of the estimate is a quadratic in the weight: least at cross / spread.
        cross = float(y @ f) / (n - 1) / n
        spread = float(f @ f) / (n - 1) / n + float(u @ u) / (many - 1) / many
    else:
        # what a cluster adds to the estimate is linear in the weight, so that the sum of squares is a quadratic again
        g = int(max(cluster.max() for cluster in clusters)) + 1
        of_people = np.bincount(clusters[0], weights=y, minlength=g) / n
        of_judge = np.bincount(clusters[0], weights=f, minlength=g) / n
        of_judge -= np.bincount(clusters[1], weights=u, minlength=g) / many
        cross, spread = float(of_people @ of_judge), float(of_judge @ of_judge)
    if weight is None:
        # beyond 0 to 1 the estimate would lean on chance agreement of few labels
        weight = min(max(cross / spread, 0.0), 1.0) if spread > 0 else 0.0
    estimate = float(people.mean() + weight * (unlabelled.mean() - judge.mean()))
    if clusters is not None:
        # CR1 by clusters with labels alone: the others tell of the judge, and cannot be more sure than the labels
        labelled = len(np.unique(clusters[0]))
        left = of_people - weight * of_judge
        return Powered(estimate, labelled / (labelled - 1) * float(left @ left), labelled - 1, weight)
    rest = y - weight * f
    # a judge that is right everywhere leaves differences of rounding, which would pass for a variance
    rest[np.abs(rest) <= 1e-14 * (largest(people) + largest(judge))] = 0.0
    if np.all(np.abs(rest) <= noise):
        rest[:] = 0.0
    one = float(rest @ rest) / (n - 1) / n
    other = weight**2 * float(u @ u) / (many - 1) / many
    variance = one + other
    df = variance**2 / (one**2 / (n - 1) + other**2 / (many - 1)) if variance > 0 else float(n - 1)
    return Powered(estimate, variance, df, weight)


def share_ends(
    estimate: Floats, se: Floats, df: Floats, weight: Floats, right: Floats, n: int, tail: float
) -> tuple[Floats, Floats]:
    """Return both ends of the interval of a share in T data sets, each of which errs with the chance `tail`, (T,) each.

    `right`: how many of n labels are 1; the judge's scores lie between 0 and 1. See the module for what is done.
    """
    rarer = np.minimum(right, n - right)
    t = special.stdtrit(np.maximum(np.minimum(df, 2 * rarer), 1.0), 1 - tail)
    # one label moves the estimate by (1 + weight) / n at most: its own, and the judge's of it under the weight
    half = t * se + (2 * t**2 + 1) / 6 * (1 + weight) / n
    low = np.where(right > 0, special.betaincinv(np.maximum(right, 1), n - right + 1, tail), 0.0)
    high = np.where(right < n, special.betaincinv(right + 1, np.maximum(n - right, 1), 1 - tail), 1.0)
    alone = (rarer == 0) | (se == 0)
    return (
        np.clip(np.where(alone, low, estimate - half), 0.0, 1.0),
        np.clip(np.where(alone, high, estimate + half), 0.0, 1.0),
    )
