"""The audit log by time and by subject; a plan's key is released with its verdict or after an unblinding on record.

Revision ID: 0008
"""

from __future__ import annotations

from alembic import op

from service.store.database.guards import run_script

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Indexes for the two ways the log is read, then the guard of keys anew."""
    op.drop_index("ix_audit_events_project_id_id", table_name="audit_events")
    op.create_index("ix_audit_events_project_id_created_at", "audit_events", ["project_id", "created_at"])
    op.create_index("ix_audit_events_subject_created_at", "audit_events", ["subject", "created_at"])
    run_script(op.get_bind(), "0008")


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")
