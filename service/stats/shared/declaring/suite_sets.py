"""What a test of tasks that a plan names says of many simulated data sets at once, for power and level."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.kernels.suites.many_sets import ManySuites

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class SuiteSets:
    """D data sets of one suite, and what its plan holds them against."""

    sets: ManySuites = field(repr=False)
    threshold: float
    """Of the one-sided p-values: no difference, or the reference of one arm."""
    margin: float | None
    """The SESOI, on the scale of the suite; None without one."""
    _ends: dict[float, tuple[Ends, Ends]] = field(default_factory=dict, repr=False)

    def ends(self, tail: float) -> tuple[Ends, Ends]:
        """Return bounds of the suite's mean (D,), and the extreme bounds of its tasks (D,), at level `tail`."""
        if tail not in self._ends:
            low, high = self.sets.task_ends(tail)
            self._ends[tail] = self.sets.ends(tail), (low.min(axis=1), high.max(axis=1))
        return self._ends[tail]
