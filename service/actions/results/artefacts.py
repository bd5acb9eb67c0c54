"""Files of imports that are kept: put away sealed before the rows are stored, and given back once there is a verdict.

The file is there before its row is: a crash in between leaves a file that no row names, which `forelock objects` finds.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy.orm import Session

from service.actions.results.imports import open_imports
from service.domain.access import Key
from service.domain.plans.preregistration import Preregistration
from service.domain.results.sealed_files import KEY_BYTES, open_file, seal_file, sealed_bytes
from service.domain.results.secret_rows import SealBroken
from service.errors import ArtefactLost, Blinded, NotFound, Unavailable, refuse_when_full
from service.objects.objects import ObjectMissing, Objects, ObjectsAway
from service.store.database import clock
from service.store.database.engine import Database
from service.store.plans import plan_keys, preregistrations
from service.store.results import artefacts, imports
from service.store.results.artefacts import StoredArtefact
from service.store.results.imports import StoredImport

log = logging.getLogger("forelock.artefacts")
FORGOTTEN_AT_ONCE = 100
"""Files whose time is over, in one transaction."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where files are kept, and which."""

    objects: Objects
    most_bytes: int
    project_bytes: int
    days: float | None
    scratch: Path


@dataclass(frozen=True, slots=True)
class PutAway:
    """A sealed file that lies in its place, and that no row names yet."""

    object_sha256: str
    stored_bytes: int


def put_away(
    database: Database, keeping: Keeping, caller: Key, prereg_id: str, file: BinaryIO, size: int
) -> PutAway | None:
    """Seal a file to its plan and put it in its place; None where it is larger than what is kept.

    Nothing that is answered depends on whether it is kept: who posts could learn from it how much others did.

    Raises:
        Unavailable: `artefacts_away`.
    """
    stored = sealed_bytes(size)
    with database.read() as session:
        public = plan_keys.read_public(session, prereg_id)
        full = artefacts.count_bytes(session, caller.project_id) + stored > keeping.project_bytes
    if full or size > keeping.most_bytes:
        return None
    keeping.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    with refuse_when_full(), tempfile.TemporaryFile(dir=keeping.scratch) as sealed:
        key = secrets.token_bytes(KEY_BYTES)
        written = seal_file(file, size, sealed, key=key, plan_public=public, preregistration_id=prereg_id)
        sealed.flush()
        with _asking("nothing was stored; repeat the request"):
            keeping.objects.put(written.sha256, sealed)
    return PutAway(written.sha256, written.size)


def keep(session: Session, prereg_id: str, number: int, put: PutAway, now: datetime) -> None:
    """Say of an import where its file lies, in the transaction of its rows."""
    artefacts.keep(
        session,
        StoredArtefact(
            preregistration_id=prereg_id,
            number=number,
            object_sha256=put.object_sha256,
            stored_bytes=put.stored_bytes,
            kept_at=now,
        ),
    )


def take_back(keeping: Keeping, put: PutAway) -> None:
    """Remove a file whose import came to nothing; where that fails, `forelock objects` finds it."""
    try:
        keeping.objects.remove(put.object_sha256)
    except (ObjectsAway, OSError) as fault:
        log.warning("a file that no import names was left behind: %s", fault)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """The file of an import, once it may be known."""

    imported: StoredImport
    facts: Mapping[str, Any] = field(repr=False)
    kept: bool


def page(
    session: Session, record: Preregistration, *, cursor: str | None, limit: int
) -> tuple[Sequence[ListedFile], str | None]:
    """Return the files of a judged record's imports, newest first.

    Raises:
        Blinded: there is no verdict yet, whether or not anything was kept.
        Conflict: `erased`.
    """
    _require_open(session, record)
    stored, following = imports.read_page(session, record.id, cursor=cursor, limit=limit)
    there = artefacts.read_of_record(session, record.id)
    listed = [
        ListedFile(imported, facts or {}, imported.number in there)
        for imported, facts in open_imports(session, record, stored)
    ]
    return listed, following


def fetch(
    database: Database, keeping: Keeping | None, caller: Key, prereg_id: str, number: int, target: BinaryIO
) -> int:
    """Write the very file that was imported; returns its size.

    Raises:
        Blinded: there is no verdict yet.
        NotFound: no such import.
        ArtefactLost: it was not kept, or is not there any more, or is not what was imported.
        Unavailable: `artefacts_away`.
    """
    with database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        private = _require_open(session, record)
        imported = imports.find(session, record.id, number)
        if imported is None:
            raise NotFound(f"preregistration {prereg_id} has no import {number}")
        ((_, facts),) = open_imports(session, record, [imported])
        artefact = artefacts.read_of_record(session, record.id).get(number)
    if artefact is None:
        raise ArtefactLost(
            f"the file of import {number} is not kept here; whoever has it can show by its SHA-256 that it is the one"
        )
    if keeping is None:
        raise ArtefactLost(f"the file of import {number} was kept, and FORELOCK_ARTEFACTS is off now")
    assert facts is not None  # noqa: S101 - the key is released
    return _write(keeping, artefact, facts, private, target)


def _write(
    keeping: Keeping, kept: StoredArtefact, facts: Mapping[str, Any], private: bytes, target: BinaryIO
) -> int:
    """Write a kept file to `target` and return its size; ArtefactLost where it is gone or another."""
    size, hashing = int(facts["size"]), _Hashing(target)
    try:
        with _asking("repeat the request"):
            read = open_file(
                keeping.objects.read(kept.object_sha256),
                size,
                hashing,
                plan_private=private,
                preregistration_id=kept.preregistration_id,
            )
    except ObjectMissing:
        log.error("the file of import %d of %s is missing", kept.number, kept.preregistration_id)  # noqa: TRY400
        raise ArtefactLost(
            f"the file of import {kept.number} was kept, and is not in its place any more; a backup may have it"
        ) from None
    except SealBroken:
        read = None
    # The row's name and the seal could both be another's file of this record: the import itself says which it was.
    whole = read is not None and read.sha256 == kept.object_sha256 and hashing.hexdigest() == facts["sha256"]
    if not whole:
        log.error("the file of import %d of %s was altered", kept.number, kept.preregistration_id)
        raise ArtefactLost(
            f"the file of import {kept.number} is not the one that was kept: it was altered or cut off, and is not "
            "served; a backup may have it",
            code="artefact_altered",
        )
    return size


class _Hashing:
    """Writes on, and knows the hash of what was written."""

    def __init__(self, target: BinaryIO) -> None:
        self._target, self._digest = target, hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Write the opened file to its target."""
        self._digest.update(data)
        return self._target.write(data)

    def hexdigest(self) -> str:
        """Return the SHA-256 of all of it."""
        return self._digest.hexdigest()


def forget_old(database: Database, keeping: Keeping) -> int:
    """Forget files whose time is over: the rows first, since a row without its file would be a loss."""
    if keeping.days is None:
        return 0
    forgotten = 0
    while True:
        with database.write() as session:
            before = clock.read_now(session) - timedelta(days=keeping.days)
            names = artefacts.forget_before(session, before, most=FORGOTTEN_AT_ONCE)
        for name in names:
            keeping.objects.remove(name)
        forgotten += len(names)
        if len(names) < FORGOTTEN_AT_ONCE:
            return forgotten


def _require_open(session: Session, record: Preregistration) -> bytes:
    """Return the key that opens files: an unblinding lets rows be read, and files not before the verdict."""
    if record.judged_at is None:
        raise Blinded(f"the files of preregistration {record.id} stay sealed until its verdict")
    return plan_keys.read_released(session, record.id)


@contextmanager
def _asking(way_out: str) -> Iterator[None]:
    try:
        yield
    except ObjectsAway as fault:
        log.warning("files cannot be kept or read: %s", fault)
        raise Unavailable(
            f"the place where files are kept does not answer: {way_out}", code="artefacts_away"
        ) from None
