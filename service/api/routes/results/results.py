"""Results: eval jobs post them, nobody reads them before the verdict."""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import Depends, Path, Query, Request, Response
from pydantic import AwareDatetime, Field
from sqlalchemy.orm import Session

from service.actions.results import results as actions
from service.actions.results import voids
from service.actions.results.group_commit import Answer, Waiting
from service.actions.results.posting import ROW_BYTES, BatchReceipt, Submission
from service.actions.results.progress import missing as missing_rows
from service.actions.results.progress import progress
from service.actions.verdicts import rows
from service.api.calculators import handlers
from service.api.examples import common as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.body import Content, StrictBody, make_raw_reader
from service.api.http.requests.deps import (
    MAX_ID,
    Cursor,
    Limit,
    Locker,
    Reader,
    ReadSession,
    RecordId,
    Shared,
    require_scope,
    scope,
)
from service.api.http.requests.headers import get_header
from service.api.http.requests.idempotency import Once, OptionalOnce, dump_response, require_once, respond
from service.api.http.serving.route import asks, audits, make_router, refuses
from service.api.http.shared import Services, get_services
from service.api.routes.plans.preregistrations import audit_refusals
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.plans.preregistration import ONCE_LOCKED, State
from service.domain.results.batches import OnDuplicate, ReceivedBatch, fingerprint_parts, place_batch
from service.errors import ForelockError, NotFound
from service.ingest import results as ingest
from service.records import StrictRecord
from service.store.database import clock
from service.store.database.idempotency import StoredResponse
from service.store.plans import preregistrations
from service.store.results import batches
from service.store.results.batches import BatchView

routes = make_router("results")
Text = Annotated[str, Field(min_length=1, max_length=512)]


class ResultColumns(StrictRecord):
    """A batch of results of one arm as columns."""

    population: Text | None = Field(None, description="May be left out when the plan has one population.")
    arm: Text
    endpoint: Text
    item_ids: list[Text] = Field(min_length=1)
    values: list[float | None] = Field(min_length=1, description="Null unless the status is `ok`.")
    replicates: list[int] | None = Field(None, description="From 1.")
    observed_at: list[AwareDatetime | None] | None = None
    status: list[Literal["ok", "error", "missing"]] | None = None
    run: Text | None = None
    on_duplicate: OnDuplicate = Field(
        "refuse", description="`skip` leaves out rows that are in already, whatever they say."
    )


class ResultRow(StrictRecord):
    """One result; `population`, `arm`, `endpoint`, `run` and `on_duplicate` agree on every row of a batch."""

    population: Text | None = None
    arm: Text
    endpoint: Text
    run: Text | None = None
    on_duplicate: OnDuplicate = "refuse"
    item_id: Text
    value: float | None
    replicate: int = Field(1, ge=1)
    observed_at: AwareDatetime | None = None
    status: Literal["ok", "error", "missing"] = "ok"


class VoidRequest(StrictRecord):
    """Why a batch is struck."""

    reason: str = Field(min_length=1, max_length=2000, description="Printed in the verdict.")


_submitter = scope("results:write")
_results_body = make_raw_reader(
    {"application/json": ResultColumns | list[ResultRow], "application/x-ndjson": str, "text/csv": str},
    example=examples.RESULTS,
)
GATHERED_BYTES = 64 * 1024
"""Columns up to this size are read where they are stored; rows up to an eighth of it, which take longer."""
SHORTEST_ROW = 8
"""Characters of a row, about: the most rows that a body may turn out to hold follow from it."""
BatchNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="Number of the batch.")]


@routes.post(
    "/preregistrations/{prereg_id}/results",
    status_code=201,
    response_model=BatchReceipt,
    responses=shows(examples.BATCH_RECEIPT, 201) | refuses(409),
)
@asks(_submitter, require_once, _results_body)
async def post_results(request: Request, prereg_id: RecordId) -> Response:
    """Post a batch of results of one arm.

    JSON columns, JSON rows, NDJSON or CSV, plain or gzip. All of it is stored, or nothing. The batch that
    completes the plan starts the verdict. A retry with the same Idempotency-Key answers as the first time.
    """
    caller, shared = await _submitter(request), get_services(request)
    once = await require_once(request, get_header(request, b"idempotency-key"))
    terms = await _read_terms(shared, caller, prereg_id)
    if isinstance(terms, NotFound):  # before the body is read: nothing can have been stored
        raise terms
    content, post = await _results_body(request), _Post(shared, caller, once, prereg_id, terms)
    most = shared.settings.max_rows
    if not _is_quick(content):
        batches = [await content.read(request, handlers.read_results, content.media_type, most, keep=False)]
        return await to_thread.run_sync(_post_large, post, batches)

    def read() -> Submission:
        return post.place(ingest.parse(content.body, content.media_type, max_items=most))

    async with shared.posts:
        size = len(content.body) * ROW_BYTES // SHORTEST_ROW
        return respond(await wrap_future(post.queue(size, read)))


@dataclass(frozen=True, slots=True)
class _Post:
    """A request that posts a batch: whose it is, to which record, and what its rows are placed by."""

    shared: Services
    caller: Key
    once: Once
    prereg_id: str
    terms: actions.Terms | ForelockError

    def place(self, batch: ReceivedBatch) -> Submission:
        """Place the batch in the plan before the write begins; a fault of it is told only after a stored answer."""
        attempt = self.once.attempt(fingerprint_parts(batch))
        return Submission.of(self.caller, self.prereg_id, batch, self.terms, attempt)

    def queue(self, size: int, read: Callable[[], Submission]) -> Future[Answer]:
        """Queue a batch of about so many bytes, which is read when its turn comes."""
        alone = isinstance(self.terms, actions.Terms) and self.terms.sequential
        waiting = Waiting((self.caller.project_id, self.prereg_id), size, alone, read)
        return self.shared.posting.submit(waiting)


def _post_large(post: _Post, batches: list[ReceivedBatch]) -> Response:
    """Post a large batch, in a thread that waits with it: no more are in memory than there are threads.

    The one batch is taken out of its list: nobody else holds it then, and its ids, most of its memory, are let go once
    their places are known.
    """
    submission = post.place(batches.pop())
    return respond(post.queue(submission.size, lambda: submission).result())


def dump_receipt(accepted: BatchReceipt) -> StoredResponse:
    """Dump the answer to a batch that was taken, for the store."""
    return dump_response(answer(accepted, 201))


class CheckedBatch(View):
    """A batch that would fit the plan."""

    population: str
    arm: str
    endpoint: str
    n: int = Field(description="Rows.")


@routes.post(
    "/preregistrations/{prereg_id}/results/check",
    response_model=CheckedBatch,
    responses=shows(examples.CHECKED_BATCH) | refuses(409),
)
@asks(_submitter, _results_body)
async def check_results(request: Request, prereg_id: RecordId) -> Response:
    """Check a batch as posting it would, and store nothing.

    Says whether its names, items and values belong to the plan, and nothing of what is in. With it a file
    of many batches is known to be right before the first is posted.
    """
    caller, shared = await _submitter(request), get_services(request)
    terms = await _read_terms(shared, caller, prereg_id)
    if isinstance(terms, ForelockError):
        raise terms
    content = await _results_body(request)
    most = shared.settings.max_rows
    if _is_quick(content):
        small = partial(ingest.parse, content.body, content.media_type, max_items=most)
        batch = await to_thread.run_sync(small)
    else:
        batch = await content.read(request, handlers.read_results, content.media_type, most)
    return await to_thread.run_sync(_answer_check, batch, terms)


def _answer_check(batch: ReceivedBatch, terms: actions.Terms) -> Response:
    """Place a batch as posting would, in a thread, and answer where it would go."""
    placed = place_batch(batch, terms.plan, terms.manifests)
    population, arm, endpoint = placed.head.cell
    return answer(CheckedBatch(population=population, arm=arm, endpoint=endpoint, n=placed.n))


def _is_quick(content: Content) -> bool:
    """Tell whether a body is parsed within a few milliseconds: columns are, and little of anything else."""
    if content.limit is not None or content.size > GATHERED_BYTES:
        return False
    columns = content.media_type == "application/json" and content.body.lstrip()[:1] == b"{"
    return columns or content.size <= GATHERED_BYTES // 8


async def _read_terms(shared: Services, caller: Key, prereg_id: str) -> actions.Terms | ForelockError:
    """Read the terms of the record that a request names, before its body is read."""
    if len(prereg_id) > MAX_ID:
        raise NotFound("no record has such an id")
    terms = shared.plans.at_hand(caller, prereg_id)
    return (
        await to_thread.run_sync(_read_terms_or_refusal, shared, caller, prereg_id)
        if terms is None
        else terms
    )


def _read_terms_or_refusal(shared: Services, caller: Key, prereg_id: str) -> actions.Terms | ForelockError:
    """Read what batches are checked against.

    A refusal is returned, not raised: a stored answer to a retry comes before it.
    """
    try:
        with shared.database.read() as session:
            return shared.plans.read(session, caller, prereg_id)
    except ForelockError as refused:
        return refused.with_traceback(None)


@routes.get(
    "/preregistrations/{prereg_id}/batches", response_model=Page[BatchView], responses=shows(examples.BATCHES)
)
def list_batches(
    caller: Reader, session: ReadSession, prereg_id: RecordId, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """List the batches of results, newest first: what was posted when, without outcomes."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    stored, following = batches.read_page(session, record.id, cursor=cursor, limit=limit)
    return answer(Page[BatchView](items=stored, next_cursor=following))


@routes.post(
    "/preregistrations/{prereg_id}/batches/{batch}/void",
    response_model=Receipt,
    responses=shows(examples.VOIDED) | refuses(409),
)
def void_batch(
    caller: Locker,
    once: OptionalOnce,
    shared: Shared,
    prereg_id: RecordId,
    batch: BatchNumber,
    body: Annotated[VoidRequest, StrictBody(VoidRequest, example={"reason": "posted under the wrong arm"})],
) -> Response:
    """Void a whole batch before the plan is complete.

    The repair for a wrong upload: its cells are free again, the batch stays on record, and the verdict prints it.
    """

    def work(session: Session) -> Response:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        return answer(voids.void(session, caller, record, batch, body.reason, clock.read_moment(session)))

    with audit_refusals(shared, caller, prereg_id, "batch.void"):
        return once.run(work)


class CellProgress(View):
    """How much of one cell of the plan is in."""

    population: str
    arm: str
    endpoint: str
    received: int
    expected: int


class MissingView(View):
    """A planned row that is not in."""

    population: str
    arm: str
    endpoint: str
    replicate: int
    item_id: str


class Progress(View):
    """Counts of what is in: nothing here follows from outcomes."""

    state: State
    received: int
    expected: int
    cells: list[CellProgress]
    status_counts: dict[str, int] | None = Field(
        description="Only under the missing policy `exclude_pair`: under `fail` an error is an outcome."
    )
    batches: int = Field(description="Batches posted, voided ones included.")
    overdue: bool = Field(description="True when `results_due` has passed and the plan is not complete.")
    missing: Page[MissingView] | None = Field(
        None, description="With `missing=true`: planned rows that are not in, a page of them."
    )


async def authenticate_counter(request: Request) -> Key:
    """Return the key of the caller, who may read, or write and ask what is still to be written; the route decides."""
    return await _anybody(request)


_anybody = scope()
authenticate_counter.scopes = ("read",)  # type: ignore[attr-defined]
authenticate_counter.statuses = frozenset({401, 403, 503})  # type: ignore[attr-defined]


@routes.get(
    "/preregistrations/{prereg_id}/progress",
    response_model=Progress,
    responses=shows(examples.PROGRESS) | refuses(409),
)
def get_progress(
    caller: Annotated[Key, Depends(authenticate_counter)],
    session: ReadSession,
    prereg_id: RecordId,
    missing: Annotated[
        bool, Query(description="Also list planned rows that are not in; allowed to keys that write.")
    ] = False,
    arm: Annotated[str | None, Query(max_length=512, description="Of this arm alone.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Read how many results are in, and which are not: nothing that follows from outcomes."""
    reads = caller.allows("read")
    if not (reads or (missing and caller.allows("results:write"))):
        require_scope(caller, "read")
    record = preregistrations.get(session, caller.project_id, prereg_id)
    standing = progress(session, record, now=clock.read_now(session))
    page = None
    if missing:
        record.require(*ONCE_LOCKED)
        rows, following = missing_rows(session, record, arm=arm, cursor=cursor, limit=limit)
        items = [
            MissingView(**{name: getattr(row, name) for name in MissingView.model_fields}) for row in rows
        ]
        page = Page[MissingView](items=items, next_cursor=following)
    return answer(
        Progress(
            state=record.state,
            received=sum(received for _cell, received in standing.cells),
            expected=sum(cell.size for cell, _received in standing.cells),
            cells=[
                CellProgress(
                    population=cell.population,
                    arm=cell.arm,
                    endpoint=cell.endpoint,
                    received=received,
                    expected=cell.size,
                )
                for cell, received in standing.cells
            ],
            status_counts=None
            if standing.status_counts is None or not reads
            else dict(standing.status_counts),
            missing=page,
            batches=standing.batches,
            overdue=standing.overdue,
        )
    )


class ResultView(View):
    """One result, readable after the verdict."""

    population: str
    arm: str
    endpoint: str
    run: str | None
    item_id: str
    replicate: int
    value: float | None
    status: Literal["ok", "error", "missing"]
    observed_at: datetime | None
    batch: int


@routes.get(
    "/preregistrations/{prereg_id}/results",
    response_model=Page[ResultView],
    responses=shows(examples.ROWS) | refuses(409),
)
@audits("results.read")
def list_results(
    caller: Reader,
    session: ReadSession,
    prereg_id: RecordId,
    limit: Annotated[int, Query(ge=1, le=10_000, description="Rows per page, 1 to 10,000.")] = 1000,
    cursor: Cursor = None,
) -> Response:
    """Read the rows after the verdict, in the order they were posted. Before it: 409 `blinded`."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    items, following = rows.page(session, record, cursor=cursor, limit=limit)
    return answer(Page[ResultView](items=[ResultView(**row) for row in items], next_cursor=following))
