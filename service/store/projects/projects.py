"""Projects as rows: the tenants of the deployment. Every other record belongs to one of them."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.domain.access import Project
from service.errors import Conflict, NotFound
from service.store.database import paging
from service.store.database.tables import projects


def create(session: Session, project: Project) -> Project:
    """Add a project.

    Raises:
        Conflict: with code `name_taken`, where another project of the deployment has its name.
    """
    try:
        # A savepoint: Postgres would refuse everything after a failed insert, and the caller has more to write.
        with session.begin_nested():
            session.execute(sa.insert(projects).values(project.model_dump()))
    except IntegrityError as error:
        raise Conflict(
            f"there is a project named '{project.name}': choose another name", code="name_taken"
        ) from error
    return project


def get(session: Session, project_id: str) -> Project:
    """Read the project of that id; NotFound when there is none."""
    row = session.execute(sa.select(projects).where(projects.c.id == project_id)).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no project {project_id}")
    return _read(row)


def get_by_name(session: Session, name: str) -> Project:
    """Read the project of that name; NotFound when there is none."""
    row = session.execute(sa.select(projects).where(projects.c.name == name)).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no project named '{name}'")
    return _read(row)


def read_page(
    session: Session, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[Project], str | None]:
    """Read a page of the deployment's projects, newest first, and the cursor of the next one."""
    keys = (projects.c.created_at, projects.c.id)
    return paging.read_page(session, sa.select(projects), keys, _read, cursor=cursor, limit=limit)


def _read(row: sa.RowMapping) -> Project:
    return Project.model_validate(dict(row))
