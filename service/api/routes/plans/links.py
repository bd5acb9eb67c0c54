"""Links of a record to places outside: W&B, Weave, Langfuse, Braintrust, anything with an address."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import Field
from starlette.responses import Response

from service.actions.plans import links as actions
from service.api.examples import outgoing as examples
from service.api.http.answers.answers import View, answer, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Planner, Reader, ReadSession, RecordId, Shared
from service.api.http.serving.route import make_router, refuses
from service.domain.outgoing import Link, LinkKind
from service.domain.plans.strings import Line
from service.records import StrictRecord
from service.store.database import clock
from service.store.plans import links, preregistrations

routes = make_router("outgoing")
LinkName = Annotated[
    str,
    Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.-]+$", description="What the link is called."),
]


class LinkRequest(StrictRecord):
    """Where a link leads."""

    kind: LinkKind = Field("other", description="What is there.")
    url: Annotated[str, Field(min_length=1, max_length=2000, description="An https address.")]
    external_id: Line | None = Field(None, description="What the other side calls it.")


class Links(View):
    """The links of a record."""

    items: list[Link]


@routes.put(
    "/preregistrations/{prereg_id}/links/{name}",
    response_model=Link,
    responses=shows(examples.LINK) | refuses(409, 507),
)
def put_link(
    caller: Planner,
    shared: Shared,
    prereg_id: RecordId,
    name: LinkName,
    body: Annotated[LinkRequest, StrictBody(LinkRequest, example=examples.LINK_BODY)],
) -> Link:
    """Set a link of a locked record to a place outside: an address, and what it is called there.

    Links are shown beside the record. They are no part of the plan and of no hash, and the audit log says who set them.
    """
    with shared.database.write() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        return actions.put(
            session,
            caller,
            record,
            name=name,
            kind=body.kind,
            url=body.url,
            external_id=body.external_id,
            now=clock.read_now(session),
        )


@routes.get(
    "/preregistrations/{prereg_id}/links", response_model=Links, responses=shows({"items": [examples.LINK]})
)
def list_links(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """List the links of a record, by name."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return answer(Links(items=links.read_all(session, record.id)))


@routes.delete(
    "/preregistrations/{prereg_id}/links/{name}", status_code=204, response_model=None, responses=refuses(507)
)
def delete_link(caller: Planner, shared: Shared, prereg_id: RecordId, name: LinkName) -> Response:
    """Remove a link of a record."""
    with shared.database.write() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id, for_update=True)
        actions.delete(session, caller, record, name, now=clock.read_now(session))
    return Response(status_code=204)
