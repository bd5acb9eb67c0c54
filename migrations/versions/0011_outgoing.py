"""What leaves: webhooks, trackers and their runs, the deliveries to both, and links of a record.

Revision ID: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TEXT = sa.Text()
LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add the tables. Nothing in them is evidence, so they have no guards."""
    op.create_table(
        "webhooks",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("project_id", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("events", TEXT, nullable=False),
        sa.Column("description", TEXT),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("previous", sa.LargeBinary()),
        sa.Column("previous_until", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_webhooks_project_id"),
    )
    op.create_index("ix_webhooks_project_id_created_at_id", "webhooks", ["project_id", "created_at", "id"])
    op.create_table(
        "trackers",
        sa.Column("project_id", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("auth", TEXT, nullable=False),
        sa.Column("secret", sa.LargeBinary()),
        sa.Column("put_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "kind", name="pk_trackers"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_trackers_project_id"),
    )
    op.create_table(
        "tracked_runs",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("tracker", TEXT, nullable=False),
        sa.Column("run", TEXT, nullable=False),
        sa.Column("linked_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("preregistration_id", "tracker", "run", name="pk_tracked_runs"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_tracked_runs_preregistration_id"
        ),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("project_id", TEXT, nullable=False),
        sa.Column("preregistration_id", TEXT),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("event", TEXT, nullable=False),
        sa.Column("sequence", LONG),
        sa.Column("body", sa.LargeBinary()),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("asked_at", TIME, nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("error", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.CheckConstraint("channel IN ('webhook', 'mlflow')", name=op.f("ck_deliveries_known_channel")),
        sa.CheckConstraint(
            "state IN ('waiting', 'delivered', 'failed')", name=op.f("ck_deliveries_known_state")
        ),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_deliveries_project_id"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_deliveries_preregistration_id"
        ),
    )
    op.create_index("ix_deliveries_state_next_at", "deliveries", ["state", "next_at"])
    op.create_index("ix_deliveries_target_created_at_id", "deliveries", ["target", "created_at", "id"])
    op.create_index("ix_deliveries_preregistration_id", "deliveries", ["preregistration_id"])
    op.create_table(
        "links",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("external_id", TEXT),
        sa.Column("put_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("preregistration_id", "name", name="pk_links"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_links_preregistration_id"
        ),
    )


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")
