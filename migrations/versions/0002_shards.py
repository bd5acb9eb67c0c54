"""Jobs in shards: what a job computes from, what is computed of it, and whose turn it is.

Revision ID: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TEXT = sa.Text()
BYTES = sa.LargeBinary()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add the tables of long jobs, and the order in which projects take turns."""
    op.add_column("jobs", sa.Column("claimed_at", TIME))
    op.drop_index("ix_jobs_state_created_at_id", "jobs")
    op.create_index(
        "ix_jobs_state_project_id_created_at_id_kind",
        "jobs",
        ["state", "project_id", "created_at", "id", "kind"],
    )
    op.create_index("ix_jobs_project_id_claimed_at", "jobs", ["project_id", "claimed_at"])
    op.create_index("ix_jobs_finished_at", "jobs", ["finished_at"])
    op.create_table(
        "job_inputs",
        sa.Column("job_id", TEXT, nullable=False),
        sa.Column("body", BYTES, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_inputs_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name="pk_job_inputs"),
    )
    op.create_table(
        "job_shards",
        sa.Column("job_id", TEXT, nullable=False),
        sa.Column("first_block", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("blocks", sa.Integer(), nullable=False),
        sa.Column("value", BYTES, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_shards_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "first_block", name="pk_job_shards"),
    )


def downgrade() -> None:
    """There is no way back: jobs may be half computed."""
    raise NotImplementedError("migrations are not undone: restore a backup")
