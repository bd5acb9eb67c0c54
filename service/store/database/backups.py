"""A copy of the whole database as one file, and a database made from one.

SQLite copies itself with VACUUM INTO: one committed state, while others write, without what was erased. Its online
backup would begin anew with every write of another process. Postgres is copied by pg_dump and restored by pg_restore:
they know every type, trigger and sequence, and the operator knows them.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import sqlalchemy as sa
from psycopg.conninfo import make_conninfo
from sqlalchemy.engine import URL

from forelock import files
from service.errors import ForelockError
from service.store.database import guards, roles, schema
from service.store.database.engine import Database

Kind = Literal["sqlite", "postgresql"]
_HEADS: dict[bytes, Kind] = {b"SQLite format 3\0": "sqlite", b"PGDMP": "postgresql"}
_BESIDE = ("", "-wal", "-shm", "-journal")


class BackupFailed(ForelockError):
    """A copy could not be made, or is none."""

    code, title = "backup_failed", "The copy cannot be made or used"


def find_kind(file: Path) -> Kind | None:
    """Return which database a file is a copy of, by its first bytes; None when of neither."""
    with file.open("rb") as opened:
        begins = opened.read(16)
    return next((kind for head, kind in _HEADS.items() if begins.startswith(head)), None)


def copy(database: Database, file: Path) -> None:
    """Write one committed state to a file, which is on the disk and was read through when this returns.

    Raises:
        BackupFailed: a program is missing or has refused, or the copy is damaged.
        FileExistsError: there is such a file.
    """

    def write(draft: Path) -> None:
        if database.dialect == "sqlite":
            with database.engine.connect() as connection:  # no transaction: VACUUM refuses to run in one
                connection.connection.cursor().execute("VACUUM INTO ?", (str(draft),)).close()
            # Read through before it gets its name: a damaged copy is worse than none, since nobody looks at it
            # until it counts.
            _require_sound(draft)
            return
        _run("pg_dump", database.url, ["--format=custom", "--no-owner", "--no-privileges", f"--file={draft}"])
        _run("pg_restore", None, ["--list", str(draft)])

    new_file(file, write)


def restore(database: Database, file: Path) -> None:
    """Make a database from a copy, where there is none; it comes whole or not at all.

    Raises:
        BackupFailed: the file is no copy of such a database, or is damaged; there is a database already.
        SchemaUnknown: a newer release made it.
    """
    kind, wanted = find_kind(file), database.dialect
    if kind is None:
        raise BackupFailed(f"{file} is no copy of a database: name what `forelock backup database` wrote")
    if kind != wanted:
        names = {"sqlite": "SQLite", "postgresql": "Postgres"}
        raise BackupFailed(
            f"{file} is a copy of {names[kind]}, and FORELOCK_DATABASE_URL says {names[wanted]}: "
            + ("unset it" if kind == "sqlite" else "set it to an empty database")
        )
    if kind == "sqlite":
        _restore_sqlite(Path(str(database.url.database)), file)
        return
    _require_empty(database)
    options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    _run("pg_restore", database.url, [*options, str(file)])


def settle(database: Database) -> list[str]:
    """Give the roles of a restored database what they need; what its guards lack, in words.

    An older schema gets both with `forelock migrate`.
    """
    if schema.read_revision(database.engine) != schema.find_newest_revision():
        return []
    if database.dialect == "postgresql":
        with database.engine.begin() as connection:
            roles.grant(connection)
    return guards.find_faults(database.engine)


def new_file(file: Path, write: Callable[[Path], None]) -> None:
    """Let a draft beside the file be written, and put it in its place: whole, on the disk, readable by its owner alone.

    Raises:
        FileExistsError: there is such a file, and it stays.
    """
    if file.exists():
        raise FileExistsError(17, "is there already; name a new file", str(file))
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}.draft")
    # Made here, so that it is nobody else's file or link, and nobody else's to read while it is written.
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        write(draft)
        # Content to the disk, then the name, then the directory that holds the name: whatever the machine does in
        # between, a file of that name is whole. A link, not a rename, since a rename would replace a file made
        # meanwhile.
        files.sync(draft)
        os.link(draft, file)
        files.sync(file.parent)
    finally:
        draft.unlink(missing_ok=True)


def _restore_sqlite(target: Path, file: Path) -> None:
    """Copy the file to `target`, where there may be no database; the copy is checked before it has that name."""
    # A journal without its file counts as well: SQLite would play a stranger's journal into the copy.
    left = [str(path) for suffix in _BESIDE if (path := Path(f"{target}{suffix}")).exists()]
    if left:
        raise BackupFailed(
            f"a database is here already ({', '.join(left)}): name a new directory with --data, or move it away"
        )

    def write(draft: Path) -> None:
        shutil.copyfile(file, draft)
        _require_sound(draft)

    new_file(target, write)


def _require_sound(file: Path) -> None:
    """Read a copy through. It is not opened as a database is: that would write to it."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as opened:
            faults = [row[0] for row in opened.execute("PRAGMA integrity_check(1)") if row[0] != "ok"]
            if faults:
                raise BackupFailed(f"{file} is damaged ({faults[0]}): use another copy")
            version = opened.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise BackupFailed(f"{file} cannot be read as a database of Forelock: {error}") from error
    schema.require_known(None if version is None else version[0])


def _require_empty(database: Database) -> None:
    if sa.inspect(database.engine).get_table_names():
        raise BackupFailed(
            f"the database '{database.url.database}' holds tables already: make a new one (createdb) and name it in "
            "FORELOCK_DATABASE_URL"
        )


def _run(program: str, url: URL | None, options: Sequence[str]) -> None:
    """Run a program of Postgres. The password goes by the environment, which other users do not see."""
    executable = shutil.which(program)
    if executable is None:
        raise BackupFailed(
            f"{program} is not on PATH: install the client programs of Postgres, in the server's version or a newer "
            "one, or run this where they are"
        )
    environment, place = dict(os.environ), []
    if url is not None:
        names = {"username": "user", "database": "dbname"}
        given = {names.get(name, name): value for name, value in url.translate_connect_args().items()}
        given |= {name: value if isinstance(value, str) else value[-1] for name, value in url.query.items()}
        # Arguments are seen by every user of the machine (ps), the environment by its owner alone.
        if password := given.pop("password", None):
            environment["PGPASSWORD"] = str(password)
        if "sslpassword" in given:
            raise BackupFailed(
                f"sslpassword in FORELOCK_DATABASE_URL would be seen by whoever lists processes, and {program} takes "
                "it no other way: name a client key without one"
            )
        place = [f"--dbname={make_conninfo('', **given)}"]
    done = subprocess.run(  # noqa: S603
        [executable, *place, *options],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        complaint = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        raise BackupFailed(complaint or f"{program} ended with status {done.returncode}")
