"""When a sequential plan ends: the reading at which its tests, its hypotheses and the whole collection come to theirs.

Readings are numbered from 0 along the locked order, so that an end is an array over data sets, (D,). What has not ended
by the last reading ends at their number, one past the last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def end_of_test(rejections: Sequence[Ints], insides: Sequence[Ints]) -> Ints:
    """The end of one test: it rejects in every filling of what is missing, or lies inside the margin in every one.

    Args:
        rejections: by filling, the first reading at which a difference of 0 is rejected.
        insides: by filling that equivalence must stand, the first at which the margin holds all that is left.
    """
    # "In every filling" is the latest of them, "or" the earlier of the two.
    return np.asarray(np.minimum(np.maximum.reduce(list(rejections)), np.maximum.reduce(list(insides))))


def end_of_hypothesis(tests: Sequence[Ints], never: Ints) -> Ints:
    """Return the end of a hypothesis: that of its last test; `never` without any."""
    return np.asarray(np.maximum.reduce([*tests])) if tests else never
