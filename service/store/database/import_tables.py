"""The tables of imports, and of where their files are kept."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table

from service.store.database.tables import keys, metadata, preregistrations
from service.store.database.types import Timestamp, Words

imports = Table(
    "imports",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("format", Words, nullable=False),
    Column("reader_version", Integer, nullable=False),
    Column("batches", Words, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("received_at", Timestamp, nullable=False),
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
)

artefacts = Table(
    "artefacts",
    metadata,
    Column("preregistration_id", Words, ForeignKey(preregistrations.c.id), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("object_sha256", Words, nullable=False, unique=True),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("kept_at", Timestamp, nullable=False),
    Index(None, "kept_at"),
)
