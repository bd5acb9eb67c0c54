"""A plan as it was locked once: amendments lock it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from service.domain.plans.plan import Plan


@dataclass(frozen=True, slots=True)
class LockedPlan:
    """One version, its hash and its time."""

    plan: Plan
    sha256: str
    locked_at: datetime
