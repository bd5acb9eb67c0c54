"""A simulated level: the greatest chance that a rule holds, over worlds in which its claim only just fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from service.domain.power.answers.level_records import RuleLevel
from service.kernels.planning.cluster_power import simulated_power

World = tuple[NDArray[np.bool_] | None, Mapping[str, object]]
"""In which data sets the rule holds (D,), None where it is not simulated; and what is true, as fields of the level."""


def find_greatest_level(base: RuleLevel, worlds: Iterable[World], not_simulated: str) -> RuleLevel:
    """Return the level in the first world where it is greatest, with what is true there; or why there is none."""
    best: tuple[float, float, Mapping[str, object]] | None = None
    for held, where in worlds:
        if held is None:
            return base.model_copy(update={"reason": not_simulated})
        level, error = simulated_power(held)
        if best is None or level > best[0]:
            best = level, error, where
    assert best is not None  # noqa: S101 - there is a world
    level, error, where = best
    update = {"level": level, "method": "simulated", "standard_error": error, **where}
    return base.model_copy(update=update)
