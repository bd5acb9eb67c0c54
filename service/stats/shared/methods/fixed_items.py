"""The mean of these very items, of which runs alone vary: its error comes from the spread of each item's runs."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from service.kernels.numeric.moments import binary_unit
from service.kernels.numeric.t_distribution import t_quantile
from service.records import Record
from service.stats.shared.data.score_range import ScoreRange
from service.stats.shared.declaring.common import Interval

DUST = 1e-14
"""A run this close to the mean of its item, in relation to its size, does not differ from it."""


class TheseItems(Record):
    """The mean that endless runs of these items would have."""

    se: float | None = Field(
        description="Standard error that comes from runs alone, sqrt(sum of s_i^2 / r_i) / n, in the unit of the mean."
    )
    df: float | None = Field(description="Its degrees of freedom, Satterthwaite's.")
    ci: Interval | None = Field(
        description="Student's t interval of the mean over endless runs of these items."
    )


def of_these_items(
    runs: list[list[float]], level: float, scale: ScoreRange | None, reasons: dict[str, str]
) -> TheseItems:
    """Return the mean on these items from their runs; null with a reason where one ran once, or no item's differ.

    Var = sum of s_i^2 / r_i over n^2, items weighted alike; degrees of freedom (sum of v)^2 / sum of v^2 / (r - 1).
    """
    counts = np.array([len(run) for run in runs], dtype=np.float64)
    once = int((counts < 2).sum())
    if once:
        why = (
            "every item has one run, so what runs add cannot be told from what items differ in"
            if once == len(runs)
            else f"{once} of {len(runs)} items have one run, whose spread is not known"
        )
        return _nothing(why, reasons)
    flat = np.fromiter((x for run in runs for x in run), dtype=np.float64, count=int(counts.sum()))
    unit = binary_unit(flat)
    flat = flat / unit
    items = np.repeat(np.arange(len(runs)), counts.astype(np.int64))
    means = np.bincount(items, weights=flat) / counts
    away = flat - means[items]
    away[np.abs(away) <= DUST * np.abs(flat)] = 0.0
    of_means = np.bincount(items, weights=away * away) / (counts - 1) / counts
    variance = float(of_means.sum())
    if variance == 0:
        return _nothing("no item's runs differ, so their spread is not measured", reasons)
    n = len(runs)
    # in units of the whole, so that squares of small variances do not vanish
    df = 1 / float(((of_means / variance) ** 2 / (counts - 1)).sum())
    se, mean = math.sqrt(variance) / n * unit, float(means.mean()) * unit
    half = t_quantile(0.5 + level / 2, df) * se
    low, high = mean - half, mean + half
    if scale is not None:
        low, high = max(low, scale.low), min(high, scale.high)
    return TheseItems(se=se, df=df, ci=Interval(low=low, high=high, level=level, method="t"))


def _nothing(why: str, reasons: dict[str, str]) -> TheseItems:
    reasons |= dict.fromkeys(("these_items.se", "these_items.df", "these_items.ci"), why)
    return TheseItems(se=None, df=None, ci=None)
