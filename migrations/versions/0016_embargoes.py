"""When a record under embargo becomes public by itself.

Revision ID: 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add a column; null, as in every row there is, means that there is no embargo."""
    op.add_column("visibilities", sa.Column("opens_at", TIME))
    op.create_index("ix_visibilities_opens_at", "visibilities", ["opens_at"])


def downgrade() -> None:
    """There is no way back but a backup."""
    raise NotImplementedError
