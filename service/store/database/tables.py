"""The tables. Which of them are insert-only, and which moves a head may make, stands in the migrations."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, Table

from service.store.database.types import Timestamp, Words

LONG = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite's INTEGER holds 64 bits, and only under that name is a key the rowid."""

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

projects = Table(
    "projects",
    metadata,
    Column("id", Words, primary_key=True),
    Column("name", Words, nullable=False, unique=True),
    Column("created_at", Timestamp, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project_id", Words, ForeignKey(projects.c.id), nullable=False),
    Column("name", Words, nullable=False),
    Column("kind", Words, nullable=False),
    Column("scopes", Words, nullable=False),  # separated by spaces
    Column("prefix", Words, nullable=False),
    Column("secret_sha256", Words, nullable=False, unique=True),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp),
    Column("revoked_at", Timestamp),
    Column("last_used_at", Timestamp),
    Column("created_by", Words),  # the key that made it; null for the first one
    Index(None, "project_id", "created_at", "id"),
)

preregistrations = Table(
    "preregistrations",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project_id", Words, ForeignKey(projects.c.id), nullable=False),
    Column("state", Words, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("title", Words),
    Column("draft", Words),  # the plan's text while it may change; null once it stands in `plans`
    Column("plan_sha256", Words),
    Column("lint", sa.JSON(none_as_null=True)),
    Column("acknowledged", sa.JSON, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("locked_at", Timestamp),
    Column("complete_at", Timestamp),
    Column("judged_at", Timestamp),
    CheckConstraint("(state = 'draft') = (draft IS NOT NULL)", name="draft_until_locked"),
    CheckConstraint("(state = 'draft') = (plan_sha256 IS NULL)", name="hash_once_locked"),
    Index(None, "project_id", "created_at", "id"),
)

plans = Table(
    "plans",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("canonical", Words, nullable=False),
    Column("sha256", Words, nullable=False),
    Column("locked_at", Timestamp, nullable=False),
)

plan_keys = Table(
    "plan_keys",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("public_key", LargeBinary, nullable=False),
    Column("wrapped_key", LargeBinary),  # null: erased, and the plan's rows with it
    Column("released_key", LargeBinary),
)

manifests = Table(
    "manifests",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("population", Words, primary_key=True),
    Column("n", Integer, nullable=False),
    Column("items_sha256", Words, nullable=False),
    Column("n_clusters", Integer),
    Column("cluster_sizes", LargeBinary, nullable=False),  # int32, little endian
    Column("content", LargeBinary, nullable=False),  # columns as JSON, compressed
    Index(None, "items_sha256"),
)

runs = Table(
    "runs",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("run", Words, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("canonical", Words, nullable=False),
    Column("sha256", Words, nullable=False),
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
    Column("bound_at", Timestamp, nullable=False),
    sa.UniqueConstraint("preregistration_id", "number"),
)

batches = Table(
    "batches",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("sequence", Integer, primary_key=True),
    Column("population", Words, nullable=False),
    Column("arm", Words, nullable=False),
    Column("endpoint", Words, nullable=False),
    Column("run", Words),
    Column("n", Integer, nullable=False),
    Column("positions", LargeBinary, nullable=False),  # int32, little endian
    Column("replicates", LargeBinary, nullable=False),  # uint16, little endian
    Column("sealed", LargeBinary, nullable=False),
    Column("commitment_sha256", Words, nullable=False),
    Column("status_counts", sa.JSON(none_as_null=True)),
    Column("received_at", Timestamp, nullable=False),
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
)

batch_voids = Table(
    "batch_voids",
    metadata,
    Column("preregistration_id", Words, primary_key=True),
    Column("sequence", Integer, primary_key=True),
    Column("reason", Words, nullable=False),
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
    Column("voided_at", Timestamp, nullable=False),
    sa.ForeignKeyConstraint(
        ["preregistration_id", "sequence"], [batches.c.preregistration_id, batches.c.sequence]
    ),
)

coverage = Table(
    "coverage",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("population", Words, primary_key=True),
    Column("arm", Words, primary_key=True),
    Column("endpoint", Words, primary_key=True),
    Column("replicate", Integer, primary_key=True),
    Column("bitmap", LargeBinary, nullable=False),  # bit i, least significant first: item i is in
    Column("received", Integer, nullable=False),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("canonical", Words, nullable=False),
    Column("sha256", Words, nullable=False),
    Column("judged_at", Timestamp, nullable=False),
)

verdict_hypotheses = Table(
    "verdict_hypotheses",
    metadata,
    Column("preregistration_id", Words, ForeignKey(verdicts.c.preregistration_id), primary_key=True),
    Column("hypothesis", Words, primary_key=True),
    Column("project_id", Words, ForeignKey(projects.c.id), nullable=False),
    Column("title", Words, nullable=False),
    Column("outcome", Words, nullable=False),
    Column("judged_at", Timestamp, nullable=False),
    Index("ix_verdict_hypotheses_newest", "project_id", "judged_at", "preregistration_id", "hypothesis"),
)

ledger_head = Table(
    "ledger_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("size", LONG, nullable=False),
    Column("peaks", LargeBinary, nullable=False),
    CheckConstraint("id = 1", name="one_log"),
)

ledger_entries = Table(
    "ledger_entries",
    metadata,
    Column("sequence", LONG, primary_key=True, autoincrement=False),
    Column("kind", Words, nullable=False),
    Column("project_id", Words, ForeignKey(projects.c.id)),
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id)),
    Column("leaf", Words, nullable=False),  # canonical text, salt included
    Column("leaf_sha256", Words, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Index(None, "preregistration_id", "sequence"),
    Index(None, "leaf_sha256"),
)

ledger_nodes = Table(  # roots of perfect subtrees, beside the leaf that made them whole
    "ledger_nodes",
    metadata,
    Column("sequence", LONG, primary_key=True, autoincrement=False),
    Column("hashes", LargeBinary, nullable=False),  # from level 1 up
)

ledger_signers = Table(  # the log's name and key: the last row is the one that signs
    "ledger_signers",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("origin", Words, nullable=False),
    Column("vkey", Words, nullable=False),
    Column("sequence", LONG, ForeignKey(ledger_entries.c.sequence)),  # its leaf; null for the first one
    Column("created_at", Timestamp, nullable=False),
)

ledger_checkpoints = Table(
    "ledger_checkpoints",
    metadata,
    Column("size", LONG, primary_key=True, autoincrement=False),
    Column("signer", Integer, ForeignKey(ledger_signers.c.number), primary_key=True, autoincrement=False),
    Column("note", Words, nullable=False),
    Column("created_at", Timestamp, nullable=False),
)

stamps = Table(  # what outside witnesses gave for a signed checkpoint; the last number of a kind counts
    "stamps",
    metadata,
    Column("size", LONG, primary_key=True, autoincrement=False),
    Column("signer", Integer, primary_key=True, autoincrement=False),
    Column("kind", Words, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("root", Words, nullable=False),
    Column("note_sha256", Words, nullable=False),
    Column("content", LargeBinary, nullable=False),  # .tsr or .ots
    Column("waiting", Integer, nullable=False),  # 1: more is to be asked for later
    Column("obtained_at", Timestamp, nullable=False),
    sa.ForeignKeyConstraint(["size", "signer"], [ledger_checkpoints.c.size, ledger_checkpoints.c.signer]),
)

witness_turns = Table(  # when a witness is asked next
    "witness_turns",
    metadata,
    Column("turn", Words, primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("next_at", Timestamp),  # null: at once
)

audit_events = Table(
    "audit_events",
    metadata,
    Column("id", LONG, sa.Identity(), primary_key=True),
    Column("project_id", Words, ForeignKey(projects.c.id)),
    Column("key_id", Words, ForeignKey(keys.c.id)),
    Column("action", Words, nullable=False),
    Column("subject", Words),
    Column("facts", sa.JSON, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Index(None, "project_id", "created_at"),
    Index(None, "subject", "created_at"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project_id", Words, ForeignKey(projects.c.id), nullable=False),
    Column("kind", Words, nullable=False),
    Column("subject", Words),
    Column("state", Words, nullable=False),
    Column("params", sa.JSON, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("runner", Words),
    Column("lease_token", Words),
    Column("lease_seconds", sa.Double),
    Column("lease_expires_at", Timestamp),
    Column("progress", sa.Double),
    Column("result", sa.JSON(none_as_null=True)),
    Column("error", sa.JSON(none_as_null=True)),
    Column("created_at", Timestamp, nullable=False),
    Column("started_at", Timestamp),
    Column("finished_at", Timestamp),
    Column("claimed_at", Timestamp),  # the last time; whose turn it is follows from it
    CheckConstraint("state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name="known_state"),
    Index(None, "state", "project_id", "created_at", "id", "kind"),
    Index(None, "project_id", "claimed_at"),
    Index(None, "finished_at"),
    Index(None, "project_id", "kind", "subject", "created_at"),
    Index(
        "uq_jobs_unfinished_subject",
        "project_id",
        "kind",
        "subject",
        unique=True,
        sqlite_where=sa.text("state IN ('queued', 'running')"),
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    ),
)

job_inputs = Table(  # gone when the job ends
    "job_inputs",
    metadata,
    Column("job_id", Words, ForeignKey(jobs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

job_shards = Table(  # gone when the job ends
    "job_shards",
    metadata,
    Column("job_id", Words, ForeignKey(jobs.c.id, ondelete="CASCADE"), primary_key=True),
    Column("first_block", Integer, primary_key=True, autoincrement=False),
    Column("blocks", Integer, nullable=False),
    Column("value", LargeBinary, nullable=False),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("key_id", Words, ForeignKey(keys.c.id), primary_key=True),
    Column("route", Words, primary_key=True),
    Column("idempotency_key", Words, primary_key=True),
    Column("fingerprint", Words, nullable=False),
    Column("status", Integer),  # null until the write that holds the row has its answer
    Column("headers", sa.JSON(none_as_null=True)),
    Column("body", LargeBinary),
    Column("created_at", Timestamp, nullable=False),
    Column("sha256", Words),  # of the answer; null where it was kept before answers had one
    Index(None, "created_at"),
)

deviations = Table(
    "deviations",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("canonical", Words, nullable=False),
    Column("sha256", Words, nullable=False),
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
    Column("filed_at", Timestamp, nullable=False),
)

deviation_decisions = Table(
    "deviation_decisions",
    metadata,
    Column("preregistration_id", Words, primary_key=True),
    Column("deviation", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("canonical", Words, nullable=False),
    Column("sha256", Words, nullable=False),
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
    Column("decided_at", Timestamp, nullable=False),
    sa.ForeignKeyConstraint(
        ["preregistration_id", "deviation"], [deviations.c.preregistration_id, deviations.c.number]
    ),
)

visibilities = Table(  # who may read a record besides its project's keys; no row: nobody
    "visibilities",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("visibility", Words, nullable=False),
    Column("changed_at", Timestamp, nullable=False),
    Column("opens_at", Timestamp),  # the end of an embargo that has not ended; null: there is none
    Index(None, "opens_at"),
    CheckConstraint("visibility IN ('private', 'link', 'public')", name="known_visibility"),
)

view_links = Table(
    "view_links",
    metadata,
    Column("id", Words, primary_key=True),
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), nullable=False),
    Column("name", Words, nullable=False),
    Column("anonymous", Integer, nullable=False),  # 1: for peer review
    Column("token_sha256", Words, nullable=False, unique=True),
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    Column("revoked_at", Timestamp),
    Index(None, "preregistration_id", "created_at", "id"),
)

ended_sessions = Table(  # of browsers: signed out of, and not yet over by themselves
    "ended_sessions",
    metadata,
    Column("cookie_sha256", Words, primary_key=True),
    Column("ends_at", Timestamp, nullable=False),
)

search_texts = Table(  # titles and hypotheses of plans, in one case: what a search looks in
    "search_texts",
    metadata,
    Column(
        "preregistration_id", Words, ForeignKey(preregistrations.c.id, ondelete="CASCADE"), primary_key=True
    ),
    Column("text", Words, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project_id", Words, ForeignKey(projects.c.id), nullable=False),
    Column("url", Words, nullable=False),
    Column("events", Words, nullable=False),  # separated by spaces
    Column("description", Words),
    Column(
        "format", Words
    ),  # the shape of its messages; null: standard, of webhooks made before there were others
    Column("secret", LargeBinary, nullable=False),  # sealed to the runner's key
    Column("previous", LargeBinary),  # the one before, which signs as well for a while
    Column("previous_until", Timestamp),
    Column("created_at", Timestamp, nullable=False),
    Index(None, "project_id", "created_at", "id"),
)

trackers = Table(  # where a project's verdicts are pushed, with credentials that only the runner opens
    "trackers",
    metadata,
    Column("project_id", Words, ForeignKey(projects.c.id), primary_key=True),
    Column("kind", Words, primary_key=True),
    Column("url", Words, nullable=False),
    Column("auth", Words, nullable=False),
    Column("secret", LargeBinary),  # sealed; null where none is needed
    Column("put_at", Timestamp, nullable=False),
)

tracked_runs = Table(
    "tracked_runs",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("tracker", Words, primary_key=True),
    Column("run", Words, primary_key=True),
    Column("linked_at", Timestamp, nullable=False),
)

deliveries = Table(  # what leaves: written by the transaction that it tells of, sent by the runner
    "deliveries",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project_id", Words, ForeignKey(projects.c.id), nullable=False),
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id)),
    Column("channel", Words, nullable=False),
    Column("target", Words, nullable=False),  # a webhook or a run; no foreign key: it may be gone
    Column("event", Words, nullable=False),
    Column("sequence", LONG),  # its leaf in the ledger
    Column("body", LargeBinary),  # of a webhook, from its first attempt on
    Column("state", Words, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("asked_at", Timestamp, nullable=False),  # it is given up so and so long after
    Column("next_at", Timestamp, nullable=False),
    Column("status", Integer),  # of the last answer
    Column("error", Words),
    Column("created_at", Timestamp, nullable=False),
    Column("finished_at", Timestamp),
    CheckConstraint("channel IN ('webhook', 'mlflow')", name="known_channel"),
    CheckConstraint("state IN ('waiting', 'delivered', 'failed')", name="known_state"),
    Index(None, "state", "next_at"),
    Index(None, "target", "created_at", "id"),
    Index(None, "preregistration_id"),
)

links = Table(
    "links",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("name", Words, primary_key=True),
    Column("kind", Words, nullable=False),
    Column("url", Words, nullable=False),
    Column("external_id", Words),
    Column("put_at", Timestamp, nullable=False),
)

alterations = Table(  # rows that were found not to be what was stored; they stay until somebody forgets them
    "alterations",
    metadata,
    Column("kind", Words, primary_key=True),
    Column("subject", Words, primary_key=True),
    Column("found_at", Timestamp, nullable=False),
)
