"""What became of every item of a judged hypothesis."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.actions.verdicts.opening import open_rows
from service.domain.plans.preregistration import Preregistration
from service.domain.recent import Recent
from service.domain.verdicts.item_differences import ItemDifference, item_differences
from service.store.plans import plan_keys

_DIFFERENCES: Recent[tuple[str, str], tuple[ItemDifference, ...]] = Recent(200_000)
"""By record and hypothesis: rows and verdict stay as they are."""


def differences(session: Session, record: Preregistration, hypothesis: str) -> tuple[ItemDifference, ...]:
    """Return the items that a hypothesis was judged on, with what each arm had.

    Raises:
        Conflict: `blinded` or `erased`, or more rows than a request computes with.
    """
    known = record.id, hypothesis
    plan_keys.read_released(session, record.id)  # whoever asks must find the rows readable, every time
    items = _DIFFERENCES.get(known)
    if items is None:
        rows = open_rows(session, record)
        setting = rows.resolved.of(hypothesis)
        items = () if setting is None else item_differences(setting, rows)
        _DIFFERENCES.add(known, items, len(items) + 1)
    return items
