"""Each plan's own key pair: made at the lock, released with the verdict or an unblinding, erased with the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.results import sealing
from service.errors import Blinded, Conflict, NotFound
from service.store.database.tables import plan_keys, plans
from service.store.plans.plans import read_first_sha256


def read_public(session: Session, preregistration_id: str) -> bytes:
    """Return what the plan's rows are sealed to."""
    return bytes(_read_row(session, preregistration_id).public_key)


def unwrap(session: Session, preregistration_id: str, seal_private: bytes) -> bytes:
    """Return the private half, which is sealed to the runner: only the runner holds `seal_private`."""
    info = sealing.key_info(preregistration_id, read_first_sha256(session, preregistration_id))
    row = _read_row(session, preregistration_id)
    if row.wrapped_key is None:
        raise _make_conflict(preregistration_id)
    return sealing.unseal(bytes(row.wrapped_key), seal_private, info)


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A private half as it is stored, and the plan it belongs to: as it was first locked."""

    preregistration_id: str
    plan_sha256: str
    wrapped_key: bytes = field(repr=False)


def find_newest(session: Session) -> WrappedKey | None:
    """Return the key of the plan that was locked last, of any project; None where none is locked, or all are erased."""
    statement = (
        sa.select(plan_keys.c.preregistration_id, plans.c.sha256, plan_keys.c.wrapped_key)
        .join(plans, plans.c.preregistration_id == plan_keys.c.preregistration_id)
        # Sealed to the plan as it was first locked: an amendment keeps the key and has another hash.
        .where(plan_keys.c.wrapped_key.is_not(None), plans.c.version == 1)
        .order_by(plans.c.locked_at.desc(), plan_keys.c.preregistration_id)
        .limit(1)
    )
    row = session.execute(statement).one_or_none()
    return None if row is None else WrappedKey(row[0], row[1], bytes(row[2]))


def release(session: Session, preregistration_id: str, private: bytes) -> None:
    """Let everybody who may read the plan read its rows; the record was judged or unblinded first."""
    row = _read_row(session, preregistration_id)
    if row.released_key is None:  # an unblinding may have come before the verdict
        session.execute(_update_key(preregistration_id).values(released_key=private))


def read_released(session: Session, preregistration_id: str) -> bytes:
    """Return the private half, once the verdict is there."""
    row = _read_row(session, preregistration_id)
    if row.wrapped_key is None:
        raise _make_conflict(preregistration_id)
    if row.released_key is None:
        raise Blinded(f"the rows of preregistration {preregistration_id} stay sealed until its verdict")
    return bytes(row.released_key)


def find_released(session: Session, preregistration_id: str) -> bytes | None:
    """Return the private half where it was released and is not erased."""
    key = _read_row(session, preregistration_id).released_key
    return None if key is None else bytes(key)


def is_released(session: Session, preregistration_id: str) -> bool:
    """Tell whether the private half is there to be read.

    Raises:
        Conflict: `erased`.
    """
    row = _read_row(session, preregistration_id)
    if row.wrapped_key is None:
        raise _make_conflict(preregistration_id)
    return row.released_key is not None


def erase(session: Session, preregistration_id: str) -> None:
    """Destroy the private half in every form: nobody opens the plan's rows again."""
    _read_row(session, preregistration_id)
    session.execute(_update_key(preregistration_id).values(wrapped_key=None, released_key=None))


def _make_conflict(preregistration_id: str) -> Conflict:
    return Conflict(f"the rows of preregistration {preregistration_id} have been erased", code="erased")


def _update_key(preregistration_id: str) -> sa.Update:
    return sa.update(plan_keys).where(plan_keys.c.preregistration_id == preregistration_id)


def _read_row(session: Session, preregistration_id: str) -> sa.Row[Any]:
    statement = sa.select(plan_keys).where(plan_keys.c.preregistration_id == preregistration_id)
    row = session.execute(statement).one_or_none()
    if row is None:
        raise NotFound(f"preregistration {preregistration_id} has no key: it is not locked")
    return row
