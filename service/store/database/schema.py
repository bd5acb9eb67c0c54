"""The schema: which revision a database has, and how it gets to ours."""

from __future__ import annotations

from functools import cache

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Engine

from service.errors import Unavailable
from service.store.database import guards, roles

MIGRATION_LOCK = 0x666F72656C6F636B  # "forelock"


class SchemaUnknown(Unavailable):
    """The database is not at the revision this release knows."""

    code, title = "schema_unknown", "The database schema is not the one this release knows"


def read_revision(engine: Engine) -> str | None:
    """Return the revision a database is at; None when it is empty."""
    # Alembic makes its table anew for every question, and compiled statements that are kept hold theirs.
    with engine.connect().execution_options(compiled_cache=None) as connection:
        return MigrationContext.configure(connection).get_current_revision()


@cache
def find_newest_revision() -> str:
    """Return the revision this release knows."""
    head = ScriptDirectory.from_config(_make_config()).get_current_head()
    assert head is not None  # noqa: S101  # there is a first migration
    return head


def require_current(engine: Engine) -> None:
    """Refuse a database at any other revision, naming the command that helps.

    Raises:
        SchemaUnknown: empty, older, or made by a newer release.
    """
    present, known = read_revision(engine), find_newest_revision()
    require_known(present)
    if present == known:
        return
    if present is None:
        raise SchemaUnknown(
            "the database is empty: run `forelock init`, which makes its schema, the keys and the first API key"
        )
    raise SchemaUnknown(
        f"the database has schema {present} and this release needs {known}: back it up, then run "
        "`./do migrate` (or `forelock migrate`)"
    )


def upgrade(engine: Engine) -> None:
    """Bring a database and its grants to this release's revision, in one transaction and one process at a time."""
    with engine.execution_options(forelock_writes=True).connect() as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
        # Under the lock: another process may have upgraded while this one waited.
        require_known(MigrationContext.configure(connection).get_current_revision())
        config = _make_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        if connection.dialect.name == "postgresql":
            roles.grant(connection)


def require_known(present: str | None) -> None:
    """Refuse a revision that only a newer release can know.

    Raises:
        SchemaUnknown: naming both.
    """
    if present is not None and present not in _list_revisions():
        raise SchemaUnknown(
            f"the database has schema {present}, which this release does not know: run the one that made it "
            f"(this one knows {find_newest_revision()}; `./do migrate`, or `forelock migrate`, only goes forward)"
        )


@cache
def _list_revisions() -> frozenset[str]:
    """Every revision of this release: its migrations are read once, though readiness is asked every few seconds."""
    return frozenset(
        revision.revision for revision in ScriptDirectory.from_config(_make_config()).walk_revisions()
    )


def _make_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(guards.find_directory()).replace("%", "%%"))
    return config
