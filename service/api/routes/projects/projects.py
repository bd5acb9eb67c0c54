"""Projects over HTTP: the operator creates and lists the tenants of the deployment."""

from __future__ import annotations

import uuid
from typing import Annotated

from pydantic import Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.projects import projects
from service.api.http.answers.answers import Page, answer, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Cursor, Limit, Operator, ReadSession
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.domain.access import Project
from service.records import StrictRecord
from service.store.database import clock
from service.store.projects import projects as stored

routes = make_router("projects")

_EXAMPLE = {
    "id": "5b2c9f5d3a0e4c0f8d4e3a1b2c3d4e5f",
    "name": "memory-lab",
    "created_at": "2027-01-04T09:00:00Z",
}


class ProjectRequest(StrictRecord):
    """A new project."""

    name: Annotated[str, Field(min_length=1, max_length=200, description="Unique in the deployment.")]


NewProject = Annotated[ProjectRequest, StrictBody(ProjectRequest, example={"name": "memory-lab"})]


@routes.post(
    "/projects", status_code=201, response_model=Project, responses=shows(_EXAMPLE, 201) | refuses(409)
)
def create_project(caller: Operator, body: NewProject, once: OptionalOnce) -> Response:
    """Create a project: a tenant of its own.

    Its keys are made with `POST /v1/keys`.
    """

    def work(session: Session) -> Response:
        made = projects.create(
            session, caller, body.name, project_id=uuid.uuid4().hex, now=clock.read_now(session)
        )
        return answer(made, 201)

    return once.run(work)


@routes.get("/projects", responses=shows({"items": [_EXAMPLE], "next_cursor": None}))
def list_projects(
    _caller: Operator, session: ReadSession, limit: Limit = 50, cursor: Cursor = None
) -> Page[Project]:
    """List the deployment's projects, newest first."""
    items, following = stored.read_page(session, cursor=cursor, limit=limit)
    return Page(items=items, next_cursor=following)
