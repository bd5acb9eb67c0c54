"""What a test of one arm that a plan names says of many simulated data sets at once, for power and level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from service.kernels.planning.labelled_pairs import LabelledSets
from service.stats.shared.declaring.shows import Side

Floats = NDArray[np.float64]
M = TypeVar("M")


@dataclass(frozen=True, eq=False)
class OneArmSets:
    """T data sets of one arm on n items, whose clusters stand one after the other."""

    values: Floats | None = field(repr=False)
    """One value per item, (T, n); None where `right` tells all there is of independent items."""
    runs: Floats | None = field(repr=False)
    """Every run of every item, (T, n, r); None where values alone are drawn."""
    sizes: NDArray[np.int64] | None
    """Items of each cluster, (G,); None where items are independent."""
    low: float
    """The least value there can be."""
    high: float
    """The greatest."""
    reference: float
    good: Side
    """1 where larger values are better."""
    right: Floats | None = field(default=None, repr=False)
    """How many of n items have the greater value and not the lesser, (T,)."""
    n: int = 0
    labelled: LabelledSets | None = field(default=None, repr=False)
    """What people and judge say of right and wrong, where a claim is about labels: then nothing else is drawn."""
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Any, make: Callable[[], M]) -> M:
        """Return what several fields share is worked out once."""
        if key not in self.memo:
            self.memo[key] = make()
        made: M = self.memo[key]
        return made
