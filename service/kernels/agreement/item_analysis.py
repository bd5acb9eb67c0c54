"""What several arms tell of the items they were asked.

`table` (n, k) has the outcomes of an item in a row, NaN where an arm has none.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

DUST = 1e-12
"""Variation below this share of the largest outcome is rounding."""


def item_rest_correlations(table: Floats) -> Floats:
    """Correlation of every item with the arms' means over their other items, over the arms that have it. Shape (n,).

    NaN with fewer than three arms, and where the item, or the rest, does not vary. O(n k).

    Source: Nunnally & Bernstein (1994), Psychometric Theory, ch. 8 (corrected item-total correlation).
    """
    there = ~np.isnan(table)
    values = np.where(there, table, 0.0)
    others = there.sum(axis=0) - there
    rest = np.where(there & (others > 0), (values.sum(axis=0) - values) / np.maximum(others, 1), 0.0)
    usable = there & (others > 0)
    arms = usable.sum(axis=1)
    least = DUST * max(float(np.abs(values).max(initial=0.0)), 1e-300)

    def center(column: Floats) -> Floats:
        mean = np.where(usable, column, 0.0).sum(axis=1) / np.maximum(arms, 1)
        away = np.where(usable, column - mean[:, None], 0.0)
        away[np.abs(away) <= least] = 0.0
        # correlations know no unit, and squares of small scores would underflow
        return np.asarray(away / np.maximum(np.abs(away).max(axis=1, initial=0.0), 1e-300)[:, None])

    x, y = center(values), center(rest)
    spread = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    defined = (arms >= 3) & (spread > 0)
    correlation = (x * y).sum(axis=1) / np.where(defined, spread, 1.0)
    return np.where(defined, np.clip(correlation, -1.0, 1.0), np.nan)


def alpha(table: Floats) -> float | None:
    """Return Cronbach's alpha of complete items (n, k), of 0 and 1 KR-20: arms are what is measured.

    None with fewer than two items or arms, or arms that do not differ.

    Source: Cronbach (1951), Psychometrika 16:297. Kuder & Richardson (1937), Psychometrika 2:151.
    """
    n, k = table.shape
    if n < 2 or k < 2:
        return None
    scaled = table / max(float(np.abs(table).max(initial=0.0)), 1e-300)
    # alpha = n / (n - 1) (1 - sum of the items' variances / variance of the arms' sums).
    total = float(scaled.sum(axis=0).var(ddof=1))
    if total <= DUST:
        return None
    return float(n / (n - 1) * (1 - float(scaled.var(axis=1, ddof=1).sum()) / total))


def alpha_interval(estimate: float, n: int, k: int, level: float) -> tuple[float, float]:
    """Return Feldt's interval of alpha from n items and k arms, of the two-sided `level`.

    (1 - alpha) / (1 - estimate) follows F on k - 1 and (k - 1)(n - 1) degrees of freedom: the arms are the subjects,
    the items the parts of the test.

    Source: Feldt (1965), Psychometrika 30:357.
    """
    tail = (1 - level) / 2
    df, more = k - 1, (k - 1) * (n - 1)
    low, high = (float(special.fdtri(df, more, q)) for q in (1 - tail, tail))
    return 1 - (1 - estimate) * low, 1 - (1 - estimate) * high


def split_half(table: Floats) -> float | None:
    """Return the correlation of the arms' sums over every second item and over the others, stepped up to all of them.

    None with fewer than three arms or two items, or halves that do not vary or correlate at -1.

    Source: Brown (1910), Br J Psychol 3:296. Spearman (1910), ibid. 3:271.
    """
    n, k = table.shape
    if n < 2 or k < 3:
        return None
    one, other = table[::2].sum(axis=0), table[1::2].sum(axis=0)
    size = max(float(np.abs(table).max(initial=0.0)), 1e-300)
    if min(one.std(), other.std()) <= DUST * size:
        return None
    r = float(np.corrcoef(one / size, other / size)[0, 1])
    return None if r <= -1 + 1e-9 else 2 * r / (1 + r)


def decisive(table: Floats) -> Booleans:
    """Items (n,) without which the arms' means would stand in another order, or tie where they do not. O(n k)."""
    there = ~np.isnan(table)
    values = np.where(there, table, 0.0)
    sums, counts = values.sum(axis=0), there.sum(axis=0)
    means = sums / np.maximum(counts, 1)
    order = np.argsort(-means, kind="stable")
    left = counts - there
    without = np.where(left > 0, (sums - values) / np.maximum(left, 1), means)
    least = DUST * max(float(np.abs(values).max(initial=0.0)), 1e-300)

    def steps(ordered: Floats) -> Floats:
        gaps = ordered[..., :-1] - ordered[..., 1:]
        return np.asarray(np.where(np.abs(gaps) <= least, 0.0, np.sign(gaps)))

    return np.asarray(np.any(steps(without[:, order]) != steps(means[order]), axis=1))


def items_to_keep_order(difference: Floats, chance: float) -> int | None:
    """Return how many such items keep the sign of a mean difference (n,) with that chance, by the normal law.

    None where the mean is 0, or where items do not tell how much they vary.
    """
    mean, n = float(difference.mean()), len(difference)
    if mean == 0 or n < 2:
        return None
    spread = float((difference / abs(mean)).std(ddof=1))
    # mean sqrt(n) / spread reaches the quantile at n = (z spread / mean)^2; 1e-9: a whole number stays one.
    return max(1, math.ceil((float(special.ndtri(chance)) * spread) ** 2 - 1e-9))
