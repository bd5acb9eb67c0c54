"""The list of the project's preregistrations, and a search in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.verdicts import overviews
from service.api.http.requests.deps import PageSession
from service.api.http.shared import get_services
from service.domain.access import Key
from service.domain.plans.preregistration import State
from service.errors import InvalidData
from service.store.database import clock
from service.store.plans import record_lists
from service.store.plans.record_lists import RecordLine
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.preregistrations import record_view
from service.web.preregistrations.views import Line
from service.web.visitors.sign_in import LIST, Visitor
from service.words import message

MOST_SEARCH = 200

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(LIST)
def list_records(
    request: Request,
    session: PageSession,
    visitor: Visitor,
    q: str = "",
    state: str = "",
    cursor: str | None = None,
) -> Response:
    """The project's preregistrations, newest first: all of them, or those that are searched for."""
    wanted, words = _state(state), q.strip()
    if len(words) > MOST_SEARCH:
        raise InvalidData.field(
            "q", message("refusals.longer_than", most=MOST_SEARCH), message("refusals.fewer_words")
        )
    records, next_cursor = record_lists.read_page(
        session, visitor.project_id, state=wanted, search=words, cursor=cursor, limit=50
    )
    lines = lines_of(request, session, visitor, records)
    query = {name: value for name, value in (("q", words), ("state", state)) if value}
    return html(
        request,
        "list.html",
        visitor=visitor,
        lines=lines,
        asked=query,
        states=record_view.STATE_NAMES,
        older=f"{LIST}?{urlencode({**query, 'cursor': next_cursor})}" if next_cursor else "",
    )


def _state(text: str) -> State | None:
    """Return the state that a list is narrowed to."""
    if text in record_view.STATES:
        return cast(State, text)
    if text:
        known = ", ".join(record_view.STATES)
        raise InvalidData.field(
            "state", message("refusals.no_state_of_record"), message("refusals.choose_one", names=known)
        )
    return None


def lines_of(request: Request, session: Session, visitor: Key, records: Sequence[RecordLine]) -> list[Line]:
    """Return the records as a list shows them; that verdicts were read is noted."""
    judged = overviews.read_judged(session, visitor.project_id, records)
    if judged:
        get_services(request).reads.note(visitor, "verdicts.list", None)
    progress = overviews.progress_of(session, visitor.project_id, records)
    today, say = clock.read_now(session).date(), Say(language_of(request))
    return [
        record_view.line_of(record, judged.get(record.id, ()), progress.get(record.id), today, say)
        for record in records
    ]
