"""Labels by people: which items they are asked for. They are posted as results of their endpoint."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Response
from pydantic import Field

from service.actions.results.labels import page_labels
from service.api.examples import states as examples
from service.api.http.answers.answers import Page, View, answer, shows
from service.api.http.requests.deps import Cursor, Limit, ReadSession, RecordId, require_scope
from service.api.http.serving.route import make_router, refuses
from service.api.routes.results.results import authenticate_counter
from service.domain.access import Key
from service.store.plans import preregistrations

routes = make_router("results")


class LabelView(View):
    """A label that people are asked for."""

    population: str
    arm: str
    endpoint: str = Field(description="What its result is posted as.")
    item_id: str
    received: bool = Field(description="True: it was posted. What it says is sealed until the verdict.")


@routes.get(
    "/preregistrations/{prereg_id}/labels",
    response_model=Page[LabelView],
    responses=shows(examples.LABELS) | refuses(409),
)
def list_labels(
    caller: Annotated[Key, Depends(authenticate_counter)],
    session: ReadSession,
    prereg_id: RecordId,
    arm: Annotated[str | None, Query(max_length=512, description="Of this arm alone.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List the items that people label, in the order in which they get them; for keys that read or post results.

    The locked plan's seed draws them from the manifest, and mixes the arms. Nothing here follows from an outcome or
    from what a judge said. Post the labels as results of their endpoint, by
    `POST /v1/preregistrations/{id}/results`.
    """
    if not caller.allows("results:write"):
        require_scope(caller, "read")
    record = preregistrations.get(session, caller.project_id, prereg_id)
    rows, following = page_labels(session, record, arm=arm, cursor=cursor, limit=limit)
    items = [LabelView(**{name: getattr(row, name) for name in LabelView.model_fields}) for row in rows]
    return answer(Page[LabelView](items=items, next_cursor=following))
