"""The connection to SQLite or Postgres: how transactions begin, and which pragmas hold."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, ExceptionContext, make_url
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry
from typing_extensions import override

from service.errors import ForelockError, ReadOnly, RecordAltered, StorageFull, Unavailable
from service.store.database import integrity
from service.store.database.integrity import Alteration

BUSY_SECONDS = 30
"""How long a write waits for another one before it answers 503."""
IDLE_SECONDS = 1.0
"""A connection to Postgres that was idle for longer is tried before it is used."""
TOLD_SECONDS = 10.0
"""A row that is found altered again within this time is not told again."""

_NO_WAITING = sa.text("SET LOCAL synchronous_commit TO OFF")
_PASSING = ("starting up", "shutting down", "recovery mode", "too many", "remaining connection slots")
"""Refusals of a Postgres that will soon take connections again."""

_WRITES = "forelock_writes"
_UNFLUSHED = "forelock_unflushed"
_LEVEL = "synchronous"
_RETRYABLE = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.TooManyConnections,
    psycopg.errors.AdminShutdown,
    psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow,
)


_URL_FORM = "FORELOCK_DATABASE_URL must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/NAME"

_SQLITE_AWAY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
"""The last two: no descriptor is left to open a file, or the disk failed."""


class UnknownDatabase(ForelockError):
    """The database URL names neither SQLite nor Postgres."""

    code, title = "unknown_database", "The database URL is not supported"


@dataclass(frozen=True, slots=True)
class Silence:
    """Why a database does not answer, for its operator: no client is told."""

    sentence: str
    final: bool
    """Waiting does not help."""


class _Session(Session):
    """A session of plain statements: nothing here is mapped, and the way through the mapper takes time."""

    @override
    def execute(self, statement: Any, params: Any = None, **_options: Any) -> Any:
        return self.connection().execute(statement, params)

    @override
    def scalar(self, statement: Any, params: Any = None, **_options: Any) -> Any:
        return self.connection().scalar(statement, params)

    @override
    def scalars(self, statement: Any, params: Any = None, **_options: Any) -> Any:
        return self.connection().scalars(statement, params)


class Database:
    """One database, and the two ways to use it: `read` and `write`."""

    def __init__(self, url: str, *, pool_size: int = 20) -> None:
        self.url = _parse_url(url)
        self.engine = _create_engine(self.url, pool_size)
        self._writing = self.engine.execution_options(**{_WRITES: True})
        self._unflushed = self.engine.execution_options(**{_WRITES: True, _UNFLUSHED: True})
        self.is_full = False
        """The last write found no room on the disk."""
        self.is_read_only = False
        """The last write was refused since the database takes none."""
        self._known = integrity.Known()
        self._told: dict[Alteration, float] = {}

    @property
    def dialect(self) -> str:
        """The name of the database's dialect, as SQLAlchemy has it: `sqlite` or `postgresql`."""
        return self.engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a session that sees one committed state on SQLite, committed rows on Postgres; it keeps nothing."""
        with (
            self._findings() as info,
            _unavailable_when_full(),
            _Session(self.engine, autoflush=False, info=info) as session,
        ):
            yield session

    @contextmanager
    def write(self, *, flush: bool = True) -> Iterator[Session]:
        """Open a session that commits on leaving without an error, and rolls back otherwise.

        The transaction begins with the first statement; on SQLite it takes the write lock there. Without `flush` its
        commit does not wait for the disk: when the machine stops, what was written last may be gone, and nothing else.
        """
        try:
            with (
                self._findings() as info,
                _unavailable_when_full(),
                _Session(self._writing if flush else self._unflushed, autoflush=False, info=info) as session,
                session.begin(),
            ):
                if not flush and self.dialect == "postgresql":
                    session.execute(_NO_WAITING)
                yield session
        # Noted for `/health`, and taken back by the first write that commits.
        except StorageFull:
            self.is_full = True
            raise
        except ReadOnly:
            self.is_read_only = True
            raise
        self.is_full = self.is_read_only = False

    def forget_pages(self) -> None:
        """Copy SQLite's journal into its file and empty it: an erased key is then in neither. Others may hold it up."""
        if self.dialect == "sqlite":
            with suppress(ForelockError, sa.exc.DBAPIError), self.engine.connect() as connection:
                connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").close()

    def why_silent(self) -> Silence | None:
        """Return why the database does not answer; None when it does."""
        try:
            with self.engine.connect() as connection:
                connection.exec_driver_sql("SELECT 1")
        except ForelockError as error:
            return _describe_silence(self.url, error.__cause__ or error)
        except sa.exc.DBAPIError as error:
            return _describe_silence(self.url, error.orig or error)
        return None

    def why(self, error: Unavailable) -> str:
        """Say what `error` means to the operator: which database, where it is, and the cause in the driver's words."""
        return (
            error.detail if error.__cause__ is None else _describe_silence(self.url, error.__cause__).sentence
        )

    @contextmanager
    def _findings(self) -> Iterator[dict[str, Any]]:
        """Keep what a session finds altered, in a transaction of its own: the session's may have been rolled back."""
        findings: set[Alteration] = set()
        try:
            yield {integrity.FOUND: findings, integrity.KNOWN: self._known}
        except RecordAltered as error:
            findings.add(Alteration(error.kind, error.subject))
            raise
        finally:
            if findings:
                self._report_alterations(findings)

    def _report_alterations(self, findings: set[Alteration]) -> None:
        """Report altered rows in the log and in the database, the same one at most once in `TOLD_SECONDS`."""
        now = time.monotonic()
        findings = {
            finding for finding in findings if now - self._told.get(finding, -TOLD_SECONDS) >= TOLD_SECONDS
        }
        self._told |= dict.fromkeys(findings, now)
        if not findings:
            return
        for finding in findings:
            integrity.tell(finding)
        # told above, whatever becomes of this; and found again at the next reading
        with suppress(Exception), _Session(self._writing, autoflush=False) as session, session.begin():
            integrity.keep(session, findings, datetime.now(UTC))

    def dispose(self) -> None:
        """Close every pooled connection; the database can be used again, with new ones."""
        self.engine.dispose()


def _parse_url(url: str) -> URL:
    """Parse the address of a database, which is a file of SQLite or a database of Postgres, reached by psycopg."""
    try:
        parsed = make_url(url)
    except (sa.exc.ArgumentError, ValueError):  # the second: a port that is no number
        raise UnknownDatabase(_URL_FORM) from None
    if parsed.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername in ("sqlite", "sqlite+pysqlite") and parsed.database not in (None, "", ":memory:"):
        return parsed
    raise UnknownDatabase(_URL_FORM)


def _describe_silence(url: URL, error: BaseException) -> Silence:
    """Describe why a database does not answer, and whether waiting would help."""
    reason = " ".join(str(error).split())
    if url.get_backend_name() == "sqlite":
        why = _describe_obstacle(Path(str(url.database))) or reason
        return Silence(f"the database file {url.database} cannot be used: {why}", final=True)
    final = "FATAL:" in reason and not any(word in reason for word in _PASSING)
    reason = (
        reason.rpartition("FATAL:")[2].strip()
        if "FATAL:" in reason
        else reason.removeprefix("connection failed: ")
    )
    return Silence(
        f"the database '{url.database}' at {_describe_place(url)} does not answer: {reason}", final
    )


def _describe_place(url: URL) -> str:
    """Host and port; a socket's directory may stand among the parameters."""
    host = url.host or url.query.get("host") or "localhost"
    port = url.port or url.query.get("port") or 5432
    return f"{host}:{port}"


def _describe_obstacle(path: Path) -> str | None:
    """Return what keeps a process from a file and from making those beside it; SQLite does not say."""
    if not path.parent.is_dir():
        return "there is no such directory"
    if os.statvfs(path.parent).f_flag & os.ST_RDONLY:
        return "it is on a read-only file system"
    if not os.access(path.parent, os.R_OK | os.W_OK | os.X_OK) or (
        path.exists() and not os.access(path, os.R_OK | os.W_OK)
    ):
        return "this user may not write there"
    return None


def _create_engine(url: URL, pool_size: int) -> Engine:
    """Create an engine with the listeners of its database, which has no more connections than `pool_size`."""
    # No overflow: routes have as many threads as there are connections, and more would only wait in the database.
    pool: dict[str, Any] = {"pool_size": pool_size, "max_overflow": 0, "pool_timeout": BUSY_SECONDS}
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS}, **pool)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        engine = sa.create_engine(url, connect_args={"connect_timeout": 30}, **pool)
        event.listen(engine, "connect", _prepare_postgres)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", _try_idle)
    event.listen(engine, "handle_error", _translate)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Set up a new connection to SQLite: its transactions and pragmas."""
    connection.isolation_level = None  # we say BEGIN ourselves, in _begin_sqlite
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "recursive_triggers=ON",  # REPLACE fires delete triggers
        "secure_delete=ON",  # an erased key is overwritten
        "trusted_schema=OFF",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _prepare_postgres(connection: psycopg.Connection, _record: object) -> None:
    # A writer behind a lock gives up like SQLite's busy timeout does, and is answered 503 alike.
    connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'")
    # SET is part of a transaction: without this the pool's rollback on return would take it back.
    connection.commit()


def _note_use(_connection: psycopg.Connection | None, record: ConnectionPoolEntry) -> None:
    record.info["used"] = time.monotonic()


def _try_idle(connection: psycopg.Connection, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Ask a connection that was idle whether it lives; `pool_pre_ping` would ask every time, a round trip more."""
    if time.monotonic() - record.info.get("used", time.monotonic()) <= IDLE_SECONDS:
        return
    try:
        connection.execute("SELECT 1")
        # The question has begun a transaction; the caller's begins with its own first statement.
        connection.rollback()
    except psycopg.Error as error:
        raise sa.exc.InvalidatePoolError("the connection was lost while it was idle") from error


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction of SQLite at once, flushed as the connection's options ask."""
    options = connection.get_execution_options()
    writes = options.get(_WRITES, False)
    if writes:
        # WAL with NORMAL does not sync at a commit. The pragma is refused inside a transaction, so it comes before
        # BEGIN.
        level = "NORMAL" if options.get(_UNFLUSHED, False) else "FULL"
        if connection.info.get(_LEVEL, "FULL") != level:  # the connection's until it is said otherwise
            connection.exec_driver_sql(f"PRAGMA synchronous={level}")
            connection.info[_LEVEL] = level
    # IMMEDIATE takes the write lock at once: a read that is upgraded later fails when another has written
    # meanwhile, and no waiting helps it.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _translate(context: ExceptionContext) -> BaseException | None:
    error = context.original_exception
    unreachable = context.connection is None and isinstance(error, psycopg.OperationalError)
    return translate(error, lost=unreachable or context.is_disconnect)


def translate(error: BaseException, *, lost: bool) -> Unavailable | None:
    """Raise 503 of a database that is busy or away, and 507 of one without room, in place of 500."""
    # The low byte is the primary result code; the rest says more of it (SQLite, Result and Error Codes).
    code = error.sqlite_errorcode & 0xFF if isinstance(error, sqlite3.OperationalError) else sqlite3.SQLITE_OK
    if code == sqlite3.SQLITE_FULL or isinstance(error, psycopg.errors.DiskFull):
        return StorageFull(StorageFull.sentence)
    if code == sqlite3.SQLITE_READONLY or isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return ReadOnly(
            "the database takes no writes now: repeat the request when the operator has mended that"
        )
    if code in _SQLITE_AWAY or lost or isinstance(error, _RETRYABLE):
        return Unavailable("the database is busy or away: repeat the request shortly")
    return None


@contextmanager
def _unavailable_when_full() -> Iterator[None]:
    try:
        yield
    except sa.exc.TimeoutError as error:
        raise Unavailable("every database connection is in use: repeat the request shortly") from error
