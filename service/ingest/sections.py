"""Result files under an `import` section that is not in a plan yet: the rows that an import would take.

As in surveys, nothing is blind in these files, and nothing is stored.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from service.domain.plans.importing.formats import mapping_of
from service.domain.plans.importing.mapping import Readable
from service.domain.results.statuses import STATUSES
from service.errors import InvalidData
from service.ingest.documents.files import Files
from service.ingest.harnesses.registry import MODULES, harness_of
from service.ingest.mapping.fingerprints import reading_contents
from service.ingest.mapping.rows import Collector
from service.ingest.mapping.targets import targets

Json = dict[str, Any]


def table(files: Files, section: Any, arm: str | None) -> list[Json]:
    """Return the rows of a file under an `import` section, as columns for each arm and endpoint.

    Raises:
        ForelockError: what an import would be refused for.
    """
    mapping = mapping_from(section)
    reader = harness_of(mapping.format).open(files, mapping.format, mapping)
    content = reading_contents(reader, mapping.format)
    wanted = list(targets(mapping, {}, mapping.endpoint or "primary"))
    collected = Collector(mapping, wanted, arm=arm, content=content).read(reader)
    return [
        {
            "arm": rows.arm,
            "endpoint": rows.endpoint,
            "item_ids": rows.item_ids,
            "clusters": rows.clusters,
            "replicates": rows.replicates,
            "values": [None if math.isnan(value) else value for value in rows.values],
            "status": [STATUSES[code] for code in rows.statuses],
            "contents": [digest for digest, _ in rows.contents],
            "inputs": [words for _, words in rows.contents],
        }
        for rows in sorted(collected.rows, key=lambda rows: rows.place)
    ]


@cache
def _any_mapping() -> TypeAdapter[Any]:
    from service.domain.plans.importing.imports import ImportMapping

    return TypeAdapter(ImportMapping)


def mapping_from(section: Any) -> Readable:
    """Return an `import` section that is not in a plan yet."""
    form = section.get("format") if isinstance(section, dict) else None
    # by its format alone where that is read: a union of all builds slowly
    own = mapping_of(form) if isinstance(form, str) and form in MODULES else None
    try:
        mapping: Any = (
            _any_mapping().validate_json(json.dumps(section), strict=True)
            if own is None
            else own.model_validate_json(json.dumps(section), strict=True)
        )
    except ValidationError as invalid:
        first = invalid.errors(include_input=False, include_url=False)[0]
        path = ".".join(["import", *(str(part) for part in first["loc"][own is None :])])
        raise InvalidData.field(path, first["msg"], "see docs/imports.md") from None
    if not isinstance(mapping, Readable):  # what plans may hold that were locked before files were read
        raise InvalidData.field("import.format", "is none that is read", f"one of {', '.join(MODULES)}")
    return mapping
