"""Stamps of outside witnesses on signed checkpoints, and when a witness is asked next.

Revision ID: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from service.store.database.guards import run_script

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TEXT = sa.Text()
LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TURNS = ("rfc3161", "opentimestamps", "opentimestamps upgrade")
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Make the tables, and guard what is evidence."""
    op.create_table(
        "stamps",
        sa.Column("size", LONG, autoincrement=False, nullable=False),
        sa.Column("signer", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("root", TEXT, nullable=False),
        sa.Column("note_sha256", TEXT, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("obtained_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["size", "signer"],
            ["ledger_checkpoints.size", "ledger_checkpoints.signer"],
            name="fk_stamps_size_signer",
        ),
        sa.PrimaryKeyConstraint("size", "signer", "kind", "number", name="pk_stamps"),
    )
    turns = op.create_table(
        "witness_turns",
        sa.Column("turn", TEXT, nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("next_at", TIME),
        sa.PrimaryKeyConstraint("turn", name="pk_witness_turns"),
    )
    op.bulk_insert(turns, [{"turn": turn, "failures": 0} for turn in TURNS])
    run_script(op.get_bind(), "0009")


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")
