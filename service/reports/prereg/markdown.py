"""EXPERIMENTS_PREREG.md read: a file becomes a draft with a list of gaps. `print_plan` goes the other way."""

from __future__ import annotations

from service.domain.lint.lint import lint
from service.domain.plans.plan import Plan
from service.reports.prereg.gaps import MAX_GAPS, Gap, of_lint
from service.reports.prereg.read import read_plan


def parse_plan(text: str) -> tuple[Plan, tuple[Gap, ...]]:
    """Return the draft a file describes, and what stands between it and the lock.

    What was assumed or not read comes first, by line; then lint errors. What `print_plan` writes reads back as
    the same plan, without any assumption.
    """
    plan, value, notes = read_plan(text)
    gaps = [*notes.gaps(value), *of_lint(lint(plan, {}), value)]
    if len(gaps) > MAX_GAPS:
        more = f"{len(gaps) - MAX_GAPS + 1} more are not listed: mend those above, and post the file again"
        gaps[MAX_GAPS - 1 :] = [Gap(code="UNREAD", path="", line=None, message=more)]
    return plan, tuple(gaps)
