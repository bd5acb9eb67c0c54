"""Imports: a file's rows are checked against the plan and its manifest, and stored as batches in one transaction.

Nothing here may answer differently for different outcomes of what is stored: the report counts rows and ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from service.actions.results.group_commit import Answer
from service.actions.results.posting import BatchReceipt, Group, GroupReads, Submission
from service.actions.results.results import Terms
from service.domain.access import Key
from service.domain.faults import SHOWN, list_ids
from service.domain.moment import Moment
from service.domain.plans.importing.mapping import Readable
from service.domain.plans.manifest import Manifest
from service.domain.plans.naming import named_arms, require_named
from service.domain.plans.preregistration import Preregistration
from service.domain.results import sealing
from service.domain.results.batches import OnDuplicate, ReceivedBatch, fingerprint_parts, place_batch
from service.domain.results.contents import not_comparable, other_contents
from service.domain.results.secret_rows import NO_TIME, SecretRows
from service.errors import Fault, InvalidData
from service.ingest.harnesses.registry import VERSION
from service.ingest.imports import ImportedFile, ImportedRows
from service.store.database import clock, idempotency
from service.store.database.engine import Database
from service.store.database.pipeline import reading, together
from service.store.ledger import ledger
from service.store.plans import plan_keys, preregistrations
from service.store.results import imports
from service.store.results.imports import StoredImport


@dataclass(frozen=True, slots=True)
class Fitted:
    """The rows of one arm and endpoint as a batch, and how its ids compare with the manifest's."""

    batch: ReceivedBatch = field(repr=False)
    rows: int
    """Of the file, those left out included."""
    unknown: int
    unknown_ids: tuple[str, ...]
    """The first of them."""
    missing: int
    """Cells of the plan that the file has no row of."""
    missing_ids: tuple[str, ...]
    card_differs: tuple[str, ...] = ()
    """Fields of the arm's card of which the file says something else."""
    content_differs: int = 0
    """Items of other content than the manifest pins, which the caller allowed."""
    content_differs_ids: tuple[str, ...] = ()
    content_unknown: int = 0
    """Items that the manifest pins and whose content the file does not have."""


def fit(
    file: ImportedFile,
    terms: Terms,
    mapping: Readable,
    population: str,
    *,
    run: str | None,
    on_duplicate: OnDuplicate,
    complete: bool,
    allowed: Collection[str],
) -> list[Fitted]:
    """Compare what was read with the manifest, and make batches of it, as results of a run that was bound.

    `complete` adds a row of status `missing` for every cell that the file has no row of. `allowed` are the aspects in
    which the file may differ from what was locked.

    Raises:
        InvalidData: items that the manifest does not have, clusters or contents that are not its, or a run that did
            not end.
        Conflict: `arm_unnamed`.
    """
    if complete and not file.whole:
        raise InvalidData.field(
            "query.complete", "asks for the rest of a run that did not end", "import it again once it has"
        )
    if not file.rows:
        raise InvalidData.field("", "the file has no sample", "send the file of a run that has some")
    manifest = terms.manifests[population]
    for rows in file.rows:  # named after the file was read: what it says was held against nothing
        require_named(terms.plan, named_arms(terms.plan), rows.arm)
    return [
        _fit(rows, terms, mapping, manifest, population, run, on_duplicate, complete, "content" in allowed)
        for rows in file.rows
    ]


def _locate(rows: ImportedRows, mapping: Readable, manifest: Manifest, population: str) -> NDArray[np.int64]:
    """Return the position of every row's item in the manifest, (n,); -1 of ids that are no items.

    Raises:
        InvalidData: such ids, unless the mapping leaves them out; or no id that is an item.
    """
    places = map(manifest.positions.get, rows.item_ids)
    positions = np.array([-1 if place is None else place for place in places], dtype=np.int64)
    known = positions >= 0
    unknown = [rows.item_ids[index] for index in np.flatnonzero(~known)]
    if unknown and mapping.unknown_items != "leave_out":
        fix = 'write where the id stands as "item_id", or "unknown_items": "leave_out"'
        detail = f"{len(unknown)} ids are not items of population '{population}': {list_ids(unknown, len(unknown))}"
        raise InvalidData(detail, [Fault("import.item_id", detail, fix)], code="import_unknown_items")
    if not known.any():
        raise InvalidData.field(
            "import.item_id", "stands for no item of the manifest", "write where its ids stand"
        )
    return positions


def _fit(
    rows: ImportedRows,
    terms: Terms,
    mapping: Readable,
    manifest: Manifest,
    population: str,
    run: str | None,
    on_duplicate: OnDuplicate,
    complete: bool,
    allows_contents: bool,
) -> Fitted:
    """Place the rows of a file among a population's items, and report what is unknown, missing or differs."""
    positions = _locate(rows, mapping, manifest, population)
    known = positions >= 0
    unknown = [rows.item_ids[index] for index in np.flatnonzero(~known)]
    _require_clusters(rows, manifest, positions)
    others, unchecked = (
        ([], 0)
        if rows.contents is None
        else other_contents(rows.item_ids, rows.contents, positions.tolist(), manifest)
    )
    if others and not allows_contents:
        raise not_comparable(others)
    endpoint = next(
        candidate for candidate in terms.plan.endpoints_of(population) if candidate.id == rows.endpoint
    )
    there = np.zeros((len(manifest.item_ids), endpoint.replicates), dtype=np.bool_)
    fits = known & (rows.replicates <= endpoint.replicates)
    there[positions[fits], rows.replicates[fits] - 1] = True
    absent = np.argwhere(~there)
    batch = ReceivedBatch(
        population=population,
        arm=rows.arm,
        endpoint=rows.endpoint,
        run=run,
        item_ids=tuple(rows.item_ids[index] for index in np.flatnonzero(known)),
        replicates=rows.replicates[known],
        rows=rows.outcomes.where(known),
        on_duplicate=on_duplicate,
    )
    if complete:
        batch = _complete(batch, manifest, absent)
    distinct = dict.fromkeys(manifest.item_ids[position] for position in absent[: SHOWN * 2, 0])
    return Fitted(
        batch=batch,
        rows=len(rows.item_ids),
        unknown=len(unknown),
        unknown_ids=tuple(dict.fromkeys(unknown))[:SHOWN],
        missing=len(absent),
        missing_ids=tuple(distinct)[:SHOWN],
        card_differs=rows.card_differs,
        content_differs=len(others),
        content_differs_ids=tuple(others[:SHOWN]),
        content_unknown=unchecked,
    )


def _complete(batch: ReceivedBatch, manifest: Manifest, absent: NDArray[np.intp]) -> ReceivedBatch:
    """With a row of status `missing` for every cell that the file has none of."""
    n, rows = len(absent), batch.rows
    times = rows.observed_at
    return replace(
        batch,
        item_ids=(*batch.item_ids, *(manifest.item_ids[position] for position in absent[:, 0])),
        replicates=np.concatenate([batch.replicates, (absent[:, 1] + 1).astype(np.uint16)]),
        rows=SecretRows(
            np.concatenate([rows.values, np.full(n, np.nan)]),
            np.concatenate([rows.statuses, np.full(n, 2, dtype=np.uint8)]),
            None if times is None else np.concatenate([times, np.full(n, NO_TIME, dtype=np.int64)]),
        ),
    )


def _require_clusters(rows: ImportedRows, manifest: Manifest, positions: NDArray[np.int64]) -> None:
    """Require that the clusters which samples name are those of the manifest."""
    if manifest.clusters is None:
        return
    others = [
        item_id
        for item_id, cluster, position in zip(rows.item_ids, rows.clusters, positions, strict=True)
        if cluster is not None and position >= 0 and manifest.clusters[position] != cluster
    ]
    if others:
        detail = (
            f"{len(others)} samples name another cluster than the manifest: {list_ids(others, len(others))}"
        )
        fix = "the manifest's clusters are those of the plan: name the place that holds them, or leave `cluster` out"
        raise InvalidData(detail, [Fault("import.cluster", detail, fix)], code="import_clusters_differ")


def fingerprint(fitted: Sequence[Fitted]) -> bytes:
    """Return what makes two imports the same: where rows go, and never what they say."""
    return b"\n\n".join(fingerprint_parts(part.batch) for part in fitted)


def submissions(
    caller: Key, preregistration_id: str, terms: Terms, fitted: Sequence[Fitted], attempt: idempotency.Attempt
) -> list[Submission]:
    """Return the batches of one request as they are posted, each placed as a posted one is."""
    return [
        Submission(
            caller,
            preregistration_id,
            place_batch(part.batch, terms.plan, terms.manifests),
            terms,
            attempt,
            skips=part.batch.on_duplicate == "skip",
            card_differs=part.card_differs,
            content_differs=part.content_differs,
        )
        for part in fitted
    ]


def store(
    database: Database,
    posted: Sequence[Submission],
    file: ImportedFile,
    form: str,
    render: Callable[[int | None, Sequence[BatchReceipt]], idempotency.StoredResponse],
    keep: Callable[[Session, int, datetime], None],
) -> tuple[Answer, bool]:
    """Store the batches of an import, all of them or none; and whether a job was queued.

    `keep` is called with the number of an import that has some, in the transaction of its rows.

    Raises:
        ForelockError: what the first batch that is not taken would be answered alone.
    """
    prereg_id, caller, attempt = posted[0].preregistration_id, posted[0].caller, posted[0].attempt
    with database.write() as session:
        with reading(session) as questions:
            asked_now = clock.ask_now(questions)
            asked_earlier = idempotency.ask(questions, [attempt])
            reads = GroupReads(questions, posted, wait=True)
        now, earlier = asked_now.get(), asked_earlier.get()
        if attempt.scope in earlier:
            return Answer(earlier[attempt.scope].answer_to(attempt), repeated=True), False
        group = Group(session, reads, Moment(now))
        for submission in posted:
            group.take(submission)
        stored = group.store()
        sequences = tuple(receipt.batch for receipt in stored.accepted if receipt.batch is not None)
        number = None
        if sequences:
            number = imports.next_number(session, prereg_id)
            record = preregistrations.get(session, caller.project_id, prereg_id)
            info = sealing.import_info(prereg_id, record.plan_sha256 or "", number)
            sealed = sealing.seal_import(plan_keys.read_public(session, prereg_id), _facts(file), info)
            new = StoredImport(
                preregistration_id=prereg_id,
                number=number,
                format=form,
                reader_version=VERSION,
                batches=sequences,
                sealed=sealed,
                received_at=now,
                key_id=caller.id,
            )
            imports.append(session, new)
            keep(session, number, now)
        response = render(number, stored.accepted)
        with together(session):
            if stored.leaves is not None:
                ledger.add(session, stored.leaves)
            idempotency.keep(session, [(attempt, response)], now)
    return Answer(response), stored.queued


def _facts(file: ImportedFile) -> dict[str, object]:
    """Return what is sealed of a file; its hash alone would tell a guess of its outcomes from others."""
    return {
        "sha256": file.sha256,
        "size": file.size,
        "statuses": dict(file.statuses),
        "events": dict(file.events),
    }


def open_imports(
    session: Session, record: Preregistration, stored: Sequence[StoredImport]
) -> Iterator[tuple[StoredImport, dict[str, object] | None]]:
    """Imports, with what they held once the verdict has released the plan's key."""
    key = None if record.judged_at is None else plan_keys.find_released(session, record.id)
    for imported in stored:
        info = sealing.import_info(record.id, record.plan_sha256 or "", imported.number)
        yield imported, None if key is None else sealing.open_import(key, imported.sealed, info)
