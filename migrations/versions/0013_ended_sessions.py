"""Sessions of browsers that were signed out of, until they would have ended by themselves.

Revision ID: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TEXT = sa.Text()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "ended_sessions",
        sa.Column("cookie_sha256", TEXT, nullable=False),
        sa.Column("ends_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("cookie_sha256", name="pk_ended_sessions"),
    )


def downgrade() -> None:
    """There is no way back but a backup."""
    raise NotImplementedError
