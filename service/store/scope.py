"""The one place that keeps a tenant inside its own rows."""

from __future__ import annotations

from typing import Any, TypeVar

import sqlalchemy as sa

S = TypeVar("S", sa.Select[Any], sa.Update, sa.Delete)


def of_project(statement: S, table: sa.Table, project_id: str | sa.BindParameter[str]) -> S:
    """The statement, limited to rows of that project.

    Tables without a project column belong to a preregistration, and are reached only through one
    that was read here.
    """
    return statement.where(table.c.project_id == project_id)
