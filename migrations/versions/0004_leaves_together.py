"""The ledger's head may grow by several leaves at once, when batches of results are stored together.

Revision ID: 0004
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sqlite3 import complete_statement

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Write the guard of the head anew."""
    connection = op.get_bind()
    script = (SQL / f"0004_{connection.dialect.name}.sql").read_text("utf-8")
    if connection.dialect.name == "sqlite":
        for statement in _statements(script):
            connection.exec_driver_sql(statement)
        return
    connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; the body of a trigger stays whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if complete_statement(statement):
            yield statement
            statement = ""
