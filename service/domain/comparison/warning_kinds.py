"""Warnings that a gate and a score give beside those of their statistical tests."""

from __future__ import annotations

from service.stats.shared.declaring.warnings import WarningKind

MISSING_RESULTS = WarningKind(
    "MISSING_RESULTS",
    "caution",
    "{items} of {n} items without a result, more than one in twenty or enough to change the answer: what it would be, "
    "and with which interval, if every missing outcome were the worst there could be. `serious` where that is another "
    "answer.",
    "Horowitz & Manski (2000), JASA 95:77",
)
TASKS_LACKING = WarningKind(
    "TASKS_LACKING",
    "serious",
    "{count} of the suite's tasks without any item that has a result ({where}): {names}. The suite is of the others "
    "alone, which is another suite.",
    None,
)
KINDS = (MISSING_RESULTS, TASKS_LACKING)
