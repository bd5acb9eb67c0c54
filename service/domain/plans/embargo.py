"""Embargoes: until when a plan says that nobody outside the project reads its record."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from service.domain.plans.plan import Plan
from service.errors import InvalidData


def end_of(day: date) -> datetime:
    """Return when an embargo ends that lasts until a day: where that day begins, in UTC.

    Example:
        >>> end_of(date(2027, 3, 31)).isoformat()
        '2027-03-31T00:00:00+00:00'
    """
    return datetime.combine(day, time(), UTC)


def end_ahead(plan: Plan, now: datetime, *, path: str = "embargo_until") -> datetime | None:
    """Return when the embargo of a plan that is locked now ends; None: it names none.

    Raises:
        InvalidData: it would be over already, and the record public the moment it is locked.
    """
    if plan.embargo_until is None:
        return None
    end = end_of(plan.embargo_until)
    if end <= now:
        raise InvalidData.field(
            path,
            f"is {plan.embargo_until}, and that day has begun: locked now, the record would be public at once",
            "name a later day, or leave it out and set the visibility yourself",
        )
    return end
