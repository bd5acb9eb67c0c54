"""A file of a harness, under a plan: opened, checked and read into the columns of batches."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.importing.imports import UnreadImport
from service.domain.plans.importing.mapping import Readable
from service.domain.plans.plan import Plan
from service.domain.results.secret_rows import SecretRows
from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.documents.limits import make_unmapped
from service.ingest.harnesses.registry import harness_of
from service.ingest.harnesses.samples import Reader
from service.ingest.mapping.fingerprints import reading_contents
from service.ingest.mapping.rows import Collector
from service.ingest.mapping.targets import Target, targets

_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class ImportedRows:
    """Rows of one arm and endpoint; columns have shape (n,). Its repr tells no outcome."""

    arm: str
    endpoint: str
    item_ids: tuple[str, ...] = field(repr=False)
    clusters: tuple[str | None, ...] = field(repr=False)
    replicates: NDArray[np.uint16] = field(repr=False)
    outcomes: SecretRows = field(repr=False)
    card_differs: tuple[str, ...] = ()
    """Fields of the arm's card of which the file says something else."""
    contents: tuple[str | None, ...] | None = field(default=None, repr=False)
    """`content_sha256` of each row's item, None where the file does not have it; None: nobody asked."""


@dataclass(frozen=True, slots=True, eq=False)
class ImportedFile:
    """A file as it was read. What it was and counted is sealed with the rows."""

    rows: tuple[ImportedRows, ...] = field(repr=False)
    sha256: str = field(repr=False)
    size: int = field(repr=False)
    statuses: Mapping[str, int] = field(repr=False)
    events: Mapping[str, int] = field(repr=False)
    whole: bool
    """The file says that its run ended well."""


def mapping_of(plan: Plan, form: str | None) -> Readable:
    """Return the mapping that the plan was locked with, when it can be applied.

    Raises:
        InvalidData: the plan has none, or one of another format.
    """
    mapping = plan.import_mapping
    if mapping is None or isinstance(mapping, UnreadImport):
        raise make_unmapped(
            "import",
            "the plan was locked without a mapping that files are read by",
            "post the rows as results, or write `import` into the next plan before its lock",
        )
    if form is not None and form != mapping.format:
        raise InvalidData.field(
            "query.format", "is not the format of the plan's import section", f"import as {mapping.format}"
        )
    return mapping


def read_import(
    file: BinaryIO,
    plan: Plan,
    *,
    form: str | None,
    population: str,
    arm: str | None,
    max_rows: int,
    scratch: Path | None,
    pinned: bool,
) -> ImportedFile:
    """Read a file under the plan's mapping, and with `pinned` what its items are.

    Raises:
        MalformedBody: `malformed_import`; TooLarge: `import_too_large`; InvalidData: `import_unmapped`.
    """
    mapping = mapping_of(plan, form)
    wanted = _list_targets(plan, population, mapping)
    sha256, size = _hash(file)
    reader = harness_of(mapping.format).open(Files.of(file, scratch=scratch), mapping.format, mapping)
    _require_judges(reader, plan, wanted)
    cards = {card.id: card for card in plan.arm_cards or ()}
    arms = plan.arms(population)
    content = reading_contents(reader, mapping.format) if pinned else None
    collector = Collector(
        mapping, wanted, arm=arm, arms=arms, max_rows=max_rows, cards=cards, content=content
    )
    collected = collector.read(reader)
    rows = tuple(
        ImportedRows(
            row.arm,
            row.endpoint,
            tuple(row.item_ids),
            tuple(row.clusters),
            np.array(row.replicates, dtype=np.uint16),
            SecretRows(
                np.array(row.values, dtype=np.float64),
                np.frombuffer(bytes(row.statuses), dtype=np.uint8),
                np.array(row.times, dtype=np.int64) if row.times else None,
            ),
            collected.card_differs.get(row.arm, ()),
            tuple(digest for digest, _ in row.contents) if pinned else None,
        )
        for row in collected.rows
    )
    return ImportedFile(
        rows, sha256, size, collected.statuses, collected.events, reader.partial is None and not reader.piece
    )


def _list_targets(plan: Plan, population: str, mapping: Readable) -> list[Target]:
    """List the columns that a file fills under the mapping, and refuse it if none is an endpoint of this population."""
    for _, line, measure in mapping.measures():
        for name in mapping.NEEDS:
            if getattr(measure, name) is None:
                raise make_unmapped(
                    f"{line}.{name}", f"the plan was locked without a {name}", "post the rows as results"
                )
    kinds = {one.id: one.kind for one in plan.endpoints_of(population)}
    primary = [endpoint.id for endpoint in plan.endpoints or () if endpoint.role == "primary"]
    wanted = list(targets(mapping, kinds, primary[0] if len(primary) == 1 else None))
    measured = [column for column in wanted if column.endpoint in kinds]
    if not measured:
        raise make_unmapped(
            "import.endpoint", "is not measured on this population", "import another population"
        )
    return measured


def _require_judges(reader: Reader, plan: Plan, wanted: list[Target]) -> None:
    """The model that scored has to be the one that was locked, where the file says which it was."""
    locked = {column.key: column.endpoint for column in wanted}
    for metric, model in reader.judges():
        endpoint = plan.endpoint(locked.get(metric, ""))
        if endpoint is not None and endpoint.judge is not None and model != endpoint.judge.model:
            raise InvalidData.field(
                "endpoints.judge",
                f"the file's metric '{metric}' was evaluated by another model than the plan's judge",
                "score with the judge that was locked, or file a deviation",
            )


def _hash(file: BinaryIO) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    file.seek(0)
    while piece := file.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size
