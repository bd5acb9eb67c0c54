"""What the joint critical value of all pairs leaves a single one, and which pairs it tells nothing of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.randomization.max_t import ManyArms
from service.kernels.randomization.partial_arms import PartialArms

Floats = NDArray[np.float64]


def level_of(units: ManyArms | PartialArms, critical: float) -> float:
    """Two-sided level of a single pair."""
    if isinstance(units, PartialArms):
        return 2 * float(special.ndtr(-critical))
    return 2 * float(special.stdtr(units.n_units - 1, -critical))


def on_joint_scale(units: ManyArms | PartialArms, chance: Floats) -> Floats:
    """What has such a one-sided chance, on the scale of the critical value."""
    if isinstance(units, PartialArms):
        return np.asarray(-special.ndtri(chance))
    return np.asarray(-special.stdtrit(units.n_units - 1, chance))


def steadily_apart(units: ManyArms | PartialArms) -> NDArray[np.bool_]:
    """Pairs that differ by the same amount everywhere, so that there is no spread to studentize by. Shape (P,)."""
    gaps = np.nan_to_num(units.differences)
    return np.asarray((units.squares == 0) & ~units.sparse & (gaps != 0))
