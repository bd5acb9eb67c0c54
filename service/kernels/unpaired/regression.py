"""The difference of two arms by regression, with a cluster-robust error: two means, or two lines along covariates.

Outcomes are fitted by an intercept and slopes of its own in each arm, covariates centred at their mean over both, so
that the arm's coefficient is the difference of the arms at that mean (Lin 2013, Ann Appl Stat 7:295, eq. 4). Without
covariates it is the difference of the means. The error is CR2 over clusters, of single items HC2, with Bell and
McCaffrey's degrees of freedom; a cluster may have items in both arms.

With X (n, p), M = (X'X)^-1 and H_c = X_c M X_c' of a cluster, its residuals e_c enter as A_c e_c, A_c = (I - H_c)^-1/2.
H_c has rank p at most, so that everything is done in p dimensions: X_c M^1/2 = U S V', and A_c = I + U ((1 - S^2)^-1/2
- 1) U'.

Sources: Bell & McCaffrey (2002), Surv Methodol 28:169. Pustejovsky & Tipton (2018), JBES 36:672.
Lin (2013). Negi & Wooldridge (2021), Econometric Reviews 40:504 (that covariates of new items vary too).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.kernels.numeric.clusters import largest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SINGULAR = 1e-9
"""A leverage this close to 1 leaves a cluster no residual: it alone decides a coefficient."""
DUST = 1e-14
"""A residual below this, of outcomes of size 1, is rounding."""


@dataclass(frozen=True, eq=False)
class Difference:
    """Candidate minus baseline, at the covariates' mean."""

    delta: float
    se: float | None
    """None where one cluster, or item, alone decides an arm's mean or slope."""
    df: float | None
    adjusted: tuple[Floats, Floats]
    """Outcomes of the baseline and of the candidate, moved along their arm's line to the covariates' mean: the
    difference of their means is `delta`."""
    explained: float | None
    """Share of the variance within arms that the covariates explain; None without any, or where nothing varies."""


def difference(
    baseline: Floats, candidate: Floats, codes: Ints | None, covariates: Floats | None = None
) -> Difference | None:
    """Return candidate minus baseline from outcomes (n0,) and (n1,), with clusters and covariates where there are any.

    `codes` (n0 + n1,) and `covariates` (n0 + n1, q), the baseline's items first.

    None where the covariates do not vary in an arm, or only with each other. O(n (2 + 2 q)^2).
    """
    n0 = len(baseline)
    outcomes = np.concatenate([baseline, candidate])
    middle = float(outcomes.mean())
    unit = largest(outcomes - middle)
    y = (outcomes - middle) / unit
    treated = np.repeat([0.0, 1.0], [n0, len(candidate)])
    # an intercept an arm, instead of one and a difference: the same fit, and no column leans on another
    columns, apart = [1 - treated, treated], None
    if covariates is not None:
        centred = covariates - covariates.mean(axis=0)
        centred = centred / np.maximum(np.abs(centred).max(axis=0), 1e-300)
        columns += [*((1 - treated) * centred.T), *(treated * centred.T)]
    x = np.stack(columns, axis=1)
    # M^1/2 by the eigenvectors of X'X; a least eigenvalue of rounding size means that columns follow from each other.
    values, vectors = np.linalg.eigh(x.T @ x)
    if values[0] <= 1e-10 * values[-1]:
        return None
    root = (vectors / np.sqrt(values)) @ vectors.T
    beta = root @ root @ (x.T @ y)
    residuals = y - x @ beta
    residuals[np.abs(residuals) <= DUST] = 0.0
    contrast = np.zeros(x.shape[1])
    contrast[:2] = -1.0, 1.0
    error = _cr2(x, residuals, codes, root, root @ contrast)
    moved, explained = y, None
    if covariates is not None:
        q = covariates.shape[1]
        moved = y - x[:, 2:] @ beta[2:]
        # the covariates' mean is that of items like these: where the slopes differ, it moves the difference
        apart = centred @ (beta[2 + q :] - beta[2 : 2 + q])
        within = y - np.where(treated > 0, y[n0:].mean(), y[:n0].mean())
        total = float(within @ within)
        explained = None if total <= 0 else max(0.0, 1 - float(residuals @ residuals) / total)
    variance = None if error is None else error[0] + (0.0 if apart is None else _of_mean(apart, codes))
    return Difference(
        delta=unit * float(beta[1] - beta[0]),
        se=None if variance is None else unit * math.sqrt(variance),
        df=None if error is None else error[1],
        adjusted=(middle + unit * moved[:n0], middle + unit * moved[n0:]),
        explained=explained,
    )


def _cr2(
    x: Floats, residuals: Floats, codes: Ints | None, root: Floats, direction: Floats
) -> tuple[float, float] | None:
    """Variance and degrees of freedom of the coefficient in a direction, M^1/2 times it; None if one cluster decides.

    With F = V (1 - S^2)^-1/2 V' and r = M^1/2 X_c' e_c a cluster adds r' F d, d the direction. Under independent errors
    of one variance these have the covariances diag(w) - B B', w = d' V S^2 / (1 - S^2) V' d and the rows of B being
    V S^2 (1 - S^2)^-1/2 V' d.
    """
    turned = x @ root
    if codes is None:  # of one item H is a number
        leverage = (turned**2).sum(axis=1)
        if np.any(leverage > 1 - SINGULAR):
            return None
        along = turned @ direction / np.sqrt(1 - leverage)
        adds, own, shared = along * residuals, along**2, turned * along[:, None]
    else:
        k = turned.shape[1]
        products = np.array(
            [[np.bincount(codes, turned[:, i] * turned[:, j]) for j in range(k)] for i in range(k)]
        )
        sums = np.array([np.bincount(codes, turned[:, i] * residuals) for i in range(k)]).T
        squares, vectors = np.linalg.eigh(np.moveaxis(products, -1, 0))
        if np.any(squares > 1 - SINGULAR):
            return None
        squares = np.maximum(squares, 0.0)
        along = np.einsum("gij,i->gj", vectors, direction)
        adds = np.einsum("gj,gj,gij,gi->g", along, (1 - squares) ** -0.5, vectors, sums)
        own = (along**2 * squares / (1 - squares)).sum(axis=1)
        shared = np.einsum("gij,gj->gi", vectors, along * squares / np.sqrt(1 - squares))
    norms = (shared**2).sum(axis=1)
    trace = float((own - norms).sum())
    spread = float((own**2 - 2 * own * norms).sum()) + float(((shared.T @ shared) ** 2).sum())
    return float(adds @ adds), trace**2 / spread


def _of_mean(values: Floats, codes: Ints | None) -> float:
    """Variance of the mean of a column whose sum is 0, over items or clusters (CR1)."""
    sums = values if codes is None else np.bincount(codes, values)
    g = len(sums)
    return float(sums @ sums) / len(values) ** 2 * g / max(g - 1, 1)
