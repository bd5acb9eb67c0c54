"""What lint says of a plan."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from service.domain.plans.plan import Plan
from service.records import Record

ADVICE = frozenset(
    {"ARM_UNDESCRIBED", "JUDGE_UNDESCRIBED", "LOW_POWER", "SIZE_NOT_TESTED", "SPANNING_CLUSTERS"}
)
"""Warnings that the record keeps and the lock does not ask about: a small study is its author's choice, and so are
a size that is asked of the observed difference alone, and how much is said of an arm or a judge."""


class Finding(Record):
    """One gap, fault or risk of a plan. Errors block the lock; warnings are acknowledged by code."""

    code: str = Field(description="Stable, UPPER_SNAKE.")
    severity: Literal["error", "warning"]
    path: str = Field(description="Where in the plan, e.g. `hypotheses[0].rule`; empty for the whole plan.")
    message: str = Field(description="What is the matter, and the way out.")

    @property
    def asks(self) -> bool:
        """True for a warning that the lock must acknowledge."""
        return self.severity == "warning" and self.code not in ADVICE


def error(code: str, path: str, message: str) -> Finding:
    """Return a finding that blocks the lock."""
    return Finding(code=code, severity="error", path=path, message=message)


def warning(code: str, path: str, message: str) -> Finding:
    """Return a finding that the lock has to acknowledge, unless it is advice."""
    return Finding(code=code, severity="warning", path=path, message=message)


def name_at(plan: Plan, path: str) -> str:
    """Return the id of what a path leads to; empty where it leads to nothing that has one.

    Example:
        `hypotheses[1].rule` of a plan whose second hypothesis is H1b is "H1b".
    """
    match = re.match(r"([a-z_]+)\[(\d+)\]", path)
    section = None if match is None else getattr(plan, match[1], None)
    if match is None or not isinstance(section, list | tuple) or int(match[2]) >= len(section):
        return ""
    return str(getattr(section[int(match[2])], "id", ""))
