"""The inner hashes of the ledger, its signers and its signed checkpoints; leaves are found by their hash.

Revision ID: 0006
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.engine import Connection

from service.store.database.guards import run_script

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TEXT = sa.Text()
BYTES = sa.LargeBinary()
LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")
ROWS_AT_ONCE = 5_000


def upgrade() -> None:
    """Make the tables, fill in the hashes of what the log holds, and guard them."""
    op.create_index("ix_ledger_entries_leaf_sha256", "ledger_entries", ["leaf_sha256"], unique=False)
    op.create_table(
        "ledger_nodes",
        sa.Column("sequence", LONG, autoincrement=False, nullable=False),
        sa.Column("hashes", BYTES, nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_ledger_nodes"),
    )
    op.create_table(
        "ledger_signers",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("origin", TEXT, nullable=False),
        sa.Column("vkey", TEXT, nullable=False),
        sa.Column("sequence", LONG),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["sequence"], ["ledger_entries.sequence"], name="fk_ledger_signers_sequence"),
        sa.PrimaryKeyConstraint("number", name="pk_ledger_signers"),
    )
    op.create_table(
        "ledger_checkpoints",
        sa.Column("size", LONG, autoincrement=False, nullable=False),
        sa.Column("signer", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["signer"], ["ledger_signers.number"], name="fk_ledger_checkpoints_signer"),
        sa.PrimaryKeyConstraint("size", "signer", name="pk_ledger_checkpoints"),
    )
    connection = op.get_bind()
    nodes = sa.table("ledger_nodes", sa.column("sequence", LONG), sa.column("hashes", BYTES))
    for rows in _completed(connection):
        connection.execute(sa.insert(nodes), rows)
    run_script(connection, "0006")


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")


def _completed(connection: Connection) -> Iterator[list[dict[str, Any]]]:
    """The roots of the perfect subtrees that each leaf of the log made whole, as RFC 6962 hashes them."""
    entries = sa.table("ledger_entries", sa.column("sequence", LONG), sa.column("leaf_sha256", TEXT))
    peaks: list[bytes] = []
    first = 0
    while True:
        wanted = entries.c.sequence.between(first, first + ROWS_AT_ONCE - 1)
        found = connection.execute(
            sa.select(entries.c.sequence, entries.c.leaf_sha256).where(wanted).order_by(entries.c.sequence)
        ).all()
        rows = []
        for sequence, leaf in found:
            completed, position = b"", sequence
            peaks.append(bytes.fromhex(leaf))
            while position & 1:
                right = peaks.pop()
                peaks[-1] = hashlib.sha256(b"\x01" + peaks[-1] + right).digest()
                completed += peaks[-1]
                position >>= 1
            if completed:
                rows.append({"sequence": sequence, "hashes": completed})
        if rows:
            yield rows
        if len(found) < ROWS_AT_ONCE:
            return
        first += ROWS_AT_ONCE
