"""Where the files of imports are kept.

Revision ID: 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

TEXT = sa.Text()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add a table. Of imports that there are no file was kept."""
    op.create_table(
        "artefacts",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("object_sha256", TEXT, nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("kept_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("preregistration_id", "number", name="pk_artefacts"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_artefacts_preregistration_id"
        ),
        sa.UniqueConstraint("object_sha256", name="uq_artefacts_object_sha256"),
    )
    op.create_index("ix_artefacts_kept_at", "artefacts", ["kept_at"])


def downgrade() -> None:
    """There is no way back but a backup."""
    raise NotImplementedError
