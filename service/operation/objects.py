"""Where files of imports are kept, as the settings have it; what an operator looks after there."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from service.actions.results.artefacts import Keeping
from service.config import Settings
from service.keyring.keyring import Keyring
from service.objects.directory import Directory
from service.objects.objects import ObjectMissing, Objects, ObjectsAway
from service.operation.starting import CannotStart, require_answer, require_keys
from service.store.database import schema
from service.store.database.backups import BackupFailed
from service.store.database.engine import Database
from service.store.results import artefacts
from service.store.results.artefacts import StoredArtefact

GRACE = timedelta(hours=1)
"""A file lies in its place before its row does, for as long as an import takes: younger ones are nobody's fault."""


def keeping_of(settings: Settings, keyring: Keyring) -> Keeping | None:
    """Return what the settings say of files; None where none are kept.

    Raises:
        CannotStart: a package is lacking, or the variables of AWS do not fit together.
    """
    if settings.artefacts == "off":
        return None
    return Keeping(
        objects=_objects_of(settings, keyring),
        most_bytes=settings.artefact_bytes,
        project_bytes=settings.project_artefact_bytes,
        days=settings.artefact_days,
        scratch=settings.data_dir / "scratch",
    )


def require_usable(settings: Settings) -> None:
    """Refuse a bucket where nothing speaks to one, before anything starts.

    Raises:
        CannotStart: naming the package.
    """
    if settings.artefacts.startswith("s3://") and find_spec("obstore") is None:
        raise CannotStart(
            "FORELOCK_ARTEFACTS names a bucket, and the package that speaks to one is not installed: install "
            "forelock-server[s3], or set FORELOCK_ARTEFACTS=directory"
        )


def _objects_of(settings: Settings, keyring: Keyring) -> Objects:
    """Return the directory or the bucket where files of imports are kept."""
    if settings.artefacts == "directory":
        return Directory(settings.data_dir / "artefacts")
    require_usable(settings)
    from service.objects.bucket import bucket_of

    place = urlsplit(settings.artefacts)
    # A folder of this deployment's own: two that share a bucket neither read nor sweep each other's.
    own = keyring.fingerprint("artefacts")[:16]
    try:
        return bucket_of(place.netloc, "/".join([*place.path.strip("/").split("/"), own]).lstrip("/"))
    except ObjectsAway as fault:
        raise CannotStart(f"FORELOCK_ARTEFACTS: {fault}") from None


@dataclass(frozen=True, slots=True)
class Standing:
    """How the rows of kept files stand against the objects."""

    named: int
    stored_bytes: int
    missing: list[StoredArtefact]
    altered: list[StoredArtefact]
    orphans: list[str]
    """Objects that no row names, and that are older than an import takes."""


def compare(settings: Settings, *, read: bool, remove: bool) -> Standing:
    """Hold every row against its object; `read` reads each of them, `remove` takes away what no row names.

    Raises:
        CannotStart: nothing is kept, or the place does not answer.
    """
    before = datetime.now(UTC) - GRACE
    with _open(settings) as (database, objects):
        # Objects first: one that is put meanwhile is young, and a row that comes meanwhile has its object already.
        there = {stored.name: stored for stored in objects.every()}
        with database.read() as session:
            rows = list(artefacts.read_all(session))
        referenced = {row.object_sha256 for row in rows}
        missing = [
            row
            for row in rows
            if row.object_sha256 not in there and not _is_there(objects, row.object_sha256)
        ]
        lost = {row.object_sha256 for row in missing}
        altered = [
            row
            for row in rows
            if row.object_sha256 not in lost
            and (
                ((stored := there.get(row.object_sha256)) is not None and stored.size != row.stored_bytes)
                or (read and _hash_object(objects, row.object_sha256) != row.object_sha256)
            )
        ]
        orphans = [
            name for name, stored in there.items() if name not in referenced and stored.modified_at < before
        ]
        if remove:
            for name in orphans:
                objects.remove(name)
            objects.tidy(before)
    return Standing(len(rows), sum(row.stored_bytes for row in rows), missing, altered, sorted(orphans))


def describe(standing: Standing, *, removed: bool) -> list[str]:
    """Return what was compared, in lines."""
    lines = [f"{standing.named} files are kept ({standing.stored_bytes} bytes)"]
    for words, rows in (("missing", standing.missing), ("altered", standing.altered)):
        lines += [f"{words}     import {row.number} of {row.preregistration_id}" for row in rows]
    if standing.orphans:
        done = "removed" if removed else "take them away with --remove"
        lines.append(f"{len(standing.orphans)} files that no import names: {done}")
    return lines


def back_up(settings: Settings, directory: Path) -> list[str]:
    """Copy every kept file to a directory, which may hold some already; what was copied, in lines.

    Raises:
        BackupFailed: a file is missing or altered; the others are copied.
    """
    target = Directory(directory)
    with _open(settings) as (database, objects):
        names = _names(database)
        copied, lost = _copy(objects, target, names)
    if lost:
        raise BackupFailed(
            f"{len(lost)} kept files are missing or altered: `forelock objects --read` names them"
        )
    return [f"artefacts   {directory} ({len(names)} files, {copied} of them new)"]


def restore(settings: Settings, directory: Path) -> list[str]:
    """Put files from such a directory back where they are lacking; what was put back, in lines.

    Raises:
        BackupFailed: the directory is none, or lacks files that the database names.
    """
    if not directory.is_dir():
        raise BackupFailed(f"{directory} is no directory: name what `forelock backup artefacts` wrote")
    source = Directory(directory)
    with _open(settings) as (database, objects):
        names = _names(database)
        copied, lost = _copy(source, objects, names)
    if lost:
        raise BackupFailed(
            f"{directory} lacks {len(lost)} files that the database names; the others are back"
        )
    return [f"artefacts   {len(names)} files are there, {copied} of them put back"]


def _names(database: Database) -> list[str]:
    """Of every object that the database names."""
    with database.read() as session:
        return [row.object_sha256 for row in artefacts.read_all(session)]


def _copy(source: Objects, target: Objects, names: list[str]) -> tuple[int, list[str]]:
    """Say how many were copied, and which could not be; what is there whole already is left."""
    copied, lost = 0, []
    for name in names:
        if _hash_object(target, name) == name:
            continue
        with tempfile.TemporaryFile() as file:
            if _hash_object(source, name, file) == name:
                target.put(name, file)
                copied += 1
            else:
                lost.append(name)
    return copied, lost


def _hash_object(objects: Objects, name: str, copy: BinaryIO | None = None) -> str | None:
    """Return the SHA-256 of an object in hex, None if it is not there; its bytes are written to `copy` if given."""
    digest = hashlib.sha256()
    try:
        for piece in objects.read(name):
            digest.update(piece)
            if copy is not None:
                copy.write(piece)
    except ObjectMissing:
        return None
    return digest.hexdigest()


def _is_there(objects: Objects, name: str) -> bool:
    try:
        return next(iter(objects.read(name)), None) is not None
    except ObjectMissing:
        return False


@contextmanager
def _open(settings: Settings) -> Iterator[tuple[Database, Objects]]:
    """The database, and the place of its files."""
    database = Database(settings.url, pool_size=2)
    try:
        require_answer(database)
        schema.require_current(database.engine)
        if settings.artefacts == "off":
            raise CannotStart("FORELOCK_ARTEFACTS is off: name the place where files are kept")
        yield database, _objects_of(settings, require_keys(settings, database))
    except ObjectsAway as fault:
        raise CannotStart(f"FORELOCK_ARTEFACTS: {fault}") from None
    finally:
        database.dispose()
