"""What simulating data sets of a plan costs, in nanoseconds, told before anything is drawn.

Measured on one core and rounded up; what is bounded by it is the same on every machine.
"""

from __future__ import annotations

from functools import partial

from service.domain.power.procedure.procedure import Group, Procedure
from service.domain.rules.feeding import parameter
from service.domain.rules.settings import Use
from service.stats.shared.declaring.simulated import Effort

BASE = 2_000
"""What any test costs on any data set."""

COUNTED, RESAMPLED_COUNTS = 5_000, 20_000
"""Of a test that sees counts alone: by a formula, by the distribution of its bootstrap."""

BOUNDED, MOST_BOUNDED = 2_500, 128
"""Of bounding the mean from both sides, for every value up to so many, over which more are spread."""

FLIPPED, FLIPPED_UNIT, BLOCKS, OF_ITEM = 150_000, 4_000, 40_000, 80
"""Of bounding a mean in clusters: of sorting means of sets of them, for every cluster, for every cluster that is
bounded as a whole, and of drawing an item."""

LABELLED = 120
"""Of an item whose score a judge gives, and whose label people may."""

RESAMPLED, SWAPPED = 80_000, 60_000
"""Of sorting the resamples, and of flipping the signs, of one data set."""


BLOCK, READ = 2_000_000, 1_500_000
"""Of a block of data sets, however few: for every group, and for every test of a hypothesis."""


def overhead(procedure: Procedure) -> float:
    """Return what one block costs before its data sets are counted."""
    return sum(
        BLOCK + READ * sum(len(setting.uses) for setting in group.settings) for group in procedure.groups
    )


def nanoseconds(procedure: Procedure) -> float:
    """Return what one data set costs, all groups and their tests together."""
    return sum(_group(group) for group in procedure.groups)


def _group(group: Group) -> float:
    units = len(group.sizes)
    total: float = BASE + units * (600 if group.binary and group.clustered else 150 if group.binary else 50)
    for setting in group.settings:
        for use in setting.uses.values():
            total += BASE + _compute_test_cost(group, use, units)
    return total


def _compute_test_cost(group: Group, use: Use, units: int) -> float:
    """Nanoseconds to judge one use of a test in one data set."""
    effort = _effort(use)
    if group.labels is not None and not group.binary:
        return LABELLED * units
    if group.order is not None:
        return 100 * units if group.order.spending is None else 10_000 * len(group.order.looks) + 80 * units
    if group.binary and not group.clustered:
        return RESAMPLED_COUNTS if effort == "resampled" else COUNTED
    if effort == "resampled":
        return RESAMPLED + 150 * units
    if effort == "swapped":
        return SWAPPED + (150 if group.binary else 800) * units
    if effort == "bounded":
        return _bounding(units, group.clustered, int(group.sizes.sum())) + 80 * units
    return 80 * units


def of_test(use: Use, units: int, *, binary: bool, items: int | None) -> float:
    """Return what one test costs on a data set of so many units, clusters of `items`, that is looked at once."""
    effort = _effort(use)
    if effort == "resampled":
        return RESAMPLED + 150 * units
    if effort == "swapped":
        return SWAPPED + (150 if binary else 800) * units
    if effort == "bounded":
        return _bounding(units, items is not None, items or 0) + 200 * units
    return BASE + 200 * units


def _effort(use: Use) -> Effort:
    plan = use.test.plan
    if plan is None or plan.simulated is None:
        return "summed"
    return plan.simulated.effort(partial(parameter, use.use))


def _bounding(units: int, clustered: bool, items: int) -> float:
    """What bounding a mean from both sides costs; in clusters also flipping their signs, and clusters not seen."""
    if not clustered:
        return BOUNDED * min(units, MOST_BOUNDED)
    return BOUNDED * min(items, MOST_BOUNDED) + FLIPPED + (FLIPPED_UNIT + BLOCKS) * units + OF_ITEM * items
