"""Alterations that were found, hashes of stored answers, who made a key; and guards for more tables.

Revision ID: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from service.store.database.guards import run_script

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TEXT = sa.Text()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add the columns and the table; whoever made a key stands in the audit log; then the guards."""
    op.create_table(
        "alterations",
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("found_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject", name="pk_alterations"),
    )
    op.add_column("idempotency", sa.Column("sha256", TEXT))
    op.add_column("keys", sa.Column("created_by", TEXT))
    keys = sa.table("keys", *map(sa.column, ("id", "created_by")))
    events = sa.table("audit_events", *map(sa.column, ("action", "subject", "key_id")))
    maker = sa.select(sa.func.min(events.c.key_id)).where(
        events.c.action == "key.create", events.c.subject == keys.c.id
    )
    op.execute(sa.update(keys).values(created_by=maker.scalar_subquery()))
    run_script(op.get_bind(), "0005")


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")
