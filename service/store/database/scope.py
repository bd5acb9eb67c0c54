"""The one place that keeps a tenant inside its own rows."""

from __future__ import annotations

from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from service.errors import NotFound, Translated

S = TypeVar("S", sa.Select[Any], sa.Update, sa.Delete)


def select_of_project(statement: S, table: sa.Table, project_id: str | sa.BindParameter[str]) -> S:
    """Return the statement, limited to rows of that project.

    Tables without a project column belong to a preregistration, and are reached only through one
    that was read here.
    """
    return statement.where(table.c.project_id == project_id)


def get_row(
    session: Session, statement: sa.Select[Any], table: sa.Table, project_id: str, missing: str | Translated
) -> sa.RowMapping:
    """Return the one row of that project that the statement selects.

    Raises:
        NotFound: there is none, which `missing` says in a sentence.
    """
    mapping = session.execute(select_of_project(statement, table, project_id)).mappings().one_or_none()
    if mapping is None:
        raise NotFound(missing)
    return mapping
