"""Are the tasks of a suite alike? Cochran's Q with what clusters tie together, I^2, and where a new task would lie.

Under equal truths Q has the expectation tr(A S), where S (T, T) are the covariances of the estimates and A the form
of Q: T - 1 where tasks are independent. Moments give tau^2 as DerSimonian and Laird have it. The p-value is Welch's
(1951), which knows that the tasks' variances are estimated, where tasks are independent; else that of signs over
clusters.

Sources: Cochran (1954), Biometrics 10:101; DerSimonian & Laird (1986), Control Clin Trials 7:177; Higgins, Thompson &
Spiegelhalter (2009), J R Stat Soc A 172:137 (prediction interval); Welch (1951), Biometrika 38:330.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.t_distribution import t_quantile

Floats = NDArray[np.float64]
NEAR = 1e-9
"""A difference of sums that is less of them than this has lost its digits."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """Q, its degrees of freedom and p, the share of spread that is no noise, and the spread of the tasks' truths."""

    q: float
    df: int
    p: float | None
    i2: float
    tau2: float
    centre: float
    """The mean of the random-effects model, each task weighted by 1 / (its variance + tau2)."""
    centre_se: float

    def prediction(self, level: float) -> tuple[float, float] | None:
        """Return where the truth of another task would lie; None of fewer than three tasks."""
        if self.df < 2:
            return None
        # k - 2 degrees of freedom, as Higgins et al. take them: tau2 is estimated too.
        half = t_quantile(0.5 + level / 2, self.df - 1) * math.sqrt(self.tau2 + self.centre_se**2)
        return self.centre - half, self.centre + half


def unlike(means: Floats, covariances: Floats, df: Floats, signed: Floats | None) -> Unlike | None:
    """Return how unlike estimates (T,) are, with covariances (T, T), df (T,) and tasks' z under signs (replicates, T).

    None where a variance is 0, or of a single task. p is None where clusters tie tasks together and no signs tell.
    """
    variances, tasks = np.diag(covariances), len(means)
    if tasks < 2 or np.any(variances <= 0):
        return None
    weights = 1 / variances
    total = float(weights.sum())
    q = float(weights @ (means - float(weights @ means) / total) ** 2)
    # A = W - w w' / sum(w): its trace with S, and with the identity
    expected = float(weights @ variances) - float(weights @ covariances @ weights) / total
    slope = total - float(weights @ weights) / total
    # one weight is nearly all of them: what is left is a sum of products, not a difference
    if slope <= NEAR * total:
        slope = float(weights @ (1 - np.eye(tasks)) @ weights) / total
    tau2 = max(0.0, (q - expected) / slope)
    tied = bool(np.any(covariances - np.diag(variances)))
    anew = 1 / (variances + tau2)
    spread = covariances + tau2 * np.eye(tasks)
    # Tasks that clusters tie together have no F law; their p comes from signs over the clusters.
    p: float | None = None
    if not tied:
        p = _welch(q, weights / total, df)
    elif signed is not None:
        # Q in z = sqrt(w) m: z'z - (sqrt(w)'z)^2 / sum(w). A tie with the observed Q counts, and so do the data.
        drawn = (signed**2).sum(axis=1) - (signed @ np.sqrt(weights)) ** 2 / total
        p = float((1 + np.count_nonzero(drawn >= q * (1 - 1e-9))) / (1 + len(drawn)))
    return Unlike(
        q=q,
        df=tasks - 1,
        p=p,
        i2=max(0.0, (q - expected) / q) if q > 0 else 0.0,
        tau2=tau2,
        centre=float(anew @ means / anew.sum()),
        centre_se=math.sqrt(float(anew @ spread @ anew)) / float(anew.sum()),
    )


def _welch(q: float, share: Floats, df: Floats) -> float:
    """Welch's p of independent tasks with these shares of all weights, and degrees of freedom, (T,) each."""
    k = len(share)
    # F = Q / (k - 1) over 1 + 2 (k - 2) / (k^2 - 1) L, on k - 1 and (k^2 - 1) / (3 L) (Welch 1951).
    lack = float(((1 - share) ** 2 / df).sum())
    f = q / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * lack)
    return float(special.fdtrc(k - 1, (k**2 - 1) / (3 * lack), f))


@dataclass(frozen=True, slots=True)
class NewTasks:
    """The weighted mean of tasks that are a sample: its error by their spread."""

    se: float
    df: float


def new_tasks(means: Floats, weights: Floats) -> NewTasks:
    """Error of the weighted mean over new tasks too; weights sum to 1. Of equal ones s / sqrt(T) on T - 1 df.

    Truths of the tasks have one variance. The sum of w_t (m_t - mean)^2 over 1 - sum(w^2) estimates the variance of a
    task; its degrees of freedom match two moments of that form, whose matrix is W - w w'. Needs two tasks.
    """
    centred = means - float(weights @ means)
    # what one weight leaves to the others, as their sum: 1 less a weight of nearly all has lost its digits
    others = (1 - np.eye(len(weights))) @ weights
    squares = weights**2
    left, two = float(weights @ others), float(squares.sum())
    variance = float(weights @ centred**2) / left
    form = float(squares @ others**2) + float(squares @ ((1 - np.eye(len(weights))) @ squares))
    return NewTasks(math.sqrt(variance * two), left**2 / form)
