"""API keys: make one, revoke one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from service.domain.access import Key, Scope, secret_prefix, secret_sha256
from service.errors import Forbidden, InvalidData
from service.store.projects import audit, keys
from service.words import message


def create(
    session: Session,
    caller: Key,
    *,
    project_id: str,
    name: str,
    kind: Literal["person", "job"],
    scopes: Sequence[Scope],
    expires_at: datetime | None,
    key_id: str,
    secret: str,
    now: datetime,
) -> Key:
    """Create a key of the project, which ends with its maker at the latest. Only the secret's hash is kept.

    Raises:
        Forbidden: a scope the caller does not have itself.
        InvalidData: an expiry in the past, or later than the caller's own.
    """
    lacking = [scope for scope in scopes if not caller.allows(scope)]
    if lacking:
        raise Forbidden(message("refusals.cannot_grant", scopes=", ".join(lacking)), code="scope_not_held")
    if expires_at is not None and expires_at <= now:
        raise InvalidData.field("expires_at", message("refusals.in_the_past"), message("refusals.name_later"))
    # A key must not outlive its maker: who was given access for a time would have it for good.
    if caller.expires_at is not None:
        expires_at = expires_at or caller.expires_at
        if expires_at > caller.expires_at:
            raise InvalidData.field(
                "expires_at", message("refusals.later_than_its_maker"), message("refusals.name_earlier")
            )
    key = Key(
        id=key_id,
        project_id=project_id,
        name=name,
        kind=kind,
        scopes=tuple(dict.fromkeys(scopes)),
        prefix=secret_prefix(secret),
        created_at=now,
        expires_at=expires_at,
        created_by=caller.id,
    )
    keys.insert(session, key, secret_sha256(secret))
    _audit(session, caller, "key.create", key, now)
    return key


def revoke(session: Session, caller: Key, project_id: str, key_id: str, *, now: datetime) -> Key:
    """Revoke a key of the project. To revoke it again changes nothing, and is not recorded."""
    before = keys.get(session, project_id, key_id)
    if before.revoked_at is not None:
        return before
    key = keys.revoke(session, project_id, key_id, now)
    _audit(session, caller, "key.revoke", key, now)
    return key


def _audit(session: Session, caller: Key, action: str, key: Key, now: datetime) -> None:
    """Record that the caller made or revoked a key, with its kind and scopes and without its secret."""
    audit.record(
        session,
        project_id=key.project_id,
        key_id=caller.id,
        action=action,
        subject=key.id,
        facts={"kind": key.kind, "scopes": list(key.scopes)},
        now=now,
    )
