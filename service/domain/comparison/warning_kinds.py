"""Warnings that a gate and a score give beside those of their statistical tests."""

from __future__ import annotations

from service.stats.shared.declaring.warnings import WarningKind

MISSING_RESULTS = WarningKind("MISSING_RESULTS", "caution", "Horowitz & Manski (2000), JASA 95:77")
TASKS_LACKING = WarningKind("TASKS_LACKING", "serious", None)
KINDS = (MISSING_RESULTS, TASKS_LACKING)
