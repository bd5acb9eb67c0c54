"""What an unfinished job computes from, and the parts of it that are computed already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.store.database import scope
from service.store.database.tables import job_inputs, job_shards, jobs


@dataclass(frozen=True, slots=True)
class Shard:
    """The stored numbers of consecutive generator blocks."""

    first: int
    """Number of the first block, from 0."""
    blocks: int
    """How many blocks there are."""
    value: bytes = field(repr=False)
    """What was drawn, as the job's own format packs it."""

    @property
    def which(self) -> range:
        """The numbers of the generator blocks whose draws the shard holds."""
        return range(self.first, self.first + self.blocks)


def put_input(session: Session, job_id: str, body: bytes) -> None:
    """Keep a job's request until the job ends."""
    session.execute(sa.insert(job_inputs).values(job_id=job_id, body=body))


def count_input_bytes(session: Session, project_id: str) -> int:
    """Count the bytes of the requests that the project's unfinished jobs keep."""
    total = sa.select(sa.func.sum(sa.func.length(job_inputs.c.body))).join_from(job_inputs, jobs)
    return int(session.scalar(scope.select_of_project(total, jobs, project_id)) or 0)


def find_input(session: Session, job_id: str) -> bytes | None:
    """Read the job's request; None when the job has ended."""
    return session.scalar(sa.select(job_inputs.c.body).where(job_inputs.c.job_id == job_id))


def put_shard(session: Session, job_id: str, shard: Shard) -> None:
    """Store one shard's numbers. The caller holds the job's lease, so no other shard overlaps."""
    values = {"first_block": shard.first, "blocks": shard.blocks, "value": shard.value}
    session.execute(sa.insert(job_shards).values(job_id=job_id, **values))


def read_shards(session: Session, job_id: str) -> list[Shard]:
    """Read the job's shards, in the order of their blocks."""
    statement = sa.select(job_shards.c.first_block, job_shards.c.blocks, job_shards.c.value)
    rows = session.execute(statement.where(job_shards.c.job_id == job_id).order_by(job_shards.c.first_block))
    return [Shard(*row) for row in rows]


def forget(session: Session, job_ids: Sequence[str]) -> None:
    """Drop inputs and shards of jobs that ended."""
    for table in (job_shards, job_inputs):
        session.execute(sa.delete(table).where(table.c.job_id.in_(job_ids)))
