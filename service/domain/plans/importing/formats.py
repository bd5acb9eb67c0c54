"""The record of one format's mapping: a question about tables, which most are, loads no other."""

from __future__ import annotations

from typing import get_args

from service.domain.plans.importing.mapping import Readable
from service.domain.plans.importing.table_import import TableImport

TABLES: tuple[str, ...] = get_args(TableImport.model_fields["format"].annotation)


def mapping_of(form: str) -> type[Readable]:
    """Return what an `import` section of this format is.

    Raises:
        KeyError: no such format is read.
    """
    if form in TABLES:
        return TableImport
    from service.domain.plans.importing.imports import FORMATS  # two dozen records, slow to build

    return FORMATS[form]
