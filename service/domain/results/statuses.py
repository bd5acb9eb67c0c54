"""The status words of rows, by their code; apart, so that readers of files load no plans."""

from __future__ import annotations

STATUSES = ("ok", "error", "missing")
"""A value is null unless the status is ok."""
