"""Who may read a record besides its project's keys, view-only links, and what a search looks in.

Revision ID: 0012
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from service.store.database.guards import run_script

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TEXT = sa.Text()
TIME = sa.Text().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Add both tables, and the guards of links. Every record stays private: it has no row."""
    op.create_table(
        "visibilities",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("visibility", TEXT, nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("preregistration_id", name="pk_visibilities"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_visibilities_preregistration_id"
        ),
        sa.CheckConstraint(
            "visibility IN ('private', 'link', 'public')", name=op.f("ck_visibilities_known_visibility")
        ),
    )
    op.create_table(
        "view_links",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("anonymous", sa.Integer(), nullable=False),
        sa.Column("token_sha256", TEXT, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("revoked_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_view_links"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"], ["preregistrations.id"], name="fk_view_links_preregistration_id"
        ),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_view_links_key_id"),
        sa.UniqueConstraint("token_sha256", name="uq_view_links_token_sha256"),
    )
    op.create_index(
        "ix_view_links_preregistration_id_created_at_id",
        "view_links",
        ["preregistration_id", "created_at", "id"],
    )
    searched = op.create_table(
        "search_texts",
        sa.Column("preregistration_id", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("preregistration_id", name="pk_search_texts"),
        sa.ForeignKeyConstraint(
            ["preregistration_id"],
            ["preregistrations.id"],
            name="fk_search_texts_preregistration_id",
            ondelete="CASCADE",
        ),
    )
    connection = op.get_bind()
    rows: list[dict[str, str]] = []
    for row in _texts(connection):
        rows.append(row)
        if len(rows) >= AT_ONCE:
            connection.execute(sa.insert(searched), rows)
            rows.clear()
    if rows:
        connection.execute(sa.insert(searched), rows)
    run_script(connection, "0012")


AT_ONCE = 500


def _texts(connection: sa.Connection) -> Iterator[dict[str, str]]:
    """What a search looks in, of every record there is; of an altered one that cannot be read nothing."""
    ids = connection.scalars(sa.text("SELECT id FROM preregistrations")).all()
    plan = sa.text(
        "SELECT coalesce(r.draft, p.canonical) FROM preregistrations r LEFT JOIN plans p "
        "ON p.preregistration_id = r.id AND p.version = r.version WHERE r.id = :id"
    )
    for each in ids:
        yield {"preregistration_id": each, "text": _text(connection.scalar(plan, {"id": each}))}


def _text(canonical: str | None) -> str:
    try:
        plan: dict[str, Any] = json.loads(canonical or "{}")
        said = [f"{each['id']} {each['statement']}" for each in plan.get("hypotheses", [])]
        return "\n".join(filter(None, [plan.get("title"), *said])).casefold()[:20_000]
    except (ValueError, TypeError, LookupError, AttributeError):
        return ""


def downgrade() -> None:
    """There is no way back."""
    raise NotImplementedError("migrations are not undone: restore a backup")
