"""What one hypothesis shows on D data sets, however it was come by: results that are in, or data that are simulated.

Arrays have a last axis of data sets, (D,). A p-value that is drawn from chance may be known only to within a range, so
p-values have an axis before it, (C, D): the number itself, the least and the most that it may be, or C = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from service.domain.rules.rule import Clause
from service.domain.rules.settings import Setting
from service.domain.rules.truth import Column

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Sides = NDArray[np.signedinteger[Any]]
NOT_KNOWN = 2
"""The code of a side that is not known."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """The equivalence test that a hypothesis names for when its rule is false, over all fillings of what is missing."""

    holds: Bools
    """It finds equivalence whichever way it is filled in, (D,)."""
    p: Floats
    """The larger one-sided p of all fillings, (C, D); NaN where it has none."""
    alpha: float
    """Of each of its two one-sided tests; NaN where it is not known."""


class Evidence(Protocol):
    """One hypothesis. A way is a filling of what is missing: one, or two for a claim that must stand both."""

    @property
    def setting(self) -> Setting:
        """The hypothesis with its plan, endpoint, population and parsed rule."""

    @property
    def ways(self) -> int:
        """Fillings that the rule is read from."""

    def p_value(self, clause: Clause, way: int) -> Floats | None:
        """Return the p-value that a clause asks for, (C, D), NaN where it is undefined; None: it is not known here."""

    def observed(self, way: int, *, clusters_alike: bool) -> Column:
        """Candidate minus baseline, (D,): of all items, or of the means of the clusters."""

    def side(self, clause: Clause, way: int) -> Sides | None:
        """Return on which side of a value an interval lies that excludes it, or for whom a two-sided test speaks, (D,).

        1 above or the candidate, -1 below or the baseline, 0 neither, `NOT_KNOWN`; None where the observed difference
        tells.
        """

    @property
    def fallback(self) -> Fallback | None:
        """The equivalence test beside the rule; None without one, or where it is not known here."""
