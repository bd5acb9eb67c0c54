"""The shape of a webhook's messages: chats take others than Standard Webhooks'.

Revision ID: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; null, as in every row there is, means the standard's shape."""
    op.add_column("webhooks", sa.Column("format", sa.Text()))


def downgrade() -> None:
    """There is no way back but a backup."""
    raise NotImplementedError
