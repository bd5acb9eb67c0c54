"""Projects: make one, and find the one a caller may govern."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from service.domain.access import Key, Project
from service.errors import NotFound
from service.store.projects import audit, projects


def create(session: Session, caller: Key, name: str, *, project_id: str, now: datetime) -> Project:
    """Create a project, a tenant of its own."""
    project = projects.create(session, Project(id=project_id, name=name, created_at=now))
    audit.record(
        session,
        project_id=None,  # of the deployment: the project's own log begins with its first key
        key_id=caller.id,
        action="project.create",
        subject=project_id,
        facts={"name": name},
        now=now,
    )
    return project


def resolve_project(session: Session, caller: Key, project_id: str | None) -> str:
    """Return the id of the project that a caller's act concerns: its own, or for an operator any that exists.

    Raises:
        NotFound: it is another project, which a caller who is no operator may not even know of.
    """
    if project_id is None or project_id == caller.project_id:
        return caller.project_id
    if not caller.allows("operator"):
        raise NotFound(f"there is no project {project_id}")
    return projects.get(session, project_id).id
