"""Series: runs of one system on the same items, one after another.

Revision ID: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from service.store.database.guards import run_script

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TEXT = sa.Text()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add three insert-only tables and their guards."""
    op.create_table(
        "series",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("project_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("settings", TEXT, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_series_project_id"),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_series_key_id"),
        sa.UniqueConstraint("project_id", "name", name="uq_series_project_id_name"),
    )
    op.create_index("ix_series_project_id_created_at_id", "series", ["project_id", "created_at", "id"])
    op.create_table(
        "series_rosters",
        sa.Column("series_id", TEXT, nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("series_id", "sha256", name="pk_series_rosters"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_series_rosters_series_id"),
    )
    op.create_table(
        "series_points",
        sa.Column("series_id", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("reference", sa.Integer(), nullable=False),
        sa.Column("period", sa.Integer(), nullable=False),
        sa.Column("hypothesis", sa.Integer(), nullable=False),
        sa.Column("roster_sha256", TEXT, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("standing", TEXT, nullable=False),
        sa.Column("discovered", sa.Integer(), nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("received_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("series_id", "number", name="pk_series_points"),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_series_points_key_id"),
        sa.ForeignKeyConstraint(
            ["series_id", "roster_sha256"],
            ["series_rosters.series_id", "series_rosters.sha256"],
            name="fk_series_points_series_id_roster_sha256",
        ),
        sa.UniqueConstraint("series_id", "name", name="uq_series_points_series_id_name"),
    )
    run_script(op.get_bind(), "0014")


def downgrade() -> None:
    """There is no way back but a backup."""
    raise NotImplementedError
