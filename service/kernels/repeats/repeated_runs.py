"""Two arms on the same items, each item run and each run judged several times: where the variance comes from.

y = arm + item + item x arm + run(item, arm) + judge(run), effects independent. Equal counts everywhere: analysis of
variance, unbiased and so perhaps negative. Otherwise restricted maximum likelihood, never below 0. A level that nothing
repeats is nan, and the level above holds it too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ITEM, ITEM_BY_ARM, RUN, JUDGE = range(4)
DUST = 1e-13
"""Deviations below this share of the greatest value are rounding."""


@dataclass(frozen=True, eq=False)
class RepeatedRuns:
    """Runs by mean, judgements, sum of squares of their judgements, and cell 2 item + arm, all (m,)."""

    means: Floats
    repeats: Floats
    within: Floats
    cells: NDArray[np.int64]
    n: int

    @cached_property
    def runs(self) -> Floats:
        """Runs of each cell (2 n,)."""
        return np.bincount(self.cells, minlength=2 * self.n).astype(np.float64)

    @cached_property
    def cell_means(self) -> Floats:
        """Mean of each cell's run means, (n, 2)."""
        sums = np.bincount(self.cells, weights=self.means, minlength=2 * self.n)
        return np.asarray((sums / self.runs).reshape(self.n, 2))

    @property
    def balanced(self) -> bool:
        """Every cell has as many runs, every run as many judgements."""
        return bool(np.ptp(self.runs) == 0 and np.ptp(self.repeats) == 0)

    @cached_property
    def between_runs(self) -> Floats:
        """Sum of squares of run means about their cell's, per item (n,)."""
        away = self.means - self.cell_means.ravel()[self.cells]
        away[np.abs(away) <= DUST * np.abs(self.means).max(initial=0.0)] = 0.0
        return np.bincount(self.cells // 2, weights=away * away, minlength=self.n).astype(np.float64)

    @cached_property
    def item_sums(self) -> Floats:
        """What analysis of variance sums over items, (n, 7): 1, d, d^2, s, s^2, runs', judgements' sums of squares.

        d is the difference of the arms about its mean, s their mean about its.
        """
        d = _clear_rounding(self.cell_means[:, 1] - self.cell_means[:, 0], self.means)
        s = _clear_rounding(self.cell_means.mean(axis=1), self.means)
        within = np.bincount(self.cells // 2, weights=self.within, minlength=self.n)
        return np.stack([np.ones(self.n), d, d * d, s, s * s, self.between_runs, within], axis=1)


def _clear_rounding(values: Floats, of: Floats) -> Floats:
    """Deviations from the mean, rounding as 0."""
    away = values - values.mean()
    away[np.abs(away) <= DUST * np.abs(of).max(initial=0.0)] = 0.0
    return np.asarray(away)


def anova(sums: Floats, runs: float, repeats: float) -> Floats:
    """Item, item by arm, run and judge (..., 4) from sums (..., 7) over items of `runs` runs with `repeats` judgements.

    Expected mean squares: judge; judge + J run; that + J R item-by-arm; that + 2 J R item.

    Source: Searle, Casella & McCulloch (1992), Variance Components, 4.
    """
    n = sums[..., 0]
    spare = np.maximum(n - 1, 1)
    cells = 2 * n
    differences = np.maximum(sums[..., 2] - sums[..., 1] ** 2 / n, 0) / spare / 2
    levels = np.maximum(sums[..., 4] - sums[..., 3] ** 2 / n, 0) / spare
    components = np.full((*sums.shape[:-1], 4), np.nan)
    noise = np.zeros(sums.shape[:-1])  # of a run's mean that its judgements account for
    if repeats > 1:
        components[..., JUDGE] = sums[..., 6] / (cells * runs * (repeats - 1))
        noise = components[..., JUDGE] / repeats
    if runs > 1:
        of_runs = sums[..., 5] / (cells * (runs - 1))
        components[..., RUN] = of_runs - noise
        noise = of_runs / runs
    components[..., ITEM_BY_ARM] = differences - noise
    components[..., ITEM] = levels - differences / 2
    return components


def reml(data: RepeatedRuns, copies: Floats | None = None) -> Floats:
    """Item, item by arm, run and judge (4,) by restricted maximum likelihood; `copies` (n,) counts every item so often.

    Items are independent and their covariance is nested, so that it is inverted by hand: run means into cells,
    the two cells of an item as a 2 x 2 matrix.

    Source: Searle, Casella & McCulloch (1992), Variance Components, 6.6.
    """
    copies = np.ones(data.n) if copies is None else copies
    components = np.full(4, np.nan)
    kept = copies[data.cells // 2] > 0
    if np.any(data.repeats[kept] > 1):
        components[JUDGE] = 0.0
    if np.any(data.runs.reshape(-1, 2)[copies > 0] > 1):
        components[RUN] = 0.0
    # from the bottom up: a level without any spread is exactly 0, and the one above takes its place
    judged = bool((copies[data.cells // 2] * data.within).sum() > 0)
    if not judged:
        data = replace(data, repeats=np.ones(len(data.means)), within=np.zeros(len(data.means)))
    moved = bool((copies * data.between_runs).sum() > 0)
    has_runs = moved or (judged and not np.isnan(components[RUN]))
    if not has_runs and not judged:
        data = RepeatedRuns(
            data.cell_means.ravel(), np.ones(2 * data.n), np.zeros(2 * data.n), np.arange(2 * data.n), data.n
        )
    sums = copies @ data.item_sums
    rough = anova(sums, 1.0, 1.0)
    if not has_runs and not judged and rough[ITEM_BY_ARM] <= 0:
        components[ITEM_BY_ARM], components[ITEM] = 0.0, max(rough[ITEM], 0.0)
        return components
    fitted = _fit(data, copies, judged=judged, with_runs=has_runs)
    components[ITEM] = fitted[ITEM]
    if has_runs:
        components[ITEM_BY_ARM], components[RUN] = fitted[ITEM_BY_ARM], fitted[RUN]
    else:
        components[ITEM_BY_ARM] = fitted[RUN]
    if judged:
        components[JUDGE] = fitted[JUDGE]
    return components


def _fit(data: RepeatedRuns, copies: Floats, *, judged: bool, with_runs: bool) -> Floats:
    """Return the four variances at the highest restricted likelihood; those that are not fitted stay 0."""
    from scipy.optimize import minimize

    rough = anova(copies @ data.item_sums, 1.0, 1.0)
    unit = float(max(rough[ITEM_BY_ARM] + max(rough[ITEM], 0.0), 0.0)) or 1.0
    unit += float((copies[data.cells // 2] * data.within).sum()) / float(
        (copies[data.cells // 2] * data.repeats).sum()
    )
    # Variances are scaled by their starts, moments of the data: the optimizer meets numbers near 1. The lowest level
    # that is fitted stays above 0, or its likelihood has no end; the others may be 0.
    free = [ITEM] + [ITEM_BY_ARM] * with_runs + [RUN] + [JUDGE] * judged
    lowest = {JUDGE if judged else RUN: 1e-10 * unit}
    start = {ITEM: max(rough[ITEM], 0.05 * unit)} | dict.fromkeys((ITEM_BY_ARM, RUN, JUDGE), 0.0)
    spare = max(float(copies @ (data.runs.reshape(-1, 2) - 1).sum(axis=1)), 1.0)
    within = float((copies[data.cells // 2] * data.within).sum())
    judgements = max(float((copies[data.cells // 2] * (data.repeats - 1)).sum()), 1.0)
    start[JUDGE] = within / judgements
    start[RUN] = max(float(copies @ data.between_runs) / spare, 0.02 * unit)
    start[ITEM_BY_ARM] = max(float(rough[ITEM_BY_ARM]) - start[RUN] / 2, 0.05 * unit)
    if not with_runs:
        start[RUN] = max(float(rough[ITEM_BY_ARM]), 0.05 * unit)
    scale = np.array([max(start[name], 1e-4 * unit) for name in free])

    def objective(x: Floats) -> tuple[float, Floats]:
        variances = np.zeros(4)
        variances[free] = x * scale
        value, slope = _deviance(data, copies, variances, judged=judged)
        return value, slope[free] * scale

    fitted = minimize(
        objective,
        np.array([start[name] for name in free]) / scale,
        jac=True,
        method="L-BFGS-B",
        bounds=[(lowest.get(name, 0.0) / size, None) for name, size in zip(free, scale, strict=True)],
        options={"maxiter": 300, "ftol": 1e-13, "gtol": 1e-7, "maxcor": 20},
    )
    variances = np.zeros(4)
    variances[free] = np.asarray(fitted.x) * scale
    return variances


def _deviance(data: RepeatedRuns, copies: Floats, variances: Floats, *, judged: bool) -> tuple[float, Floats]:
    """-2 log restricted likelihood but for a constant, and its slope (4,)."""
    item, by_arm, run, judge = variances
    weight, place = copies[data.cells // 2], data.cells
    v = run + judge / data.repeats
    w = 1 / v
    total = np.bincount(place, weights=w, minlength=2 * data.n).astype(np.float64)
    means = np.bincount(place, weights=w * data.means, minlength=2 * data.n) / total
    # inverse of the covariance of an item's two cell means: [[a, c], [c, b]]
    spread = (by_arm + 1 / total).reshape(-1, 2)
    determinant = spread[:, 0] * spread[:, 1] + item * (spread[:, 0] + spread[:, 1])
    a, b, c = (spread[:, 1] + item) / determinant, (spread[:, 0] + item) / determinant, -item / determinant
    grid = means.reshape(-1, 2)
    information = np.array([[copies @ a, copies @ c], [copies @ c, copies @ b]])
    known = np.array([copies @ (a * grid[:, 0] + c * grid[:, 1]), copies @ (c * grid[:, 0] + b * grid[:, 1])])
    inverse = np.linalg.inv(information)
    left = grid - inverse @ known
    q = np.stack([a * left[:, 0] + c * left[:, 1], c * left[:, 0] + b * left[:, 1]], axis=1)
    away = data.means - means[place]
    value = (
        weight @ np.log(v)
        + np.repeat(copies, 2) @ np.log(total)
        + weight @ (w * away * away)
        + copies @ (np.log(determinant) + (q * left).sum(axis=1))
        + np.log(np.linalg.det(information))
    )
    # diagonal of S^-1 M^-1 S^-1, and its sum over all four entries
    first = inverse[0, 0] * a * a + 2 * inverse[0, 1] * a * c + inverse[1, 1] * c * c
    second = inverse[0, 0] * c * c + 2 * inverse[0, 1] * b * c + inverse[1, 1] * b * b
    one, other = a + c, b + c
    both = inverse[0, 0] * one * one + 2 * inverse[0, 1] * one * other + inverse[1, 1] * other * other
    own = np.stack([a - first, b - second], axis=1)
    slope = np.zeros(4)
    slope[ITEM] = copies @ (a + b + 2 * c - both - q.sum(axis=1) ** 2)
    slope[ITEM_BY_ARM] = copies @ (own - q * q).sum(axis=1)
    share = w / total[place]
    of_run = w - w * share + share**2 * own.ravel()[place] - (w * away + share * q.ravel()[place]) ** 2
    slope[RUN] = weight @ of_run
    if judged:
        spare, within = float(weight @ (data.repeats - 1)), float(weight @ data.within)
        value += spare * np.log(judge) + within / judge
        slope[JUDGE] = weight @ (of_run / data.repeats) + spare / judge - within / judge**2
    return float(value), slope
