"""Several statements in one round trip to Postgres. SQLite is in the process: there they follow one another.

Each statement still sees what was committed before it began, as if it had been sent alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Generic, TypeVar

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler

from service.store.database.engine import translate

T = TypeVar("T")
Row = Sequence[Any]


class Later(Generic[T]):
    """What a question is answered; known when the block of `reading` has ended."""

    def __init__(self, rows: Callable[[], list[Row]], become: Callable[[list[Row]], T]) -> None:
        self._rows = rows
        self._become = become

    def get(self) -> T:
        """Return the answer, made of the rows; call it after the block of `reading` has ended."""
        return self._become(self._rows())


class Questions:
    """Statements that read, and the rows that answer each of them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._asked: list[tuple[SQLCompiler, psycopg.Cursor[Any]]] = []
        self._answers: list[list[Row]] = []

    @property
    def dialect(self) -> Dialect:
        """The dialect of the session's database."""
        return self.session.get_bind().dialect

    def ask(
        self, statement: sa.Select[Any], params: Mapping[str, Any], become: Callable[[list[Row]], T]
    ) -> Later[T]:
        """Ask for rows, in the order of the statement's columns, and what to make of them."""
        # Rows of what is sent come in the order of sending, so the place of an answer is known before there is one.
        index = len(self._asked) + len(self._answers)
        if self.dialect.name == "postgresql":
            self._send(statement, params)
        else:
            self._answers.append(list(self.session.execute(statement, params)))
        return Later(lambda: self._answers[index], become)

    def _send(self, statement: sa.Select[Any], params: Mapping[str, Any]) -> None:
        """Send a statement without waiting for its rows."""
        # SQLAlchemy's own execute waits for the rows. So its compiled text goes to psycopg directly, with the
        # conversions that SQLAlchemy would have made of parameters here and of columns in `fetch`.
        compiled = _compile(statement, self.dialect)
        expanded = compiled.construct_expanded_state(dict(params))
        binds = {**_binders(compiled, self.dialect), **expanded.processors}
        values = {
            name: binds[name](value) if name in binds else value
            for name, value in expanded.parameters.items()
        }
        cursor = _raw(self.session).cursor()
        cursor.execute(expanded.statement.encode(), values)
        self._asked.append((compiled, cursor))

    def fetch(self) -> None:
        """Wait for the rows of everything that was sent."""
        for compiled, cursor in self._asked:
            readers = _readers(compiled, self.dialect)
            self._answers.append(
                [
                    tuple(
                        value if read is None else read(value)
                        for read, value in zip(readers, row, strict=True)
                    )
                    for row in cursor.fetchall()
                ]
            )
        self._asked.clear()


@contextmanager
def reading(session: Session) -> Iterator[Questions]:
    """Send questions that do not wait for one another's answers."""
    questions = Questions(session)
    with together(session):
        yield questions
        questions.fetch()


@contextmanager
def together(session: Session) -> Iterator[None]:
    """Send statements that return nothing without waiting; within another such block part of it."""
    if session.get_bind().dialect.name != "postgresql":
        yield
        return
    connection = _raw(session)
    if connection.info.pipeline_status != psycopg.pq.PipelineStatus.OFF:
        yield
        return
    try:
        with connection.pipeline():
            yield
    except psycopg.Error as error:  # it came with the answers, past SQLAlchemy
        unavailable = translate(error, lost=connection.broken)
        if unavailable is None:
            raise
        raise unavailable from error


def _raw(session: Session) -> psycopg.Connection[Any]:
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, psycopg.Connection)  # noqa: S101
    return connection


@lru_cache(256)
def _compile(statement: sa.Select[Any], dialect: Dialect) -> SQLCompiler:
    compiled = statement.compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)  # noqa: S101
    return compiled


@lru_cache(256)
def _binders(compiled: SQLCompiler, dialect: Dialect) -> Mapping[str, Callable[[Any], Any]]:
    """Return what makes the values of parameters those of the database, by name; none where they are the same."""
    binders = {
        name: bound.type.dialect_impl(dialect).bind_processor(dialect)
        for name, bound in compiled.binds.items()
    }
    return {name: bind for name, bind in binders.items() if bind is not None}


@lru_cache(256)
def _readers(compiled: SQLCompiler, dialect: Dialect) -> tuple[Callable[[Any], Any] | None, ...]:
    assert isinstance(compiled.statement, sa.Select)  # noqa: S101
    return tuple(
        column.type.dialect_impl(dialect).result_processor(dialect, None)
        for column in compiled.statement.selected_columns
    )
