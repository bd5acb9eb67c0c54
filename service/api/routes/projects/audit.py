"""The audit log over HTTP: of a project for its admins, of the deployment for its operator."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Query, Response
from pydantic import AwareDatetime, Field

from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.deps import MAX_ID, Admin, Cursor, Limit, Operator, Shared
from service.api.http.serving.route import make_router
from service.api.http.shared import Services
from service.store.projects import audit

routes = make_router("audit")

_EXAMPLE = {
    "at": "2027-01-04T09:00:00Z",
    "action": "verdict.read",
    "subject": "4f1c2d3e4a5b6c7d8e9f0a1b2c3d4e5f",
    "key_id": "9d0f3a5c1b7e4d2f8a6c5b4e3d2f1a0b",
    "key_name": "Ada",
    "facts": {"times": 3, "last_at": "2027-01-04T09:00:41Z"},
}
_OF_DEPLOYMENT = {
    "at": "2027-01-04T09:00:00Z",
    "action": "project.create",
    "subject": "5b2c9f5d3a0e4c0f8d4e3a1b2c3d4e5f",
    "key_id": "9d0f3a5c1b7e4d2f8a6c5b4e3d2f1a0b",
    "key_name": None,
    "facts": {"name": "memory-lab"},
}


class AuditItem(View):
    """One thing that was done, read, or refused. Nothing in it follows from outcomes."""

    at: datetime = Field(description="When; of several reads the first.")
    action: str = Field(description="Such as `results.post`, `verdict.read`, `preregistration.edit.refused`.")
    subject: str | None = Field(description="Id of what it was done to: a preregistration, a key, a project.")
    key_id: str | None = Field(
        description="The API key that did it; null for the runner and the operator's shell."
    )
    key_name: str | None = Field(description="Its name, where it is a key of this project.")
    facts: dict[str, Any] = Field(
        description="What else is known: the batch, the code of a refusal; of reads within a minute how many."
    )


Subject = Annotated[str | None, Query(max_length=MAX_ID, description="Only what was done to this id.")]
Action = Annotated[str | None, Query(max_length=64, description="Only this action.")]
ByKey = Annotated[str | None, Query(max_length=MAX_ID, description="Only what this API key did, by its id.")]
Since = Annotated[AwareDatetime | None, Query(description="Only from this time on, with its UTC offset.")]


class AuditFilter(NamedTuple):
    """Which events a page of the audit log shows."""

    subject: str | None
    action: str | None
    key_id: str | None
    since: datetime | None
    limit: int
    cursor: str | None


async def _read_wanted(
    subject: Subject = None,
    action: Action = None,
    key: ByKey = None,
    since: Since = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> AuditFilter:
    return AuditFilter(subject, action, key, since, limit, cursor)  # async, lest it takes a thread


EventFilter = Annotated[AuditFilter, Depends(_read_wanted)]


@routes.get(
    "/audit", response_model=Page[AuditItem], responses=shows({"items": [_EXAMPLE], "next_cursor": None})
)
def list_audit_events(caller: Admin, shared: Shared, wanted: EventFilter) -> Response:
    """List what was done in the project, newest first.

    Writes, refused edits of what is locked, and reads of verdicts, rows and whatever else follows from outcomes.
    What one key reads of one record within a minute is one event. Reads of other processes of the service arrive
    within seconds.
    """
    shared.reads.note(caller, "audit.read", None)
    return _answer_page(shared, caller.project_id, wanted)


@routes.get(
    "/audit/deployment",
    response_model=Page[AuditItem],
    responses=shows({"items": [_OF_DEPLOYMENT], "next_cursor": None}),
)
def list_deployment_events(_caller: Operator, shared: Shared, wanted: EventFilter) -> Response:
    """List what was done to the deployment and belongs to no project, newest first."""
    return _answer_page(shared, None, wanted)


def _answer_page(shared: Services, project_id: str | None, wanted: AuditFilter) -> Response:
    shared.reads.write(everything=True)  # a caller sees what it has read itself
    with shared.database.read() as session:
        events, following = audit.read_page(session, project_id, **wanted._asdict())
    items = [AuditItem(at=event.created_at, **event.model_dump(exclude={"created_at"})) for event in events]
    return answer(Page[AuditItem](items=items, next_cursor=following))
