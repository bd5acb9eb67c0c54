"""Run tokens, amendments of plans without results, and an index by which families are found.

Revision ID: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from service.store.database.guards import run_script

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TEXT = sa.Text()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add the table and the index, then write the guards anew that let a plan be amended."""
    op.create_table(
        "runs",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("run", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("canonical", TEXT, nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("bound_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_runs_preregistration_id"
        ),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_runs_key_id"),
        sa.PrimaryKeyConstraint("preregistration_id", "run", name="pk_runs"),
        sa.UniqueConstraint("preregistration_id", "number", name="uq_runs_preregistration_id_number"),
    )
    op.create_index("ix_manifests_items_sha256", "manifests", ["items_sha256"])
    run_script(op.get_bind(), "0007")


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")
