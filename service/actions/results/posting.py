"""Posting results: what one transaction stores of the batches that wait, each as if it had come alone.

Everything is read first, then every batch is taken or refused in memory, in its turn, then what was
taken is stored at once. Nothing here may answer differently for different outcomes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.results.coverage import require_covered
from service.actions.results.look_requests import enqueue_due
from service.actions.results.results import Terms, enqueue
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.moment import Moment
from service.domain.plans.naming import open_arms, require_named
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration, State
from service.domain.results import sealing
from service.domain.results.batches import PlacedBatch, ReceivedBatch, expected_total, place_batch
from service.domain.results.bitmaps import Filled
from service.domain.results.statuses import STATUSES
from service.errors import Conflict, ForelockError
from service.records import Record
from service.store.database.idempotency import Attempt
from service.store.database.pipeline import Questions, together
from service.store.ledger import ledger
from service.store.plans import namings, preregistrations
from service.store.projects import audit
from service.store.results import batches, coverage, posting_state
from service.store.results.batches import StoredBatch
from service.store.results.posting_state import NOTHING_IN, PostingState

Cell = tuple[str, coverage.Cell]
"""A record and one of its cells."""
Place = tuple[str, str]
"""Project and record."""
_OPEN: tuple[State, ...] = ("locked", "collecting")
ROW_BYTES = 100
"""What a row takes in memory while its batch is stored."""
CELL_BYTES = 1000
"""What a cell takes beside its bitmap."""


@dataclass(frozen=True, slots=True, eq=False)
class Submission:
    """A batch that somebody posts, as placed in its plan, and the request that it came with.

    A fault of it is reported once its record turns out to take results.
    """

    caller: Key
    preregistration_id: str
    batch: PlacedBatch | ForelockError
    terms: Terms | None
    """What it was placed by; None where these were refused."""
    attempt: Attempt
    skips: bool = False
    """Rows that are in already are left out; otherwise one of them refuses the batch."""
    card_differs: tuple[str, ...] = ()
    """Fields of the arm's card of which an imported file says something else. The leaf has them: no outcome does."""
    content_differs: int = 0
    """Items of an imported file of other content than the manifest pins, as was allowed. The leaf has it too."""

    @classmethod
    def of(
        cls,
        caller: Key,
        preregistration_id: str,
        batch: ReceivedBatch,
        terms: Terms | ForelockError,
        attempt: Attempt,
    ) -> Submission:
        """Return a batch as it was received, placed by these terms, whatever comes of it."""
        skips = batch.on_duplicate == "skip"
        if isinstance(terms, ForelockError):
            return cls(caller, preregistration_id, terms, None, attempt, skips)
        placed: PlacedBatch | ForelockError
        try:
            placed = place_batch(batch, terms.plan, terms.manifests)
        except ForelockError as refusal:
            # The traceback would hold the frames that read the batch, and with them its rows.
            placed = refusal.with_traceback(None)
        return cls(caller, preregistration_id, placed, terms, attempt, skips)

    @property
    def place(self) -> Place:
        """Where the batch goes: its project and its preregistration."""
        return self.caller.project_id, self.preregistration_id

    @property
    def n(self) -> int:
        """Its number of rows; none when it is refused anyway."""
        return self.batch.n if isinstance(self.batch, PlacedBatch) else 0

    def item_ids(self) -> tuple[str, ...]:
        """Return the ids of its population, by position; none when it is refused anyway."""
        if self.terms is None or isinstance(self.batch, ForelockError):
            return ()
        return self.terms.manifests[self.batch.head.population].item_ids

    @property
    def size(self) -> int:
        """Bytes that its rows and the bitmaps of its cells take while it is stored."""
        if isinstance(self.batch, ForelockError):
            return 0
        return self.n * ROW_BYTES + len(self.batch.parts) * (len(self.item_ids()) // 8 + CELL_BYTES)


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
    begun: PostingState
    """What was in before the first of them."""
    expected: int
    last: int
    received: int
    state: State
    changed: bool = False
    """Batches were taken of it."""

    def require_open(self) -> None:
        """Refuse a batch when the record takes no results, or no more."""
        if self.state != self.record.state:  # batches taken before have moved it
            self.record.model_copy(update={"state": self.state}).require(*_OPEN)
        self.record.require(*_OPEN)
        if self.begun.erased:
            raise Conflict(
                f"the rows of preregistration {self.record.id} have been erased, and what came in could not be read",
                code="erased",
            )

    def add(self, n: int) -> int:
        """Count a batch in and return its number."""
        self.last, self.received, self.changed = self.last + 1, self.received + n, True
        self.state = "complete" if self.received == self.expected else "collecting"
        return self.last


@dataclass(frozen=True, slots=True)
class _Taken:
    """A batch that will be stored, and which of the answers is its own: that waits for the receipt."""

    submission: Submission
    batch: StoredBatch
    index: int

    def event(self, salt: bytes) -> ledger.Event:
        """Return the leaf of the ledger that tells of the batch."""
        body, submission = self.batch.sealed.leaf(), self.submission
        if submission.card_differs:
            body = body | {"card_differs": list(submission.card_differs)}
        if submission.content_differs:
            body = body | {"content_differs": submission.content_differs}
        return ledger.Event(
            kind="batch",
            body=body,
            project_id=submission.caller.project_id,
            preregistration_id=submission.preregistration_id,
            salt=salt,
        )

    def audit_line(self) -> audit.Act:
        """Return its line in the audit log."""
        return audit.Act(
            project_id=self.submission.caller.project_id,
            key_id=self.batch.key_id,
            action="results.post",
            subject=self.submission.preregistration_id,
            facts={"batch": self.batch.sealed.sequence},
            created_at=self.batch.received_at,
        )


class GroupReads:
    """What a group of batches is taken or refused by; asks for the records' locks first.

    With `wait` it waits for a record that another transaction holds; it may then be about one record only.
    """

    def __init__(self, questions: Questions, submissions: Sequence[Submission], *, wait: bool) -> None:
        ids: dict[str, set[str]] = {}
        for submission in submissions:
            ids.setdefault(submission.caller.project_id, set()).add(submission.preregistration_id)
        self.records = {
            project_id: preregistrations.ask(questions, project_id, of_project, wait=wait)
            for project_id, of_project in ids.items()
        }
        # Only of records whose plan the caller could read: a sum over another project's cells takes its time.
        placed = [
            (submission, submission.batch)
            for submission in submissions
            if isinstance(submission.batch, PlacedBatch)
        ]
        self.posting_states = posting_state.ask(
            questions, {submission.preregistration_id for submission, _ in placed}
        )
        # Asked of plans that leave an arm open alone: others take their results without it.
        self.named = {
            submission.preregistration_id: namings.ask(questions, submission.preregistration_id)
            for submission, _ in placed
            if submission.terms is not None and open_arms(submission.terms.plan)
        }
        sizes = {
            cell: len(submission.item_ids())
            for submission, batch in placed
            for cell in _cells(submission.preregistration_id, batch)
        }
        self.bitmaps = {cell: coverage.ask(questions, *cell, size) for cell, size in sizes.items()}


class Group:
    """The batches of one transaction, of any number of records and projects."""

    def __init__(self, session: Session, reads: GroupReads, moment: Moment) -> None:
        self._session = session
        self._moment = moment
        self._answers: list[BatchReceipt] = []
        self._taken: list[_Taken] = []
        self._held: set[Place] = set()
        self._intakes: dict[Place, _Intake] = {}
        begun = reads.posting_states.get()
        for project_id, answer in reads.records.items():
            locked = answer.get()
            self._held |= {(project_id, record_id) for record_id in locked.elsewhere}
            for record in locked.records.values():
                # A record that takes no results has no beginning either, and expects nothing.
                expected = expected_total(record.plan) if record.id in begun else 0
                before = begun.get(record.id, NOTHING_IN)
                self._intakes[project_id, record.id] = _Intake(
                    record, before, expected, before.last_sequence, before.received, record.state
                )
        self._named = {prereg_id: named.get() for prereg_id, named in reads.named.items()}
        self._filled = {cell: Filled(bitmap.get()) for cell, bitmap in reads.bitmaps.items()}

    def is_held(self, submission: Submission) -> bool:
        """Tell whether another transaction holds its record."""
        return submission.place in self._held

    def take(self, submission: Submission) -> None:
        """Take a batch, or say why not; a refused one leaves no trace. No statement is executed here.

        Raises:
            ForelockError: what it would be answered if it came alone after those taken before it.
        """
        intake = self._intakes.get(submission.place)
        if intake is None:
            raise preregistrations.make_not_found(submission.preregistration_id)
        batch = submission.batch
        if isinstance(batch, PlacedBatch) and submission.skips:
            batch = self._leave_out_held(submission.preregistration_id, batch)
            if batch.n == 0 and intake.state != "withdrawn":
                # All of its rows are in: that is so of a record that is complete as well.
                self._accept(intake, submission, None)
                return
        intake.require_open()
        if isinstance(batch, ForelockError):
            raise batch
        if submission.terms is None or submission.terms.plan_sha256 != intake.record.plan_sha256:
            raise Conflict(
                "the plan was amended while this batch was on its way: post it again", code="plan_amended"
            )
        if submission.preregistration_id in self._named:
            require_named(intake.record.plan, self._named[submission.preregistration_id], batch.head.arm)
        self._claim(submission, batch)
        sealed = sealing.seal_batch(
            batch,
            self._moment.salt(),
            plan_public=intake.begun.public_key,
            plan_sha256=intake.record.plan_sha256,
            preregistration_id=intake.record.id,
            sequence=intake.add(batch.n),
        )
        stored = StoredBatch(
            sealed=sealed,
            status_counts=_status_counts(intake.record.plan, batch),
            received_at=self._moment.now,
            key_id=submission.caller.id,
        )
        self._accept(intake, submission, stored)

    def store(self) -> Stored:
        """Store what was taken, in its order; the one that completes a plan enqueues the verdict with it.

        The ledger is locked then, and what remains to be done for it is the transaction's last act.
        """
        session, moment, queued = self._session, self._moment, False
        if not self._taken:
            return Stored(self._answers, None, queued)
        with together(session):
            batches.append(session, *(taken.batch for taken in self._taken))
            audit.record_all(session, [taken.audit_line() for taken in self._taken])
            for cell, filled in self._filled.items():
                if filled.changed:
                    coverage.save(session, *cell, filled.bitmap(), filled.received)

        for intake in self._intakes.values():
            if not intake.changed:
                continue
            record = intake.record
            if record.state == "locked":
                record = preregistrations.move(session, record, "collecting", moment.now)
            if intake.state == "complete":
                require_covered(session, record, full=True)
                record = preregistrations.move(session, record, "complete", moment.now)
                enqueue(session, record, "verdict", moment)
                queued = True
            elif enqueue_due(session, record, moment) is not None:
                queued = True

        events = [taken.event(moment.salt()) for taken in self._taken]
        leaves = ledger.make_next_leaves(session, events, now=moment.now)
        for taken, receipt in zip(self._taken, leaves.receipts, strict=True):
            answer = self._answers[taken.index]
            self._answers[taken.index] = answer.model_copy(update={"receipt": receipt})
        return Stored(self._answers, leaves, queued)

    def _leave_out_held(self, prereg_id: str, batch: PlacedBatch) -> PlacedBatch:
        """The batch without the rows whose places are filled. What those say is not compared: it is an outcome."""
        free = np.ones(batch.n, dtype=np.bool_)
        for (replicate, positions), cell in zip(batch.parts, _cells(prereg_id, batch), strict=True):
            free[batch.replicates == replicate] = ~self._filled[cell].holds(positions)
        return batch.where(free)

    def _claim(self, submission: Submission, batch: PlacedBatch) -> None:
        """Fill the places of a batch's rows in all of its cells.

        Raises:
            Conflict: one of them is filled already; then none is filled, since a refused batch leaves no trace.
        """
        cells = [self._filled[cell] for cell in _cells(submission.preregistration_id, batch)]
        item_ids = submission.item_ids()
        for filled, (_, positions) in zip(cells, batch.parts, strict=True):
            filled.require_free(positions, item_ids)
        for filled, (_, positions) in zip(cells, batch.parts, strict=True):
            filled.add(positions)

    def _accept(self, intake: _Intake, submission: Submission, batch: StoredBatch | None) -> None:
        """Keep a batch for `store`, with its answer: where its record stands once it and those before it are in.

        None where all of it is in already: it is answered, and nothing of it is stored.
        """
        n = 0 if batch is None else batch.sealed.n
        answer = BatchReceipt(
            batch=None if batch is None else batch.sealed.sequence,
            n=n,
            skipped=submission.n - n,
            received=intake.received,
            expected=intake.expected,
            state=intake.state,
            receipt=None,
        )
        if batch is not None:
            self._taken.append(_Taken(submission, batch, len(self._answers)))
        self._answers.append(answer)


def _cells(prereg_id: str, batch: PlacedBatch) -> list[Cell]:
    """Return the record's cells that a batch fills, one for each of its replicates."""
    return [(prereg_id, (*batch.head.cell, replicate)) for replicate, _ in batch.parts]


def _status_counts(plan: Plan, batch: PlacedBatch) -> dict[str, int] | None:
    """Counts by status where the policy allows them: under `fail` an error is an outcome."""
    if plan.missing != "exclude_pair":
        return None
    counted = Counter(batch.rows.statuses.tolist())
    return {name: counted.get(code, 0) for code, name in enumerate(STATUSES)}
