"""API keys over HTTP. A secret is shown once, in the answer that made it."""

from __future__ import annotations

import secrets
import uuid
from typing import Annotated, Literal

from fastapi import Query
from pydantic import AwareDatetime, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.projects import keys, projects
from service.api.http.answers.answers import Page, answer, omit, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Admin, Cursor, Limit, ReadSession, RecordId, Shared
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.domain.access import SECRET_BYTES, Key, Scope, new_secret
from service.records import Record, StrictRecord
from service.store.database import clock
from service.store.projects import keys as stored

routes = make_router("keys")

_EXAMPLE = {
    "id": "9d0f3a5c1b7e4d2f8a6c5b4e3d2f1a0b",
    "project_id": "5b2c9f5d3a0e4c0f8d4e3a1b2c3d4e5f",
    "name": "nightly eval",
    "kind": "job",
    "scopes": ["results:write"],
    "prefix": "flk_4fN0Qw2Z",
    "created_at": "2027-01-04T09:00:00Z",
    "expires_at": None,
    "revoked_at": None,
    "last_used_at": None,
    "created_by": "2c8e5b7a9d1f4e3b8a7c6d5e4f3a2b1c",
}


class KeyRequest(StrictRecord):
    """A new API key."""

    name: Annotated[str, Field(min_length=1, max_length=200, description="Who or what will use it.")]
    kind: Literal["person", "job"] = Field("job", description="A person, or an eval job.")
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1, max_length=20, description="What it may do.")]
    expires_at: AwareDatetime | None = Field(
        None,
        description="When it ends, no later than the caller's key; null: with that one, or when it is revoked.",
    )
    project_id: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="Another project than the caller's; needs scope `operator`."
    )


class NewKey(Record):
    """A key with its secret, which no other answer shows."""

    key: Key
    secret: str | None = Field(
        description="What goes behind `Bearer`. Null when the answer is a repeated one."
    )


OfProject = Annotated[
    str | None, Query(max_length=64, description="Another project than the caller's; needs scope `operator`.")
]
KeyBody = Annotated[
    KeyRequest, StrictBody(KeyRequest, example={"name": "nightly eval", "scopes": ["results:write"]})
]


@routes.post(
    "/keys",
    status_code=201,
    response_model=NewKey,
    responses=shows({"key": _EXAMPLE, "secret": "flk_..."}, 201) | refuses(404),
)
def create_key(caller: Admin, body: KeyBody, once: OptionalOnce) -> Response:
    """Create an API key.

    For a person or an eval job, with scopes the caller has itself. The secret is shown in this answer
    alone: a repeated request with the same `Idempotency-Key` makes no second key, and its answer holds
    no secret.
    """
    secret = new_secret(secrets.token_bytes(SECRET_BYTES))

    def work(session: Session) -> Response:
        made = create_requested(
            session, caller, body, projects.resolve_project(session, caller, body.project_id), secret
        )
        return answer(NewKey(key=made, secret=secret), 201)

    return once.run(work, keep=omit(NewKey, "secret"))


def create_requested(session: Session, caller: Key, request: KeyRequest, project_id: str, secret: str) -> Key:
    """Create the key that a request asks for in a project."""
    return keys.create(
        session,
        caller,
        project_id=project_id,
        name=request.name,
        kind=request.kind,
        scopes=request.scopes,
        expires_at=request.expires_at,
        key_id=uuid.uuid4().hex,
        secret=secret,
        now=clock.read_now(session),
    )


@routes.get("/keys", responses=shows({"items": [_EXAMPLE], "next_cursor": None}) | refuses(404))
def list_keys(
    caller: Admin,
    session: ReadSession,
    limit: Limit = 50,
    cursor: Cursor = None,
    project_id: OfProject = None,
) -> Page[Key]:
    """List the project's API keys, newest first, revoked ones included."""
    of = projects.resolve_project(session, caller, project_id)
    items, following = stored.read_page(session, of, cursor=cursor, limit=limit)
    return Page(items=items, next_cursor=following)


@routes.delete(
    "/keys/{id}", responses=shows(_EXAMPLE | {"revoked_at": "2027-02-01T12:00:00Z"}) | refuses(507)
)
def revoke_key(caller: Admin, shared: Shared, id: RecordId, project_id: OfProject = None) -> Key:
    """Revoke an API key.

    It is refused at once by this process, and by every other within seconds. Again changes nothing.
    """
    with shared.database.write() as session:
        of = projects.resolve_project(session, caller, project_id)
        key = keys.revoke(session, caller, of, id, now=clock.read_now(session))
    shared.keys.forget(key.id)
    return key
