"""Projects, keys, preregistrations with their batches and verdicts, the ledger, jobs.

Revision ID: 0001
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sqlite3 import complete_statement

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TEXT = sa.Text()
BYTES = sa.LargeBinary()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")
LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    """Make the tables, then the triggers that guard them."""
    _access()
    _preregistrations()
    _results()
    _verdicts()
    _ledger()
    _work()
    _guards(op.get_bind())


def downgrade() -> None:
    """There is no way back: locked plans would be lost."""
    raise NotImplementedError(
        "the first migration is not undone: restore a backup, or start on an empty database"
    )


def _access() -> None:
    """Who may do what."""
    op.create_table(
        "projects",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
        sa.UniqueConstraint("name", name="uq_projects_name"),
    )
    op.create_table(
        "keys",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("project_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("scopes", TEXT, nullable=False),
        sa.Column("prefix", TEXT, nullable=False),
        sa.Column("secret_sha256", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME),
        sa.Column("revoked_at", TIME),
        sa.Column("last_used_at", TIME),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_keys_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("secret_sha256", name="uq_keys_secret_sha256"),
    )
    op.create_index(
        "ix_keys_project_id_created_at_id", "keys", ["project_id", "created_at", "id"], unique=False
    )


def _preregistrations() -> None:
    """Heads, and what is locked."""
    op.create_table(
        "preregistrations",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("project_id", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("title", TEXT),
        sa.Column("draft", TEXT),
        sa.Column("plan_sha256", TEXT),
        sa.Column("lint", sa.JSON()),
        sa.Column("acknowledged", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("locked_at", TIME),
        sa.Column("complete_at", TIME),
        sa.Column("judged_at", TIME),
        sa.CheckConstraint(
            "(state = 'draft') = (draft IS NOT NULL)", name=op.f("ck_preregistrations_draft_until_locked")
        ),
        sa.CheckConstraint(
            "(state = 'draft') = (plan_sha256 IS NULL)", name=op.f("ck_preregistrations_hash_once_locked")
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_preregistrations_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_preregistrations"),
    )
    op.create_index(
        "ix_preregistrations_project_id_created_at_id",
        "preregistrations",
        ["project_id", "created_at", "id"],
        unique=False,
    )
    op.create_table(
        "plans",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("canonical", TEXT, nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("locked_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_plans_preregistration_id"
        ),
        sa.PrimaryKeyConstraint("preregistration_id", "version", name="pk_plans"),
    )
    op.create_table(
        "plan_keys",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("public_key", BYTES, nullable=False),
        sa.Column("wrapped_key", BYTES),
        sa.Column("released_key", BYTES),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_plan_keys_preregistration_id"
        ),
        sa.PrimaryKeyConstraint("preregistration_id", name="pk_plan_keys"),
    )
    op.create_table(
        "manifests",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("population", TEXT, nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("items_sha256", TEXT, nullable=False),
        sa.Column("n_clusters", sa.Integer()),
        sa.Column("cluster_sizes", BYTES, nullable=False),
        sa.Column("content", BYTES, nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_manifests_preregistration_id"
        ),
        sa.PrimaryKeyConstraint("preregistration_id", "population", name="pk_manifests"),
    )


def _results() -> None:
    """Sealed batches, and which cells are in."""
    op.create_table(
        "batches",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("population", TEXT, nullable=False),
        sa.Column("arm", TEXT, nullable=False),
        sa.Column("endpoint", TEXT, nullable=False),
        sa.Column("run", TEXT),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("positions", BYTES, nullable=False),
        sa.Column("replicates", BYTES, nullable=False),
        sa.Column("sealed", BYTES, nullable=False),
        sa.Column("commitment_sha256", TEXT, nullable=False),
        sa.Column("status_counts", sa.JSON()),
        sa.Column("received_at", TIME, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_batches_key_id"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_batches_preregistration_id"
        ),
        sa.PrimaryKeyConstraint("preregistration_id", "sequence", name="pk_batches"),
    )
    op.create_table(
        "batch_voids",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("voided_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_batch_voids_key_id"),
        sa.ForeignKeyConstraint(
            ["preregistration_id", "sequence"],
            ["batches.preregistration_id", "batches.sequence"],
            name="fk_batch_voids_preregistration_id_sequence",
        ),
        sa.PrimaryKeyConstraint("preregistration_id", "sequence", name="pk_batch_voids"),
    )
    op.create_table(
        "coverage",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("population", TEXT, nullable=False),
        sa.Column("arm", TEXT, nullable=False),
        sa.Column("endpoint", TEXT, nullable=False),
        sa.Column("replicate", sa.Integer(), nullable=False),
        sa.Column("bitmap", BYTES, nullable=False),
        sa.Column("received", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_coverage_preregistration_id"
        ),
        sa.PrimaryKeyConstraint(
            "preregistration_id", "population", "arm", "endpoint", "replicate", name="pk_coverage"
        ),
    )


def _verdicts() -> None:
    """Verdicts, and one row per hypothesis."""
    op.create_table(
        "verdicts",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("canonical", TEXT, nullable=False),
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("judged_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_verdicts_preregistration_id"
        ),
        sa.PrimaryKeyConstraint("preregistration_id", name="pk_verdicts"),
    )
    op.create_table(
        "verdict_hypotheses",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("hypothesis", TEXT, nullable=False),
        sa.Column("project_id", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("outcome", TEXT, nullable=False),
        sa.Column("judged_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id"],
            ["verdicts.preregistration_id"],
            name="fk_verdict_hypotheses_preregistration_id",
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_verdict_hypotheses_project_id"),
        sa.PrimaryKeyConstraint("preregistration_id", "hypothesis", name="pk_verdict_hypotheses"),
    )
    op.create_index(
        "ix_verdict_hypotheses_newest",
        "verdict_hypotheses",
        ["project_id", "judged_at", "preregistration_id", "hypothesis"],
        unique=False,
    )


def _ledger() -> None:
    """The log and its head, and the audit log."""
    op.create_table(
        "ledger_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("size", LONG, nullable=False),
        sa.Column("peaks", BYTES, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_ledger_head_one_log")),
        sa.PrimaryKeyConstraint("id", name="pk_ledger_head"),
    )
    op.create_table(
        "ledger_entries",
        sa.Column("sequence", LONG, autoincrement=False, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("project_id", TEXT),
        sa.Column("preregistration_id", TEXT),
        sa.Column("leaf", TEXT, nullable=False),
        sa.Column("leaf_sha256", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_ledger_entries_preregistration_id"
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_ledger_entries_project_id"),
        sa.PrimaryKeyConstraint("sequence", name="pk_ledger_entries"),
    )
    op.create_index(
        "ix_ledger_entries_preregistration_id_sequence",
        "ledger_entries",
        ["preregistration_id", "sequence"],
        unique=False,
    )
    op.create_table(
        "audit_events",
        sa.Column("id", LONG, sa.Identity(always=False), nullable=False),
        sa.Column("project_id", TEXT),
        sa.Column("key_id", TEXT),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("subject", TEXT),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_audit_events_key_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_audit_events_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_audit_events"),
    )
    op.create_index("ix_audit_events_project_id_id", "audit_events", ["project_id", "id"], unique=False)
    head = sa.table("ledger_head", *map(sa.column, ("id", "size", "peaks")))
    op.execute(sa.insert(head).values(id=1, size=0, peaks=b""))


def _work() -> None:
    """Jobs, and answers kept for retries."""
    op.create_table(
        "jobs",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("project_id", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("subject", TEXT),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("runner", TEXT),
        sa.Column("lease_token", TEXT),
        sa.Column("lease_seconds", sa.Double()),
        sa.Column("lease_expires_at", TIME),
        sa.Column("progress", sa.Double()),
        sa.Column("result", sa.JSON()),
        sa.Column("error", sa.JSON()),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("finished_at", TIME),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')",
            name=op.f("ck_jobs_known_state"),
        ),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_jobs_project_id"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index(
        "ix_jobs_project_id_kind_subject_created_at",
        "jobs",
        ["project_id", "kind", "subject", "created_at"],
        unique=False,
    )
    op.create_index("ix_jobs_state_created_at_id", "jobs", ["state", "created_at", "id"], unique=False)
    op.create_index(
        "uq_jobs_unfinished_subject",
        "jobs",
        ["project_id", "kind", "subject"],
        unique=True,
        sqlite_where=sa.text("state IN ('queued', 'running')"),
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "idempotency",
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("route", TEXT, nullable=False),
        sa.Column("idempotency_key", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("headers", sa.JSON()),
        sa.Column("body", BYTES),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_idempotency_key_id"),
        sa.PrimaryKeyConstraint("key_id", "route", "idempotency_key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"], unique=False)


def _guards(connection: sa.Connection) -> None:
    """Triggers, written out for each database in `migrations/sql`."""
    dialect = connection.dialect.name
    script = (SQL / f"0001_{dialect}.sql").read_text("utf-8")
    if dialect == "sqlite":
        for statement in _statements(script):
            connection.exec_driver_sql(statement)
        return
    # Sealed and compressed bytes do not shrink: Postgres need not try.
    op.execute("ALTER TABLE batches ALTER COLUMN sealed SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE manifests ALTER COLUMN content SET STORAGE EXTERNAL")
    connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; the body of a trigger stays whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if complete_statement(statement):
            yield statement
            statement = ""
