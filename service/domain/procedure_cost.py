"""What simulating one data set of a plan costs, in nanoseconds, told before anything is drawn.

Measured on one core and rounded up; what is bounded by it is the same on every machine.
"""

from __future__ import annotations

from service.domain.feeding import parameter
from service.domain.lint_settings import Use
from service.domain.procedure import Group, Procedure

BASE = 2_000
"""Of any test on any data set."""

COUNTED, RESAMPLED_COUNTS = 5_000, 20_000
"""Of a test that sees counts alone: by a formula, by the distribution of its bootstrap."""

RESAMPLED, SWAPPED = 80_000, 60_000
"""Of sorting the resamples, and of flipping the signs, of one data set."""


def nanoseconds(procedure: Procedure) -> float:
    """All groups and their tests together."""
    return sum(_group(group) for group in procedure.groups)


def _group(group: Group) -> float:
    units = len(group.sizes)
    total: float = BASE + units * (600 if group.binary and group.clustered else 150 if group.binary else 50)
    for setting in group.settings:
        for use in setting.uses.values():
            total += BASE + _test(group, use, units)
    return total


def _test(group: Group, use: Use, units: int) -> float:
    name, method = use.test.name, parameter(use.use, "method")
    resamples = name in ("cluster-bootstrap", "paired-bootstrap") or method == "bootstrap_ci"
    if group.order is not None:
        return 100 * units if group.order.spending is None else 10_000 * len(group.order.looks) + 80 * units
    if group.binary and not group.clustered:
        return RESAMPLED_COUNTS if resamples else COUNTED
    if resamples:
        return RESAMPLED + 150 * units
    if method == "sign_flip" or name == "randomization":
        return SWAPPED + (150 if group.binary else 800) * units
    return 80 * units
