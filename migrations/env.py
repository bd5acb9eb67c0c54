"""Runs the migrations: on the connection that `store.schema` passes, or on `FORELOCK_DATABASE_URL`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context

from service.config import Settings
from service.store.database.engine import Database
from service.store.database.every_table import metadata


def run(connection: sa.Connection) -> None:
    """Upgrade inside one transaction."""
    context.configure(connection=connection, target_metadata=metadata)
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    raise SystemExit("the guards are made on a live connection: run without --sql")

given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = Database(str(Settings().url))
    try:
        with database.engine.connect() as connection, connection.begin():
            run(connection)
    finally:
        database.dispose()
