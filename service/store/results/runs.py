"""Runs that were bound: canonical text, insert-only, numbered from 1; the ledger has the hash of each."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.domain.canonical import canonical
from service.domain.ledger import Receipt
from service.domain.results.runs import BoundRun, Run
from service.store.database import integrity, paging
from service.store.database.tables import runs
from service.store.ledger import ledger

_RUNS = sa.select(
    runs.c.preregistration_id, runs.c.run, runs.c.number, runs.c.canonical, runs.c.sha256, runs.c.bound_at
)


def exists(session: Session, preregistration_id: str, run: str) -> bool:
    """Tell whether the record has a run of that name."""
    wanted = sa.select(runs.c.number).where(
        runs.c.preregistration_id == preregistration_id, runs.c.run == run
    )
    return session.scalar(wanted) is not None


def next_number(session: Session, preregistration_id: str) -> int:
    """Return the number the next run will have. Hold the record (`for_update`) before asking."""
    last = sa.select(sa.func.max(runs.c.number)).where(runs.c.preregistration_id == preregistration_id)
    return (session.scalar(last) or 0) + 1


def insert(session: Session, run: Run, key_id: str) -> None:
    """Store a run of a record that takes results."""
    session.execute(
        sa.insert(runs).values(
            preregistration_id=run.preregistration_id,
            run=run.run,
            number=run.number,
            canonical=canonical(run.model_dump(mode="json")).decode(),
            sha256=run.sha256(),
            key_id=key_id,
            bound_at=run.bound_at,
        )
    )


def read_page(
    session: Session, preregistration_id: str, *, cursor: str | None = None, limit: int
) -> tuple[list[Run], str | None]:
    """Return the record's runs, newest first. Reach them through a record that was read in its project."""
    statement = _RUNS.where(runs.c.preregistration_id == preregistration_id)
    return paging.read_page(session, statement, (runs.c.number,), _read, cursor=cursor, limit=limit)


def read_bound(session: Session, preregistration_id: str) -> dict[str, BoundRun]:
    """Return every run with the leaf that bound it, by name; only those that are what the ledger has."""
    runs_ = {}
    entries_by_run = {
        entry.body["run"]: entry for entry in ledger.read_entries(session, preregistration_id, "run")
    }
    for row in session.execute(_RUNS.where(runs.c.preregistration_id == preregistration_id)).mappings():
        run, entry = _read(row), entries_by_run.get(row["run"])
        holds = entry is not None and entry.body["run_sha256"] == row["sha256"]
        integrity.require("run", f"{preregistration_id}/{row['run']}", holds=holds)
        if entry is not None:
            runs_[run.run] = BoundRun(run, entry.sequence)
    integrity.require("runs", preregistration_id, holds=runs_.keys() == entries_by_run.keys())
    return runs_


def read_receipts(session: Session, preregistration_id: str, runs: Sequence[Run]) -> list[Receipt]:
    """Read the receipts of a page's runs, in its order: their leaves stand in the ledger as runs are numbered."""
    numbers = [run.number for run in runs]
    if not numbers:
        return []
    first, last = min(numbers), max(numbers)
    # Runs are numbered from 1 in the order of their leaves: number k is the record's k-th leaf of this kind.
    entries = ledger.read_entries(session, preregistration_id, "run", skip=first - 1, most=last - first + 1)
    entries_by_run, receipts_ = {entry.body["run"]: entry for entry in entries}, []
    for run in runs:
        entry = entries_by_run.get(run.run)
        holds = entry is not None and entry.body["run_sha256"] == run.sha256()
        integrity.require("run", f"{preregistration_id}/{run.run}", holds=holds)
        if entry is not None:
            receipts_.append(entry.receipt)
    return receipts_


def _read(row: sa.RowMapping) -> Run:
    subject = f"{row['preregistration_id']}/{row['run']}"
    integrity.require("run", subject, holds=integrity.is_same(row["canonical"], row["sha256"]))
    with integrity.reading("run", subject):
        return Run.model_validate_json(row["canonical"])
