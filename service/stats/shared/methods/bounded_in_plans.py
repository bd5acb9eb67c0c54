"""What power asks of bounds that know of losses too rare to be seen: on cells of binary pairs, and on many data sets.

Their chances are taken by the saddle point (`gaffke_many`), off by up to a fifteenth of themselves; cells of binary
pairs closer to a threshold than that are put to the test itself, so that enumerated power is exact. In clusters
each end is the furthest of several, as of a single data set; sign flips are drawn once for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from service.kernels.numeric import clusters
from service.kernels.numeric.clusters import ClusterSums
from service.kernels.planning import gaffke_many
from service.kernels.planning.rule_enumeration import Floats, Ints
from service.kernels.planning.sets_of_clusters import low_ends, means_of_sets, tails
from service.kernels.planning.simulated_pairs import robust
from service.stats.shared.declaring.cell_lines import EndLines, Line, end_line, value_line
from service.stats.shared.declaring.cells import Cells, sides_pattern
from service.stats.shared.declaring.fields import Unseen
from service.stats.shared.declaring.shows import Path
from service.stats.shared.declaring.simulated import Units
from service.stats.shared.methods.bounded import MOST_FLIPPED, unseen_items

ERROR = 0.08
"""Relative error of a chance by the saddle point."""
SLACK = 0.05
"""Error of an end by the saddle point in standard errors, for the tails that tests use."""
DIFFERENCES = np.array([[-1.0, 0.0, 1.0]])


@dataclass(frozen=True)
class BoundedLines:
    """Bounds of the difference of binary pairs by cell."""

    test: Cells

    def ends(self, path: Path, tail: float) -> EndLines:
        """Return the interval with this much on either side: an end lies above x just where the chance at x says so."""
        z = float(special.ndtri(tail))

        def low(b: Ints, m: Ints, x: float) -> Floats:
            return -np.asarray(special.ndtri(self.above(b, m, x)))

        def high(b: Ints, m: Ints, x: float) -> Floats:
            return np.asarray(special.ndtri(self.below(b, m, x)))

        return EndLines(
            end_line(low, -z, self.test.asker((*path, "low")), slack=SLACK),
            end_line(high, z, self.test.asker((*path, "high")), slack=SLACK),
        )

    def p_value(self, path: Path, alternative: str) -> Line:
        """Return the p-value of no difference, as a line over the counts of the pairs."""

        def p(b: Ints, m: Ints) -> Floats:
            above, below = self.above(b, m, 0.0), self.below(b, m, 0.0)
            sides = {"greater": above, "less": below}
            return np.asarray(sides.get(alternative, np.minimum(2 * np.minimum(above, below), 1.0)))

        return value_line(
            p, sides_pattern(alternative), self.test.asker(path), relative=ERROR, absolute=1e-12
        )

    def above(self, b: Ints, m: Ints, mean: float) -> Floats:
        """Return the chance that speaks for a difference above `mean`."""
        return gaffke_many.chances_below(DIFFERENCES, self._counts(m - b, b, m), -1.0, mean)

    def below(self, b: Ints, m: Ints, mean: float) -> Floats:
        """Return the chance that speaks for a difference below `mean`."""
        return gaffke_many.chances_below(DIFFERENCES, self._counts(b, m - b, m), -1.0, -mean)

    def _counts(self, lost: Ints, won: Ints, m: Ints) -> Floats:
        return np.stack([lost, self.test.n - m, won], axis=1).astype(np.float64)


@dataclass(frozen=True)
class BoundedSets:
    """Bounds of the differences of T data sets of items, none beyond `limit`: as `Bounded` gives them one by one."""

    units: Units
    limit: float
    unseen: Unseen = "items"

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Return both ends (T,), each at level `tail`."""
        up, down = self._sides
        return self.limit * up.low(tail), -self.limit * down.low(tail)

    def above(self, mean: float) -> Floats:
        """Return the one-sided p (T,) of H0: the true difference is at most `mean`."""
        return self._sides[0].p(mean / self.limit)

    def below(self, mean: float) -> Floats:
        """Return the one-sided p (T,) of H0: the true difference is at least `mean`."""
        return self._sides[1].p(-mean / self.limit)

    @cached_property
    def _sides(self) -> tuple[_Side, _Side]:
        """The sets as bounds on either side need them: as drawn, and with every sign turned."""
        sums, sizes = self.units.sums / self.limit, self.units.sizes.astype(np.float64)
        values, shapes = self._values
        if not self.units.clustered:
            return _Side(values, shapes), _Side(-values, shapes)
        delta, se, df = robust("cr2", sums, self.units.sizes)
        shapes = np.broadcast_to(shapes, (len(sums), shapes.shape[1]))
        worth = items_for_one_of_many(values, shapes, sums, sizes, se, df)
        shapes = shapes / worth[:, None]
        flips = mirrored = None
        if len(sizes) <= MOST_FLIPPED:
            flips = means_of_sets(sums, self.units.sizes, self.units.generator(3))
            mirrored = -flips[:, ::-1]
        unseen = unseen_items(ClusterSums(sums[0], sizes), self.unseen, worth)
        up = Clustered(sums, sizes, delta, se, df, unseen)
        down = replace(up, sums=-sums, delta=-delta)
        return _Side(values, shapes, up, flips), _Side(-values, shapes, down, mirrored)

    @property
    def _values(self) -> tuple[Floats, Floats]:
        """The items' values and how many have each, in units of the limit."""
        if self.units.won is not None:
            won, lost = (items.sum(axis=1) for items in self.units.won)
            counts = np.stack([lost, self.units.sizes.sum() - won - lost, won], axis=1)
            return DIFFERENCES / self.limit, counts.astype(np.float64)
        items = self.units.sums if self.units.items is None else self.units.items
        return gaffke_many.spread_over_grid(np.clip(items / self.limit, -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class Clustered:
    """What clusters add: their difference sums (T, G) over sizes (G,), the mean, its CR2 error and df, and how many
    items of a cluster may have been missed (T,)."""

    sums: Floats
    sizes: Floats
    delta: Floats
    se: Floats
    df: float
    unseen: Floats

    def chances(self, means: Floats) -> Floats:
        """Return p-values (T,) of H0 that the means are at most these (T,), by whole clusters."""
        return gaffke_many.chances_of_blocks(self.sums, self.sizes, -1.0, means, self.unseen)

    def lower(self, low: Floats, tail: float) -> Floats:
        """Return the lower bounds (T,) of whole clusters where they lie below `low` (T,), else these."""
        lower = np.flatnonzero((low > -1.0) & (self.chances(low) > tail))
        ends = low.copy()
        if len(lower):
            sums = self.sums[lower]
            of_blocks = gaffke_many.lower_ends_of_blocks(sums, self.sizes, -1.0, tail, self.unseen[lower])
            ends[lower] = np.minimum(low[lower], of_blocks)
        return ends


@dataclass(frozen=True, eq=False)
class _Side:
    """What speaks for means above some value, in units of the limit."""

    values: Floats
    shapes: Floats
    clusters: Clustered | None = None
    flips: Floats | None = None

    def low(self, tail: float) -> Floats:
        """Return the lower bounds (T,) at level `tail`: the furthest, as of a single data set."""
        ends = [gaffke_many.lower_ends(self.values, self.shapes, -1.0, tail)]
        if self.clusters is not None:
            half = special.stdtrit(self.clusters.df, 1 - tail) * self.clusters.se
            ends.append(np.where(self.clusters.se > 0, self.clusters.delta - half, np.inf))
        if self.flips is not None:
            ends.append(low_ends(self.flips, tail))
        low = np.asarray(np.maximum(np.minimum.reduce(ends), -1.0))
        return low if self.clusters is None else self.clusters.lower(low, tail)

    def p(self, mean: float) -> Floats:
        """Return the one-sided p (T,) of H0: the mean is at most `mean`."""
        chances = [gaffke_many.chances_below(self.values, self.shapes, -1.0, mean)]
        if self.clusters is not None and mean > -1.0:
            varies = self.clusters.se > 0
            t = (self.clusters.delta - mean) / np.where(varies, self.clusters.se, 1.0)
            chances.append(np.where(varies, special.stdtr(self.clusters.df, -t), 0.0))
            chances.append(self.clusters.chances(np.full(len(t), mean)))
        if self.flips is not None and mean > -1.0:
            chances.append(tails(self.flips, mean))
        return np.asarray(np.maximum.reduce(chances))


def items_for_one_of_many(
    values: Floats, shapes: Floats, sums: Floats, sizes: Floats, se: Floats, df: float
) -> Floats:
    """Return `items_for_one` of T data sets at once, (T,): `values` and `shapes` are (T, V) or one row."""
    n = float(sizes.sum())
    mean = (values * shapes).sum(axis=1) / n
    independent = (shapes * (values - mean[:, None]) ** 2).sum(axis=1) / max(n - 1, 1) / n
    residual = sums - sizes * (sums.sum(axis=1) / n)[:, None]
    flat = (independent <= 0) | (se <= 1e-12 * np.abs(values).max())
    return clusters.items_for_one(independent, residual, (se, df), len(sizes), sizes.max(), flat)


def bound_sets(units: Units, limit: float | None, unseen: Unseen = "items") -> BoundedSets | None:
    """Return the sets as bounds need them; None without a limit, or where only sums are drawn of clustered items."""
    if limit is None or (units.clustered and units.won is None and units.items is None):
        return None
    if not units.clustered and int(units.sizes.max()) > 1:
        return None
    return BoundedSets(units, limit, unseen)
