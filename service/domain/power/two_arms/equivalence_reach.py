"""The most discordant items with which an equivalence test can still show equivalence."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from service.domain.power.answers.records import EquivalenceReach
from service.domain.power.enumerated.enumerated_tests import BinaryTest
from service.kernels.pairs.paired_exact import SPARSE
from service.stats.shared.declaring.cell_lines import ABOVE, Line

MOST_ITEMS = 20_000
"""Items up to which this is worked out: every number of discordant ones is looked at."""


def equivalence_reach(test: BinaryTest) -> EquivalenceReach | None:
    """Return the reach where the items are split as evenly as can be; None for a form that is not worked out here."""
    plan = test.use.test.plan
    if plan is None or plan.purpose != "equivalence" or test.margin is None or test.n > MOST_ITEMS:
        return None
    line = test.line_of(("equivalent",))
    if not isinstance(line, Line):
        return None
    # only the largest number is told, and tables with few discordant items cost most
    most = _largest(line, np.arange(SPARSE, test.n + 1))
    if most is None:
        most = _largest(line, np.arange(min(SPARSE, test.n + 1)))
    return EquivalenceReach(
        test=test.use.use.id,
        margin=test.margin,
        most_discordant=most,
        most_discordant_share=None if most is None else most / test.n,
    )


def _largest(line: Line, m: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int | None:
    within = np.flatnonzero(line.sides((m + 1) // 2, m, Fraction(0), (1,)) == ABOVE)
    return int(m[within[-1]]) if len(within) else None
