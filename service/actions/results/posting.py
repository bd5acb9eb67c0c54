"""Posting results: what one transaction stores of the batches that wait, each as if it had come alone.

Everything is read first, then every batch is taken or refused in memory, in its turn, then what was
taken is stored at once. Nothing here may answer differently for different outcomes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.results.coverage import require_covered
from service.actions.results.look_requests import enqueue_due
from service.actions.results.results import Parts, Prepared, enqueue_verdict, expected_total
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration, State
from service.domain.results import sealing
from service.domain.results.batches import STATUSES, PlacedBatch
from service.domain.results.filled import Filled
from service.errors import Conflict, ForelockError
from service.records import Record
from service.store.database.pipeline import Questions, together
from service.store.ledger import ledger
from service.store.plans import preregistrations
from service.store.projects import audit
from service.store.results import batches, coverage, intakes
from service.store.results.batches import NewBatch

Cell = tuple[str, coverage.Cell]
"""A record and one of its cells."""
Place = tuple[str, str]
"""Project and record."""
_OPEN: tuple[State, ...] = ("locked", "collecting")
ROW_BYTES = 100


@dataclass(frozen=True, slots=True)
class Salts:
    """Randomness of one submission: for the sealed rows and for the ledger's leaf."""

    rows: bytes
    leaf: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Submission:
    """A batch that somebody posts, as checked. A fault of it is told when its record turns out to take results."""

    caller: Key
    preregistration_id: str
    checked: Prepared | ForelockError
    job_id: str
    salts: Salts = field(repr=False)

    @property
    def place(self) -> Place:
        """Where it goes."""
        return self.caller.project_id, self.preregistration_id

    @property
    def n(self) -> int:
        """Rows; none when it is refused anyway."""
        return self.checked.placed.n if isinstance(self.checked, Prepared) else 0

    @property
    def size(self) -> int:
        """Bytes that its rows and the bitmaps of its cells take while it is stored."""
        checked = self.checked
        return self.n * ROW_BYTES + checked.bitmap_bytes if isinstance(checked, Prepared) else 0


class BatchReceipt(Record):
    """What a stored batch answers: counts and a receipt, never values."""

    batch: int | None = Field(
        description="Number of the batch in its preregistration; null: all of its rows were in."
    )
    n: int = Field(description="Rows of this batch that were stored.")
    skipped: int = Field(0, description="Rows left out because they were in, under `on_duplicate: skip`.")
    received: int = Field(description="Rows in, over all arms and endpoints.")
    expected: int = Field(description="Rows that make the plan complete.")
    state: State
    receipt: Receipt | None


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a group."""

    accepted: Sequence[BatchReceipt]
    """In the order in which they were taken."""
    leaves: ledger.Leaves | None
    """Theirs, which are still to be added."""
    queued: bool
    """A job was queued: a verdict or a look."""


@dataclass(slots=True)
class _Intake:
    """One record while batches are taken."""

    record: Preregistration
    public_key: bytes = field(repr=False)
    erased: bool
    expected: int
    last: int
    received: int
    state: State
    job_id: str | None = None

    @classmethod
    def of(cls, record: Preregistration, begun: intakes.Intake | None) -> _Intake:
        """A record that takes no results has no beginning either."""
        if begun is None:
            return cls(record, b"", False, 0, 0, 0, record.state)
        expected = expected_total(record.plan)
        return cls(
            record,
            begun.public_key,
            begun.erased,
            expected,
            begun.last_sequence,
            begun.received,
            record.state,
        )

    def require_open(self) -> None:
        """Refuse a batch when the record takes no results, or no more."""
        if self.state != self.record.state:  # batches taken before have moved it
            self.record.model_copy(update={"state": self.state}).require(*_OPEN)
        self.record.require(*_OPEN)
        if self.erased:
            raise Conflict(
                f"the rows of preregistration {self.record.id} have been erased, and what came in could not be read",
                code="erased",
            )

    def add(self, n: int, job_id: str) -> int:
        """Count a batch in and return its number."""
        self.last, self.received, self.job_id = self.last + 1, self.received + n, job_id
        self.state = "complete" if self.received == self.expected else "collecting"
        return self.last


@dataclass(frozen=True, slots=True)
class _Taken:
    """A batch that will be stored, None where all of it is in already; and where its record stands with it."""

    batch: NewBatch | None
    skipped: int
    project_id: str
    salt: bytes
    received: int
    expected: int
    state: State

    def event(self, batch: NewBatch) -> ledger.Event:
        """The batch's leaf."""
        body = {
            "preregistration_id": batch.preregistration_id,
            "batch": batch.sequence,
            "population": batch.population,
            "arm": batch.arm,
            "endpoint": batch.endpoint,
            "run": batch.run,
            "n": batch.n,
            "commitment_sha256": batch.commitment_sha256,
        }
        return ledger.Event(
            kind="batch",
            body=body,
            project_id=self.project_id,
            preregistration_id=batch.preregistration_id,
            salt=self.salt,
        )

    def done(self, batch: NewBatch, now: datetime) -> audit.Done:
        """Its line in the audit log."""
        return audit.Done(
            project_id=self.project_id,
            key_id=batch.key_id,
            action="results.post",
            subject=batch.preregistration_id,
            facts={"batch": batch.sequence},
            created_at=now,
        )

    def answer(self, receipt: Receipt | None) -> BatchReceipt:
        """What it is answered."""
        batch = self.batch
        return BatchReceipt(
            batch=None if batch is None else batch.sequence,
            n=0 if batch is None else batch.n,
            skipped=self.skipped,
            received=self.received,
            expected=self.expected,
            state=self.state,
            receipt=receipt,
        )


class GroupReads:
    """What a group of batches is taken or refused by; asks for the records' locks first.

    With `wait` it waits for a record that another transaction holds; it may then be about one record only.
    """

    def __init__(self, questions: Questions, submissions: Sequence[Submission], *, wait: bool) -> None:
        ids: dict[str, set[str]] = {}
        for each in submissions:
            ids.setdefault(each.caller.project_id, set()).add(each.preregistration_id)
        self.records = {
            project_id: preregistrations.asked(questions, project_id, of_project, wait=wait)
            for project_id, of_project in ids.items()
        }
        # only of records whose plan the caller could read: a sum over another project's cells takes its time
        checked = {each.preregistration_id for each in submissions if isinstance(each.checked, Prepared)}
        self.intakes = intakes.asked(questions, checked)
        self.bitmaps = {
            cell: coverage.asked(questions, *cell, size)
            for cell, size in {
                cell: len(each.checked.item_ids)
                for each in submissions
                if isinstance(each.checked, Prepared)
                for cell in _cells(each.preregistration_id, each.checked.placed, each.checked.parts)
            }.items()
        }


class Group:
    """The batches of one transaction, of any number of records and projects."""

    def __init__(self, session: Session, reads: GroupReads, *, now: datetime) -> None:
        self._session = session
        self._now = now
        self._taken: list[_Taken] = []
        self._held: set[Place] = set()
        self._intakes: dict[Place, _Intake] = {}
        begun = reads.intakes.get()
        for project_id, asked in reads.records.items():
            found = asked.get()
            self._held |= {(project_id, each) for each in found.elsewhere}
            for record in found.records.values():
                self._intakes[project_id, record.id] = _Intake.of(record, begun.get(record.id))
        self._filled = {cell: Filled(bitmap.get()) for cell, bitmap in reads.bitmaps.items()}

    def held(self, submission: Submission) -> bool:
        """Another transaction holds its record."""
        return submission.place in self._held

    def take(self, submission: Submission) -> None:
        """Take a batch, or say why not; a refused one leaves no trace. No statement is executed here.

        Raises:
            ForelockError: what it would be answered if it came alone after those taken before it.
        """
        intake = self._intakes.get(submission.place)
        if intake is None:
            raise preregistrations.unknown(submission.preregistration_id)
        checked = submission.checked
        if isinstance(checked, Prepared) and checked.skips:
            checked = self._rest(submission.preregistration_id, checked)
            if checked.placed.n == 0 and intake.state != "withdrawn":
                self._taken.append(self._idle(intake, submission))
                return
        intake.require_open()
        if isinstance(checked, ForelockError):
            raise checked
        if checked.plan_sha256 != intake.record.plan_sha256:
            raise Conflict(
                "the plan was amended while this batch was on its way: post it again", code="plan_amended"
            )
        self._claim(submission.preregistration_id, checked)
        placed = checked.placed
        sequence = intake.add(placed.n, submission.job_id)
        self._taken.append(
            _Taken(
                batch=_sealed(intake, sequence, placed, submission, self._now),
                skipped=submission.n - placed.n,
                project_id=intake.record.project_id,
                salt=submission.salts.leaf,
                received=intake.received,
                expected=intake.expected,
                state=intake.state,
            )
        )

    def store(self) -> Stored:
        """Store what was taken, in its order; the one that completes a plan enqueues the verdict with it.

        The ledger is locked then, and what remains to be done for it is the transaction's last act.
        """
        if not self._taken:
            return Stored([], None, queued=False)
        new = [(each, each.batch) for each in self._taken if each.batch is not None]
        if not new:
            return Stored([each.answer(None) for each in self._taken], None, queued=False)
        with together(self._session):
            batches.append(self._session, *(batch for _, batch in new))
            audit.record_all(self._session, [each.done(batch, self._now) for each, batch in new])
            for cell, filled in self._filled.items():
                if filled.changed:
                    coverage.save(self._session, *cell, filled.bitmap(), filled.received)
        queued = [self._advance(intake) for intake in self._intakes.values()]
        leaves = ledger.next_leaves(self._session, [each.event(batch) for each, batch in new], now=self._now)
        receipts = iter(leaves.receipts)
        accepted = [each.answer(None if each.batch is None else next(receipts)) for each in self._taken]
        return Stored(accepted, leaves, queued=any(queued))

    def _rest(self, prereg_id: str, prepared: Prepared) -> Prepared:
        """Without the rows that are in, whatever they say."""
        placed = prepared.placed
        free = np.ones(placed.n, dtype=np.bool_)
        for (replicate, positions), cell in zip(
            prepared.parts, _cells(prereg_id, placed, prepared.parts), strict=True
        ):
            free[placed.replicates == replicate] = ~self._filled[cell].holds(positions)
        rest = placed.only(free)
        return replace(prepared, placed=rest, parts=tuple(rest.by_replicate()) if rest.n else ())

    def _idle(self, intake: _Intake, submission: Submission) -> _Taken:
        """A batch of rows that are all in: true of a record that is complete as well."""
        return _Taken(
            batch=None,
            skipped=submission.n,
            project_id=intake.record.project_id,
            salt=submission.salts.leaf,
            received=intake.received,
            expected=intake.expected,
            state=intake.state,
        )

    def _claim(self, prereg_id: str, prepared: Prepared) -> None:
        """All cells of a batch, or none."""
        cells = [self._filled[cell] for cell in _cells(prereg_id, prepared.placed, prepared.parts)]
        for filled, (_, positions) in zip(cells, prepared.parts, strict=True):
            filled.require_free(positions, prepared.item_ids)
        for filled, (_, positions) in zip(cells, prepared.parts, strict=True):
            filled.add(positions)

    def _advance(self, intake: _Intake) -> bool:
        """Move a record on by what was taken; true when a job was queued."""
        if intake.job_id is None:
            return False
        record, job_id, now = intake.record, intake.job_id, self._now
        if record.state == "locked":
            record = preregistrations.move(self._session, record, "collecting", now)
        if intake.state == "complete":
            require_covered(self._session, record, full=True)
            record = preregistrations.move(self._session, record, "complete", now)
            enqueue_verdict(self._session, record, job_id=job_id, now=now)
            return True
        return enqueue_due(self._session, record, job_id=job_id, now=now) is not None


def _cells(prereg_id: str, placed: PlacedBatch, parts: Parts) -> list[Cell]:
    place = placed.population, placed.arm, placed.endpoint
    return [(prereg_id, (*place, replicate)) for replicate, _ in parts]


def _sealed(
    intake: _Intake, sequence: int, placed: PlacedBatch, submission: Submission, now: datetime
) -> NewBatch:
    facts = sealing.BatchFacts(
        preregistration_id=intake.record.id,
        plan_sha256=intake.record.plan_sha256 or "",
        sequence=sequence,
        population=placed.population,
        arm=placed.arm,
        endpoint=placed.endpoint,
        run=placed.run,
        positions=placed.positions.astype("<i4").tobytes(),
        replicates=placed.replicates.astype("<u2").tobytes(),
    )
    rows = sealing.SecretRows(placed.values, placed.statuses, placed.observed_at)
    sealed = sealing.seal_rows(intake.public_key, rows, submission.salts.rows, facts)
    return NewBatch.of(
        facts,
        sealed,
        n=placed.n,
        status_counts=_status_counts(intake.record.plan, placed),
        received_at=now,
        key_id=submission.caller.id,
    )


def _status_counts(plan: Plan, placed: PlacedBatch) -> dict[str, int] | None:
    """Counts by status where the policy allows them: under `fail` an error is an outcome."""
    if plan.missing != "exclude_pair":
        return None
    counted = Counter(placed.statuses.tolist())
    return {name: counted.get(code, 0) for code, name in enumerate(STATUSES)}
