"""What power asks of bounds that know of losses too rare to be seen: on cells of binary pairs, and on many data sets.

Their chances are taken by the saddle point (`gaffke_many`), off by up to a fifteenth of themselves; cells of binary
pairs closer to a threshold than that are put to the test itself, so that enumerated power is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from service.kernels.planning import gaffke_many
from service.kernels.planning.rule_enumeration import Floats, Ints
from service.stats.shared.declaring.cell_lines import EndLines, Line, stepped, valued
from service.stats.shared.declaring.cells import Cells, sides_pattern
from service.stats.shared.declaring.shows import Path
from service.stats.shared.declaring.simulated import Units

ERROR = 0.08
"""Relative, of a chance by the saddle point."""
SLACK = 0.05
"""The same in standard errors, for the tails that tests use."""
DIFFERENCES = np.array([[-1.0, 0.0, 1.0]])


@dataclass(frozen=True)
class BoundedLines:
    """Bounds of the difference of binary pairs by cell."""

    test: Cells

    def ends(self, path: Path, tail: float) -> EndLines:
        """The interval with this much on either side: an end lies above x just where the chance at x says so."""
        z = float(special.ndtri(tail))

        def low(b: Ints, m: Ints, x: float) -> Floats:
            return -np.asarray(special.ndtri(self.above(b, m, x)))

        def high(b: Ints, m: Ints, x: float) -> Floats:
            return np.asarray(special.ndtri(self.below(b, m, x)))

        return EndLines(
            stepped(low, -z, self.test.asker((*path, "low")), slack=SLACK),
            stepped(high, z, self.test.asker((*path, "high")), slack=SLACK),
        )

    def p_value(self, path: Path, alternative: str) -> Line:
        """Of no difference."""

        def p(b: Ints, m: Ints) -> Floats:
            above, below = self.above(b, m, 0.0), self.below(b, m, 0.0)
            sides = {"greater": above, "less": below}
            return np.asarray(sides.get(alternative, np.minimum(2 * np.minimum(above, below), 1.0)))

        return valued(p, sides_pattern(alternative), self.test.asker(path), relative=ERROR, absolute=1e-12)

    def above(self, b: Ints, m: Ints, mean: float) -> Floats:
        """The chance that speaks for a difference above `mean`."""
        return gaffke_many.chances_below(DIFFERENCES, self._counts(m - b, b, m), -1.0, mean)

    def below(self, b: Ints, m: Ints, mean: float) -> Floats:
        """The same for one below it."""
        return gaffke_many.chances_below(DIFFERENCES, self._counts(b, m - b, m), -1.0, -mean)

    def _counts(self, lost: Ints, won: Ints, m: Ints) -> Floats:
        return np.stack([lost, self.test.n - m, won], axis=1).astype(np.float64)


@dataclass(frozen=True)
class BoundedSets:
    """Bounds of the differences of T data sets of independent items, none beyond `limit`."""

    units: Units
    limit: float

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """Both ends, with this much on either side."""
        (up, ups), (down, downs) = self._sides
        low = gaffke_many.lower_ends(up, ups, -1.0, tail)
        return self.limit * low, -self.limit * gaffke_many.lower_ends(down, downs, -1.0, tail)

    def above(self, mean: float) -> Floats:
        """The chance that speaks for a difference above `mean`."""
        return gaffke_many.chances_below(*self._sides[0], -1.0, mean / self.limit)

    def below(self, mean: float) -> Floats:
        """The same for one below it."""
        return gaffke_many.chances_below(*self._sides[1], -1.0, -mean / self.limit)

    @property
    def _sides(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        values, shapes = gaffke_many.gridded(np.clip(self.units.sums / self.limit, -1.0, 1.0))
        return (values, shapes), (-values, shapes)


def bounded_sets(units: Units, limit: float | None) -> BoundedSets | None:
    """None where there is no limit, or items come in clusters: what these have in common takes their items."""
    if limit is None or units.clustered or int(units.sizes.max()) > 1:
        return None
    return BoundedSets(units, limit)
