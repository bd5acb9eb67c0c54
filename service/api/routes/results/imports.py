"""Imports: result files of harnesses, read under the mapping that the plan was locked with."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from anyio import to_thread
from fastapi import Depends, Query, Request, Response
from pydantic import Field
from sqlalchemy.orm import Session

from service.actions.plans import namings
from service.actions.results import artefacts, results
from service.actions.results import imports as actions
from service.actions.results.posting import BatchReceipt
from service.api.calculators import handlers
from service.api.calculators.pool import CalculatorLost
from service.api.examples import imports as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.deps import (
    MAX_ID,
    Cursor,
    Limit,
    Planner,
    Reader,
    ReadSession,
    RecordId,
    Shared,
    Submitter,
)
from service.api.http.requests.idempotency import Once, RequiredOnce, dump_response, respond
from service.api.http.requests.uploads import Upload, receive, takes_file
from service.api.http.serving.route import audits, make_router, refuses
from service.api.http.shared import Services
from service.domain.access import Key
from service.domain.ledger import Receipt
from service.domain.plans.importing.imports import FORMATS
from service.domain.plans.naming import open_arms
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import State
from service.domain.results.batches import OnDuplicate
from service.errors import InvalidData, NotFound, TooLarge
from service.ingest.columns import text_fault
from service.ingest.imports import ImportedFile, mapping_of
from service.processes.wake import nudge
from service.store.database.idempotency import StoredResponse
from service.store.plans import preregistrations
from service.store.results import imports

routes = make_router("results")
T = TypeVar("T")
Aspect = Literal["content"]
"""In what a file may differ from what was locked, where that is allowed: of `forelock.questions`, what a plan pins."""
SECONDS = 300.0
"""Of computing that reading one file may take."""
if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = Literal[tuple(FORMATS)]


class ImportedBatch(View):
    """What became of the rows of one arm and endpoint: counts and ids, never values."""

    arm: str
    endpoint: str
    rows: int = Field(description="Rows of the file, those left out included.")
    unknown: int = Field(description="Rows whose item the manifest does not have.")
    unknown_ids: list[str] = Field(description="The first of their ids.")
    missing: int = Field(description="Rows that the plan expects and the file does not have.")
    missing_ids: list[str] = Field(description="The first of their items.")
    card_differs: list[str] = Field(
        [], description="Fields of the arm's card in the plan of which the file says something else."
    )
    content_differs: int = Field(
        0, description="Items of other content than the manifest pins, let in by `allow_different`."
    )
    content_differs_ids: list[str] = Field([], description="The first of them.")
    content_unknown: int = Field(
        0, description="Items that the manifest pins and whose content the file does not have: unchecked."
    )
    batch: int | None = Field(description="Number of the batch; null: all of its rows were in.")
    n: int = Field(description="Rows that were stored.")
    skipped: int = Field(description="Rows left out because they were in.")
    receipt: Receipt | None


class ImportReport(View):
    """What an import answers; the same whatever the values."""

    number: int | None = Field(
        description="Number of the import in its preregistration; null: nothing was new."
    )
    format: str
    population: str
    batches: list[ImportedBatch]
    received: int = Field(description="Rows in, over all arms and endpoints.")
    expected: int = Field(description="Rows that make the plan complete.")
    state: State


class ImportView(View):
    """An import in a list; what its file was and held is shown once the verdict is there."""

    number: int
    format: str
    reader_version: int
    batches: list[int]
    received_at: datetime
    key_id: str
    sha256: str | None = Field(description="Of the file; null before the verdict.")
    size: int | None = Field(description="Bytes of the file; null before the verdict.")
    statuses: dict[str, int] | None = Field(description="Rows by status; null before the verdict.")
    events: dict[str, int] | None = Field(
        description="Samples with an error, a limit, an edited score and the like; null before the verdict."
    )


@routes.post(
    "/preregistrations/{prereg_id}/imports",
    status_code=201,
    response_model=ImportReport,
    responses=shows(examples.REPORT, 201) | refuses(409),
    dependencies=[Depends(takes_file)],
)
async def import_results(
    request: Request,
    caller: Submitter,
    once: RequiredOnce,
    shared: Shared,
    prereg_id: RecordId,
    format: Annotated[FormatName | None, Query(description="Must be the plan's; may be left out.")] = None,
    arm: Annotated[
        str | None, Query(max_length=512, description="Whose results these are; null: the file says it.")
    ] = None,
    population: Annotated[
        str | None, Query(max_length=512, description="May be left out when the plan has one.")
    ] = None,
    run: Annotated[
        str | None, Query(max_length=512, description="The run that was bound before it began, if any was.")
    ] = None,
    on_duplicate: Annotated[
        OnDuplicate, Query(description="`skip` leaves out rows that are in already, whatever they say.")
    ] = "refuse",
    complete: Annotated[
        bool,
        Query(description="Also store `missing` for every planned row that a finished run does not have."),
    ] = False,
    allow_different: Annotated[
        list[Aspect],
        Query(description="Take items of other content than the manifest pins; ledger and verdict tell it."),
    ] = [],  # noqa: B006 - nobody changes it
) -> Response:
    """Import the result file of a harness, under the mapping of the plan's `import` section.

    The body is the file as it is, or a zip archive of the files of one run. All of it is stored, or nothing.
    The report counts rows and ids, never values.
    """
    terms = await to_thread.run_sync(_read_terms, shared, caller, prereg_id)
    mapping = mapping_of(terms.plan, format)
    where = _resolve_population(terms.plan, population)
    _require_arm(terms.plan, where, arm)
    run = _normalize_run(run)
    if complete and on_duplicate != "skip":
        raise InvalidData.field(
            "query.complete", "needs on_duplicate=skip", "add it: rows that are in stay as they are"
        )
    async with receive(request) as upload:
        plan, most = terms.plan.canonical_text(), shared.settings.max_rows
        pinned = terms.manifests[where].content_sha256 is not None
        file = await _read_aside(
            request, shared, handlers.import_file, upload, plan, format, where, arm, most, pinned
        )
        fitted = await to_thread.run_sync(
            lambda: actions.fit(
                file,
                terms,
                mapping,
                where,
                run=run,
                on_duplicate=on_duplicate,
                complete=complete,
                allowed=allow_different,
            )
        )
        put = await to_thread.run_sync(_put_away, shared, caller, prereg_id, upload)
    return await to_thread.run_sync(
        _store, shared, caller, once, prereg_id, terms, file, fitted, mapping.format, put
    )


def _put_away(shared: Services, caller: Key, prereg_id: str, upload: Upload) -> artefacts.PutAway | None:
    """Keep the file before its rows are stored; None where the deployment keeps no files."""
    if shared.keeping is None:
        return None
    return artefacts.put_away(shared.database, shared.keeping, caller, prereg_id, upload.file, upload.size)


async def _read_aside(
    request: Request, shared: Services, read: Callable[..., T], upload: Upload, *given: object
) -> T:
    """Read a file in a process of its own, which may take only so much memory and time.

    Raises:
        TooLarge: with code `import_too_large`, where that was not enough.
    """
    try:
        return await shared.importers.run(
            request, read, upload.path, *given, str(upload.scratch), seconds=SECONDS
        )
    except CalculatorLost:
        raise TooLarge(
            "the file takes more time or memory to read than one import may have; split the run",
            code="import_too_large",
        ) from None


def _read_terms(shared: Services, caller: Key, prereg_id: str) -> results.Terms:
    """Read what the rows of a file are held against.

    The plan, with the cards of arms that were named since the lock.
    """
    if len(prereg_id) > MAX_ID:
        raise NotFound("no record has such an id")
    with shared.database.read() as session:
        terms = shared.plans.read(session, caller, prereg_id)
        if not open_arms(terms.plan):
            return terms
        record = preregistrations.get(session, caller.project_id, prereg_id)
        return replace(terms, plan=namings.read_plan(session, record))


def _normalize_run(name: str | None) -> str | None:
    """Normalize the name of a run to NFC, as binding it did: two spellings that look alike are one run."""
    normal = None if name is None else unicodedata.normalize("NFC", name)
    if normal is not None and (fault := text_fault(normal)):
        raise InvalidData.field("query.run", fault, "send the name that binding the run answered")
    return normal


def _require_arm(plan: Plan, population: str, arm: str | None) -> None:
    """Refuse an arm that the plan does not have on the population; None: the file says whose results these are."""
    arms = plan.arms(population)
    if arm is not None and arm not in arms:
        raise InvalidData.field("query.arm", "is not one of the plan's", f"the plan has {', '.join(arms)}")


def _resolve_population(plan: Plan, named: str | None) -> str:
    """Return the population that the query names, or the plan's only one where it names none."""
    known = [population.id for population in plan.populations or ()]
    if named is None and len(known) == 1:
        return known[0]
    if named not in known:
        raise InvalidData.field(
            "query.population", "is not one of the plan's", f"the plan has {', '.join(known)}"
        )
    return named


def _store(
    shared: Services,
    caller: Key,
    once: Once,
    prereg_id: str,
    terms: results.Terms,
    file: ImportedFile,
    fitted: Sequence[actions.Fitted],
    form: str,
    put: artefacts.PutAway | None,
) -> Response:
    """Store the rows of a file, and answer with a report; a kept file whose import fails is taken back."""
    is_recorded = False

    def keep(session: Session, number: int, now: datetime) -> None:
        nonlocal is_recorded
        if put is not None:
            artefacts.keep(session, prereg_id, number, put, now)
            is_recorded = True

    def render(number: int | None, accepted: Sequence[BatchReceipt]) -> StoredResponse:
        last = accepted[-1]
        made = ImportReport(
            number=number,
            format=form,
            population=fitted[0].batch.population or "",
            batches=[_make_batch(part, of) for part, of in zip(fitted, accepted, strict=True)],
            received=last.received,
            expected=last.expected,
            state=last.state,
        )
        return dump_response(answer(made, 201))

    attempt = once.attempt(actions.fingerprint(fitted))
    posted = actions.submissions(caller, prereg_id, terms, fitted, attempt)
    try:
        answered, queued = actions.store(shared.database, posted, file, form, render, keep)
    finally:
        # Where the commit itself failed nobody knows whether the row is there: then the file stays.
        if put is not None and shared.keeping is not None and not is_recorded:
            artefacts.take_back(shared.keeping, put)
    if queued:
        nudge(shared.settings.runner_socket)
    return respond(answered)


def _make_batch(fitted: actions.Fitted, accepted: BatchReceipt) -> ImportedBatch:
    """Make the report on one arm and endpoint of an import."""
    return ImportedBatch(
        arm=fitted.batch.arm,
        endpoint=fitted.batch.endpoint,
        rows=fitted.rows,
        unknown=fitted.unknown,
        unknown_ids=list(fitted.unknown_ids),
        missing=fitted.missing,
        missing_ids=list(fitted.missing_ids),
        card_differs=list(fitted.card_differs),
        content_differs=fitted.content_differs,
        content_differs_ids=list(fitted.content_differs_ids),
        content_unknown=fitted.content_unknown,
        batch=accepted.batch,
        n=accepted.n,
        skipped=accepted.skipped,
        receipt=accepted.receipt,
    )


class FileRead(View):
    """What a file holds; nothing of it is stored."""

    survey: dict[str, Any] = Field(
        description="Measures, places of ids and clusters, arms, and an `import` section to paste."
    )
    table: list[dict[str, Any]] | None = Field(
        description="With `section`: the rows, as columns per arm and endpoint."
    )
    problem: dict[str, Any] | None = Field(description="With `section`: what an import would be refused for.")


@routes.post(
    "/imports/check",
    response_model=FileRead,
    responses=shows(examples.FILE) | refuses(400, 408),
    dependencies=[Depends(takes_file)],
)
async def check_file(
    request: Request,
    caller: Planner,  # noqa: ARG001 - it has to be one
    shared: Shared,
    format: Annotated[FormatName, Query(description="The file's.")],
    section: Annotated[
        str | None, Query(max_length=20_000, description="An `import` section as JSON, to read the rows by.")
    ] = None,
    arm: Annotated[str | None, Query(max_length=512, description="Whose results these are.")] = None,
) -> Response:
    """Read a result file of an earlier run, for whoever writes a plan, and store nothing.

    Answers what the file holds, and under an `import` section its rows or what they would be refused for.
    """
    async with receive(request) as upload:
        survey = await _read_aside(request, shared, handlers.survey_file, upload, format, section, arm)
    return answer(FileRead.model_validate(survey))


@routes.get(
    "/preregistrations/{prereg_id}/imports",
    response_model=Page[ImportView],
    responses=shows(examples.IMPORTS),
)
@audits("imports.read")
def list_imports(
    caller: Reader, session: ReadSession, prereg_id: RecordId, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """List the imports of result files, newest first: which file became which batches.

    The file's hash and what it held are sealed until the verdict.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    stored, following = imports.read_page(session, record.id, cursor=cursor, limit=limit)
    items = [
        ImportView.model_validate(
            {name: getattr(imported, name) for name in ImportView.model_fields if hasattr(imported, name)}
            | {"batches": list(imported.batches)}
            | (facts or dict.fromkeys(("sha256", "size", "statuses", "events")))
        )
        for imported, facts in actions.open_imports(session, record, stored)
    ]
    return answer(Page[ImportView](items=items, next_cursor=following))
