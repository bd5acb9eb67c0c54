"""Imports of result files: which became which batches, and a sealed part with the file's hash and counts.

Revision ID: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from service.store.database.guards import run_script

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

TEXT = sa.Text()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add the table and its guards."""
    op.create_table(
        "imports",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("format", TEXT, nullable=False),
        sa.Column("reader_version", sa.Integer(), nullable=False),
        sa.Column("batches", TEXT, nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("received_at", TIME, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("preregistration_id", "number", name="pk_imports"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_imports_preregistration_id"
        ),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_imports_key_id"),
    )
    run_script(op.get_bind(), "0010")


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")
