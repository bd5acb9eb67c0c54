"""The list of the project's preregistrations, and a search in it."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.api.http.requests.deps import PageSession
from service.api.http.shared import services
from service.domain.plans.preregistration import State
from service.domain.verdicts.records import HypothesisVerdict
from service.errors import InvalidData, RecordAltered
from service.store.database import clock, integrity
from service.store.plans import preregistrations
from service.store.verdicts import verdicts
from service.store.verdicts.verdicts import StoredVerdict
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.preregistrations import record_view
from service.web.visitors.sign_in import LIST, Visitor

MOST_SEARCH = 200

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(LIST)
def listed(
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
        fix = "look for fewer words"
        raise InvalidData.field("q", f"is longer than {MOST_SEARCH} characters", fix)
    records, next_cursor = preregistrations.page(
        session, visitor.project_id, state=wanted, search=words, cursor=cursor, limit=50
    )
    judged = [record.id for record in records if record.judged_at is not None]
    judged_verdicts = verdicts.several(session, visitor.project_id, judged) if judged else {}
    if judged:
        services(request).reads.note(visitor, "verdicts.list", None)
    today, say = clock.now(session).date(), Say(language_of(request))
    lines = [
        record_view.line_of(record, _outcomes(session, judged_verdicts.get(record.id)), today, say)
        for record in records
    ]
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
    """The state that a list is narrowed to."""
    if text in record_view.STATES:
        return cast(State, text)
    if text:
        known = ", ".join(record_view.STATES)
        raise InvalidData.field("state", "is none that a record can be in", f"choose one of {known}")
    return None


def _outcomes(
    session: Session, verdict: StoredVerdict | RecordAltered | None
) -> tuple[HypothesisVerdict, ...] | None:
    """What a verdict says of its hypotheses; None when it was altered."""
    try:
        return verdict.read().hypotheses if isinstance(verdict, StoredVerdict) else None if verdict else ()
    except RecordAltered as error:
        integrity.note(session, error)
        return None
