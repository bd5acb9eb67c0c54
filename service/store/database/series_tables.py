"""The tables of series of runs."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, Table

from service.store.database.tables import keys, metadata, projects
from service.store.database.types import Timestamp, Words

series = Table(  # runs of one system on the same items, compared with those before them
    "series",
    metadata,
    Column("id", Words, primary_key=True),
    Column("project_id", Words, ForeignKey(projects.c.id), nullable=False),
    Column("name", Words, nullable=False),
    Column("settings", Words, nullable=False),  # canonical text
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    sa.UniqueConstraint("project_id", "name"),
    Index(None, "project_id", "created_at", "id"),
)

series_rosters = Table(  # items and clusters that runs share, once each
    "series_rosters",
    metadata,
    Column("series_id", Words, ForeignKey(series.c.id), primary_key=True),
    Column("sha256", Words, primary_key=True),
    Column("content", LargeBinary, nullable=False),  # columns as JSON, compressed
)

series_points = Table(  # the runs, in the order in which they came
    "series_points",
    metadata,
    Column("series_id", Words, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("name", Words, nullable=False),
    Column("reference", Integer, nullable=False),  # 1: one of the runs that are compared with
    Column("period", Integer, nullable=False),  # from 1: since which reference
    Column("hypothesis", Integer, nullable=False),  # of the project: how many periods began before, and 1
    Column("roster_sha256", Words, nullable=False),
    Column("content", LargeBinary, nullable=False),  # float64, little endian, compressed; NaN: no value
    Column("sha256", Words, nullable=False),
    Column("standing", Words, nullable=False),  # canonical text
    Column("discovered", Integer, nullable=False),  # 1: a drop among all series of the project, from here on
    Column("key_id", Words, ForeignKey(keys.c.id), nullable=False),
    Column("received_at", Timestamp, nullable=False),
    sa.UniqueConstraint("series_id", "name"),
    sa.ForeignKeyConstraint(
        ["series_id", "roster_sha256"], [series_rosters.c.series_id, series_rosters.c.sha256]
    ),
)
