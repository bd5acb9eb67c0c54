"""What the roles of Postgres may do: the owner migrates, the API and the runner get what each of them needs.

The two roles are made by whoever runs the server (docs/deployment.md); where they are not, nothing is granted.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

API, RUNNER = "forelock_api", "forelock_runner"

GRANTS: Mapping[str, tuple[str, str]] = {
    "alembic_version": ("SELECT", "SELECT"),
    "alterations": ("SELECT, INSERT, DELETE", "SELECT, INSERT"),
    "artefacts": ("SELECT, INSERT, DELETE", ""),
    "audit_events": ("SELECT, INSERT", "INSERT"),
    "batch_voids": ("SELECT, INSERT", "SELECT"),
    "batches": ("SELECT, INSERT", "SELECT"),
    "coverage": ("SELECT, INSERT, UPDATE", "SELECT"),
    "deliveries": ("SELECT, INSERT, UPDATE, DELETE", "SELECT, INSERT, UPDATE, DELETE"),
    "deviation_decisions": ("SELECT, INSERT", ""),
    "deviations": ("SELECT, INSERT", ""),
    "ended_sessions": ("SELECT, INSERT, DELETE", ""),
    "idempotency": ("SELECT, INSERT, DELETE", ""),
    "imports": ("SELECT, INSERT", ""),
    "job_inputs": ("SELECT, INSERT, DELETE", "SELECT, DELETE"),
    "job_shards": ("SELECT, DELETE", "SELECT, INSERT, DELETE"),
    "jobs": ("SELECT, INSERT, UPDATE", "SELECT, INSERT, UPDATE, DELETE"),
    "keys": ("SELECT, INSERT, UPDATE (revoked_at, last_used_at)", ""),
    "ledger_checkpoints": ("SELECT, INSERT", "SELECT"),
    "ledger_entries": ("SELECT, INSERT", "SELECT, INSERT"),
    "ledger_head": ("SELECT, UPDATE", "SELECT, UPDATE"),
    "ledger_nodes": ("SELECT, INSERT", "SELECT, INSERT"),
    "ledger_signers": ("SELECT, INSERT", "SELECT"),
    "links": ("SELECT, INSERT, UPDATE, DELETE", ""),
    "manifests": ("SELECT, INSERT, UPDATE, DELETE", "SELECT"),
    "plan_keys": ("SELECT, INSERT, UPDATE (wrapped_key, released_key)", "SELECT, UPDATE (released_key)"),
    "plans": ("SELECT, INSERT", "SELECT"),
    "preregistrations": ("SELECT, INSERT, UPDATE, DELETE", "SELECT, UPDATE"),
    "projects": ("SELECT, INSERT", ""),
    "runs": ("SELECT, INSERT", "SELECT"),
    "search_texts": ("SELECT, INSERT, UPDATE, DELETE", ""),
    "series": ("SELECT, INSERT", ""),
    "series_points": ("SELECT, INSERT", ""),
    "series_rosters": ("SELECT, INSERT", ""),
    "stamps": ("SELECT", "SELECT, INSERT"),
    "tracked_runs": ("SELECT, INSERT, DELETE", "SELECT"),
    "trackers": ("SELECT, INSERT, UPDATE, DELETE", "SELECT"),
    "verdict_hypotheses": ("SELECT", "INSERT"),
    "verdicts": ("SELECT", "SELECT, INSERT"),
    "view_links": ("SELECT, INSERT, UPDATE (revoked_at)", ""),
    "visibilities": ("SELECT, INSERT, UPDATE", "SELECT, UPDATE"),
    "webhooks": ("SELECT, INSERT, UPDATE, DELETE", "SELECT"),
    "witness_turns": ("", "SELECT, UPDATE"),
}
"""By table: of the API, and of the runner."""


def grant(connection: Connection) -> None:
    """Give the roles that there are what the table says, and nothing else, in this schema."""
    here = connection.scalar(sa.text("SELECT quote_ident(current_schema())"))
    known = connection.scalars(
        sa.text("SELECT rolname FROM pg_roles WHERE rolname LIKE 'forelock\\_%'")
    ).all()
    for column, role in enumerate((API, RUNNER)):
        if role not in known:
            continue
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {here} TO {role}")
        # First everything is taken back: what an earlier release granted and this one does not need goes as well.
        connection.exec_driver_sql(f"REVOKE ALL ON ALL TABLES IN SCHEMA {here} FROM {role}")
        for table, granted in GRANTS.items():
            if granted[column]:
                connection.exec_driver_sql(f"GRANT {granted[column]} ON {here}.{table} TO {role}")
