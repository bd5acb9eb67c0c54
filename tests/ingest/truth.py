"""The files that real harnesses wrote, and the true table of each: `tests/ingest/files/TOOL/VERSION/truth.csv`."""

from __future__ import annotations

import csv
import unicodedata
from contextlib import ExitStack
from pathlib import Path

from pydantic import TypeAdapter

from service.domain.plans.importing.imports import ImportMapping
from service.domain.plans.importing.mapping import Readable
from service.ingest.documents.files import Files
from service.ingest.harnesses.registry import harness_of
from service.ingest.mapping.imported_rows import Imported
from service.ingest.mapping.rows import STATUS, Collector
from service.ingest.mapping.targets import Target

FILES = Path(__file__).parent / "files"
MAPPINGS: TypeAdapter[Readable] = TypeAdapter(ImportMapping)
NAMES = {code: name for name, code in STATUS.items()}
Table = dict[tuple[str, str, int], tuple[float | None, str, str | None]]


def mapping_of(**fields) -> Readable:
    """A mapping as a plan has it."""
    return MAPPINGS.validate_python(fields, strict=False)


def read(paths, mapping: Readable, key: str, *, arm=None, arms=("baseline", "candidate"), **more) -> Imported:
    """The rows of one measure of some files."""
    with ExitStack() as open_ones:
        files = Files.at([Path(path) for path in paths], open_ones)
        reader = harness_of(mapping.format).open(files, mapping.format, mapping)
        values = {**mapping.VALUES, **(mapping.values or {})}
        target = Target("endpoint", key, values=values, **more)
        return Collector(mapping, [target], arm=arm, arms=arms).read(reader)


def table(imported: Imported, arm: str) -> Table:
    """Rows by item, arm and replicate, as `truth` gives them."""
    return {
        (item_id, arm, replicate): (None if status else value, NAMES[status], cluster)
        for rows in imported.rows
        if rows.arm == arm
        for item_id, replicate, value, status, cluster in zip(
            rows.item_ids, rows.replicates, rows.values, rows.statuses, rows.clusters, strict=True
        )
    }


def truth(tool: str, file: str, arm: str, endpoint: str) -> tuple[Table, Table]:
    """What the file holds, and apart from it what is missing of it altogether."""
    (path,) = (FILES / tool).glob("*/truth.csv")
    there: Table = {}
    absent: Table = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if (row["file"], row["arm"], row["endpoint"]) != (file, arm, endpoint):
                continue
            place = (unicodedata.normalize("NFC", row["item_id"]), arm, int(row["replicate"]))
            value = float(row["value"]) if row["value"] else None
            is_absent = row["status"] == "missing" and (
                not row["note"] or row["note"].startswith(("not in", "not submitted", "split", "log_samples"))
            )
            (absent if is_absent else there)[place] = (value, row["status"], row["cluster"])
    assert there or absent
    return there, absent


def folder(tool: str) -> Path:
    """Where a tool's files are."""
    (found,) = (FILES / tool).iterdir()
    return found
