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
KINDS = (MISSING_RESULTS,)
