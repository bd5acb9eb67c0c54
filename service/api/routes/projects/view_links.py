"""Sharing over HTTP: who may read a record without a key. A link's token is shown once, in the answer that made it."""

from __future__ import annotations

import secrets
import uuid
from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import AwareDatetime, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.projects import view_links as actions
from service.api.http.answers.answers import Page, View, answer, omit, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import (
    MAX_ID,
    Cursor,
    Limit,
    Locker,
    Reader,
    ReadSession,
    RecordId,
    Shared,
)
from service.api.http.requests.idempotency import OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.domain.access import SECRET_BYTES, ViewLink, Visibility, new_token
from service.domain.plans.strings import Line
from service.records import Record, StrictRecord
from service.store.database import clock
from service.store.plans import preregistrations
from service.store.projects import view_links

routes = make_router("view links")

_EXAMPLE: dict[str, Any] = {
    "id": "0c5d1b7e9a3f4c2d8b6e5f4a3c2d1b0e",
    "preregistration_id": "7a1c9e3b5d2f4a6c8e0b1d3f5a7c9e1b",
    "name": "Reviewers, first round",
    "anonymous": True,
    "created_at": "2027-01-04T09:00:00Z",
    "expires_at": "2027-04-04T09:00:00Z",
    "revoked_at": None,
}
_SHARED = {"visibility": "link", "changed_at": "2027-01-04T09:00:00Z", "opens_at": None}

LinkId = Annotated[str, Path(max_length=MAX_ID, description="Id of the link.")]


class SharingRequest(StrictRecord):
    """Who may read a record."""

    visibility: Visibility = Field(
        description="`private`: keys of its project. `link`: whoever has a view-only link too. `public`: everybody."
    )


class SharingView(View):
    """Who may read a record besides the keys of its project. No part of the plan, or of its hash."""

    visibility: Visibility
    changed_at: datetime | None = Field(description="Null: it was never set.")
    opens_at: datetime | None = Field(
        None,
        description="When an embargo ends and it becomes public by itself; null: there is none, or it is over.",
    )


class ViewLinkRequest(StrictRecord):
    """A new view-only link."""

    name: Line = Field(description="Whom it is for. Whoever reads by it does not see this.")
    anonymous: bool = Field(
        False, description="For peer review: tells neither the project nor the log's name."
    )
    expires_at: AwareDatetime | None = Field(
        None,
        description="When it ends, within 366 days and no later than the caller's key; null: after 90 days or with it.",
    )


class NewViewLink(Record):
    """A link with its token, which no other answer shows."""

    link: ViewLink
    token: str | None = Field(
        description="Whoever has it may read the record. Null when the answer is a repeated one."
    )
    path: str | None = Field(description="The page that it opens, on this host; null likewise.")


@routes.get("/preregistrations/{prereg_id}/visibility", responses=shows(_SHARED))
def get_visibility(caller: Reader, session: ReadSession, prereg_id: RecordId) -> SharingView:
    """Read who may read a record besides the keys of its project."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return SharingView(**view_links.read_sharing(session, record.id)._asdict())


@routes.put("/preregistrations/{prereg_id}/visibility", responses=shows(_SHARED) | refuses(409, 507))
def set_visibility(
    caller: Locker,
    shared: Shared,
    prereg_id: RecordId,
    body: Annotated[SharingRequest, StrictBody(SharingRequest, example={"visibility": "link"})],
) -> SharingView:
    """Set who may read a locked record.

    It takes effect at once; `private` closes every link without revoking it. Nobody reads more than its page, its
    receipt, its pictures and, once there is one, its verdict. Under an embargo it stays `private` until the day of the
    plan's `embargo_until`, when it becomes `public` by itself: 409 `embargoed`. The plan's own `visibility` is what was
    intended at the lock, and opens nothing.
    """
    with shared.database.write() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        sharing = actions.share(session, caller, record, body.visibility, now=clock.read_now(session))
    return SharingView(**sharing._asdict())


@routes.post(
    "/preregistrations/{prereg_id}/view-links",
    status_code=201,
    response_model=NewViewLink,
    responses=shows({"link": _EXAMPLE, "token": "flv_...", "path": "/shared/flv_..."}, 201)
    | refuses(409, 429),
)
def create_view_link(
    caller: Locker,
    once: OptionalOnce,
    prereg_id: RecordId,
    body: Annotated[
        ViewLinkRequest,
        StrictBody(ViewLinkRequest, example={"name": "Reviewers, first round", "anonymous": True}),
    ],
) -> Response:
    """Make a view-only link to a locked record.

    Its page shows what the project's own page shows of the plan and the verdict, and nothing can be done by it. The
    token is shown in this answer alone: a repeated request with the same `Idempotency-Key` makes no second link, and
    its answer holds no token.
    """
    token = new_token(secrets.token_bytes(SECRET_BYTES))

    def work(session: Session) -> Response:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        made = actions.create(
            session,
            caller,
            record,
            name=body.name,
            anonymous=body.anonymous,
            expires_at=body.expires_at,
            link_id=uuid.uuid4().hex,
            token=token,
            now=clock.read_now(session),
        )
        return answer(NewViewLink(link=made, token=token, path=f"/shared/{token}"), 201)

    return once.run(work, keep=omit(NewViewLink, "token", "path"))


@routes.get(
    "/preregistrations/{prereg_id}/view-links", responses=shows({"items": [_EXAMPLE], "next_cursor": None})
)
def list_view_links(
    caller: Locker, session: ReadSession, prereg_id: RecordId, limit: Limit = 50, cursor: Cursor = None
) -> Page[ViewLink]:
    """List a record's view-only links, newest first, revoked and expired ones included."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    items, following = view_links.read_page(session, record.id, cursor=cursor, limit=limit)
    return Page(items=items, next_cursor=following)


@routes.delete(
    "/preregistrations/{prereg_id}/view-links/{link_id}",
    responses=shows(_EXAMPLE | {"revoked_at": "2027-02-01T12:00:00Z"}) | refuses(507),
)
def revoke_view_link(caller: Locker, shared: Shared, prereg_id: RecordId, link_id: LinkId) -> ViewLink:
    """Revoke a view-only link. From here on it opens nothing. Again changes nothing."""
    with shared.database.write() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        return actions.revoke(session, caller, record, link_id, now=clock.read_now(session))
