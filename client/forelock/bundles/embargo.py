"""The end of an embargo: at most one entry of the log says that the record became public, on the day of the plan."""

from __future__ import annotations

from typing import Any

from forelock.bundles.faults import Broken
from forelock.bundles.findings import Report
from forelock.bundles.record import Record


def check_published(record: Record, plan: dict[str, Any], report: Report) -> None:
    """Compare the entry of an embargo's end with the plan, and say that there is one.

    Raises:
        Broken: there are two, or it names another day than the plan.
    """
    for entry in record.published:
        if len(record.published) > 1 or entry.body.get("embargo_until") != plan.get("embargo_until"):
            raise Broken(
                f"entry {entry.index} of the log ends another embargo than the plan names, or ends it again"
            )
        day = entry.body.get("embargo_until")
        report.marks.append(
            f"The record became public at the end of its embargo, {day} (entry {entry.index})."
        )
