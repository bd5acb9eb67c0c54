"""Values written to a file and read again."""

from __future__ import annotations

import copy
from typing import Any

from service.ingest.documents.files import Files
from service.ingest.harnesses.registry import harness_of
from service.ingest.mapping.imported_rows import Imported
from service.ingest.mapping.rows import Collector
from service.ingest.mapping.targets import Target
from tests.ingest.bases import Base
from tests.ingest.truth import mapping_of


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(document)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return changed


def read(base: Base, files: Files) -> Imported:
    mapping = mapping_of(**base.mapping)
    reader = harness_of(mapping.format).open(files, mapping.format, mapping)
    values = {**mapping.VALUES, **(mapping.values or {})}
    return Collector(mapping, [Target("e", base.key, values=values)], arms=("baseline",)).read(reader)
