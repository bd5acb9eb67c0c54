"""Deviations from locked plans, and what people decided about them.

Revision ID: 0003
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sqlite3 import complete_statement

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TEXT = sa.Text()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")
SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Make the two tables, then the triggers that guard them."""
    op.create_table(
        "deviations",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("canonical", TEXT, nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("filed_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_deviations_preregistration_id"
        ),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_deviations_key_id"),
        sa.PrimaryKeyConstraint("preregistration_id", "number", name="pk_deviations"),
    )
    op.create_table(
        "deviation_decisions",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("deviation", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("canonical", TEXT, nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("decided_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id", "deviation"],
            ["deviations.preregistration_id", "deviations.number"],
            name="fk_deviation_decisions_preregistration_id_deviation",
        ),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_deviation_decisions_key_id"),
        sa.PrimaryKeyConstraint("preregistration_id", "deviation", "number", name="pk_deviation_decisions"),
    )
    _guards(op.get_bind())


def downgrade() -> None:
    """There is no way back: filed deviations would be lost."""
    raise NotImplementedError("migrations are not undone: restore a backup")


def _guards(connection: sa.Connection) -> None:
    """Triggers, written out for each database in `migrations/sql`."""
    dialect = connection.dialect.name
    script = (SQL / f"0003_{dialect}.sql").read_text("utf-8")
    if dialect == "sqlite":
        for statement in _statements(script):
            connection.exec_driver_sql(statement)
        return
    connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; the body of a trigger stays whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if complete_statement(statement):
            yield statement
            statement = ""
