"""The tables of all modules at once, for whoever looks at a whole database."""

from __future__ import annotations

from service.store.database import import_tables, series_tables
from service.store.database.tables import metadata

MODULES = (import_tables, series_tables)
__all__ = ["metadata"]
