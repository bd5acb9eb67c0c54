"""Who sends statements to the database past the service."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest


class Attacker:
    """Connections past the service: on SQLite with and without pragmas, on Postgres as the owner."""

    def __init__(self, database):
        if database.dialect == "sqlite":
            self.refused = sqlite3.IntegrityError
            self.connections = [
                sqlite3.connect(database.url.database, isolation_level=None) for _ in range(2)
            ]
            self.connections[1].execute("PRAGMA recursive_triggers=ON")
            self.connections[1].execute("PRAGMA foreign_keys=ON")
        else:
            url = database.url
            self.refused = psycopg.IntegrityError
            self.connections = [
                psycopg.connect(
                    host=url.query["host"], user=url.username, dbname=url.database, autocommit=True
                )
            ]

    def try_to(self, statement):
        """The statement fails on every connection, and by a guard rather than by another constraint."""
        for connection in self.connections:
            with pytest.raises(self.refused) as refusal:
                connection.execute(statement)
            error = refusal.value
            by = error.sqlite_errorname if isinstance(error, sqlite3.Error) else error.sqlstate
            assert by in ("SQLITE_CONSTRAINT_TRIGGER", "23000"), statement

    def succeed(self, statement):
        self.connections[0].execute(statement)
