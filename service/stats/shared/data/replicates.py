"""Several runs of every item of one arm, which are averaged within the item."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from service.stats.shared.declaring.columns import require_size
from service.stats.shared.declaring.common import MAX_ITEMS, Column, Finite

MAX_REPLICATES = 10_000
Replicates = Annotated[
    list[Annotated[list[Finite], Field(min_length=1, max_length=MAX_REPLICATES)]],
    Field(max_length=MAX_ITEMS, fail_fast=True),
]


def item_means(column: Column | Replicates, path: str) -> NDArray[np.float64]:
    """Return one value per item (n,): replicates averaged within the item. Refuse values whose squares overflow."""
    sizes = None
    if isinstance(column[0], list):
        sizes = np.array([len(runs) for runs in column if isinstance(runs, list)])
        column = [value for runs in column if isinstance(runs, list) for value in runs]
    values = np.array(column, dtype=np.float64)
    require_size(values, path)
    if sizes is None:
        return values
    return np.asarray(np.add.reduceat(values, np.cumsum(sizes) - sizes) / sizes)
