"""The record of one format's mapping: a question about tables, which most are, loads no other."""

from __future__ import annotations

from service.domain.plans.importing.mapping import Readable
from service.domain.plans.importing.table_import import TableImport


def mapping_of(form: str) -> type[Readable]:
    """What an `import` section of this format is.

    Raises:
        KeyError: no such format is read.
    """
    if form in ("csv", "ndjson", "parquet"):
        return TableImport
    from service.domain.plans.importing.imports import FORMATS  # two dozen records, slow to build

    return FORMATS[form]
