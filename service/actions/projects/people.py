"""People who sign in by a provider: what each may do is a key of every project that their groups open to them.

Such a key has a secret that nobody knows, so a session of a browser is the only thing that uses it. A key never
changes: whoever comes back with other groups gets another one, made by the one before it, so that no two of them pass
for two people.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from service.domain.access import SECRET_BYTES, Key, Scope, new_secret, secret_sha256
from service.errors import Unavailable
from service.store.projects import audit, keys, projects

PREFIX = "(sign-in)"
"""What keys of people have in the place of a secret's first characters: nobody holds their secret."""
MOST_NAME = 200
"""Characters of a name that a provider may give somebody."""
TRIES = 3
"""Times that a key is looked for or added, when other sign-ins of the same person get in between."""

Sign = Callable[..., str]
"""Keyed hash of parts under a purpose: `Keyring.fingerprint`."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who signed in: a subject of an issuer, which stays, and a name to show, which may change."""

    issuer: str
    subject: str
    name: str

    def stem(self, sign: Sign, project_id: str) -> str:
        """Derive what the ids of this person's keys in a project begin with; it tells nothing of who it is."""
        parts = (self.issuer.encode(), self.subject.encode(), project_id.encode())
        return f"person-{sign('person who signs in', *parts)[:32]}"


@dataclass(frozen=True, slots=True)
class OpenedProject:
    """A project that is open to somebody, and the key by which it is."""

    project: str
    key: Key


def sign_in(
    session: Session,
    person: Person,
    granted: Mapping[str, Sequence[Scope]],
    known: Sequence[str],
    *,
    sign: Sign,
    now: datetime,
) -> list[OpenedProject]:
    """Return the projects that are open to the person now, and revoke the person's keys of all others.

    Args:
        granted: scopes by name of a project, from the person's groups.
        known: names of every project that any group opens.
    """
    opened = []
    for name in dict.fromkeys([*granted, *known]):
        project_id = projects.get_by_name(session, name).id
        stem, scopes = person.stem(sign, project_id), tuple(granted.get(name, ()))
        key = _find_or_create_key(session, person.name, project_id, stem, scopes, now) if scopes else None
        for old in keys.read_keys_of_person(session, project_id, stem):
            if old.revoked_at is None and (key is None or old.id != key.id):
                keys.revoke(session, project_id, old.id, now)
                _audit(session, old, "key.revoke", now)
        if key is not None:
            opened.append(OpenedProject(name, key))
    return opened


def _find_or_create_key(
    session: Session, name: str, project_id: str, stem: str, scopes: tuple[Scope, ...], now: datetime
) -> Key:
    """Find the person's newest key if it has these scopes and this name, else create the next one."""
    for _ in range(TRIES):
        before = keys.read_keys_of_person(session, project_id, stem)
        if before and before[0].valid(now) and (before[0].scopes, before[0].name) == (scopes, name):
            return before[0]
        key = Key(
            id=f"{stem}-{len(before) + 1}",
            project_id=project_id,
            name=name,
            kind="person",
            scopes=scopes,
            prefix=PREFIX,
            created_at=now,
            created_by=before[0].id if before else None,
        )
        sha256 = secret_sha256(new_secret(secrets.token_bytes(SECRET_BYTES)))
        if keys.insert_if_new(session, key, sha256):
            _audit(session, key, "key.create", now)
            return key
        # Another sign-in of this person took the number first: the next turn finds that key, or takes the next number.
    raise Unavailable("this person signs in elsewhere at the same time; try again")


def _audit(session: Session, key: Key, action: str, now: datetime) -> None:
    facts = {"kind": key.kind, "scopes": list(key.scopes), "by": "sign-in"}
    audit.record_act(session, key, action, key.id, facts, now=now)
