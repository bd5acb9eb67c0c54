"""What a locked record's next batch starts from: the key it is sealed to, and how much is in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import sqlalchemy as sa

from service.store.database.pipeline import Later, Questions
from service.store.database.tables import batches, coverage, plan_keys


@dataclass(frozen=True, slots=True)
class PostingState:
    """The posting state of one record. Only while it is held (`for_update`) does it stay so."""

    public_key: bytes = field(repr=False)
    erased: bool
    last_sequence: int
    received: int


NOTHING_IN = PostingState(b"", False, 0, 0)
"""Of a record that is not locked: it takes no results."""


def ask(questions: Questions, preregistration_ids: Collection[str]) -> Later[dict[str, PostingState]]:
    """Return the states by record; those without a key are not locked, and missing. Ask for the locks before."""
    return questions.ask(
        _STATES,
        {"ids": sorted(preregistration_ids)},
        lambda rows: {row[0]: PostingState(bytes(row[1]), bool(row[2]), row[3], int(row[4])) for row in rows},
    )


def _select_of_record(table: sa.Table, value: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    selected = sa.select(value).where(table.c.preregistration_id == plan_keys.c.preregistration_id)
    return sa.func.coalesce(selected.scalar_subquery(), 0)


_STATES = sa.select(
    plan_keys.c.preregistration_id,
    plan_keys.c.public_key,
    plan_keys.c.wrapped_key.is_(None),
    _select_of_record(batches, sa.func.max(batches.c.sequence)),
    _select_of_record(coverage, sa.func.sum(coverage.c.received)),
).where(plan_keys.c.preregistration_id.in_(sa.bindparam("ids", expanding=True)))
