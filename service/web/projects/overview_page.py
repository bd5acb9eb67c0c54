"""A project at a glance: what waits for results, what is due, and how its verdicts fell."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.actions.verdicts import overviews
from service.api.http.requests.deps import PageSession
from service.domain.plans.preregistration import State
from service.store.plans import record_lists
from service.web.html.rendering import PageRoute, html
from service.web.preregistrations.hypothesis_view import OUTCOMES
from service.web.preregistrations.list_page import lines_of
from service.web.preregistrations.record_view import STATE_WORDS
from service.web.visitors.sign_in import LIST, Visitor

OVERVIEW = "/overview"
WAITING: tuple[State, ...] = ("locked", "collecting", "complete")
SHOWN, COUNTED = 10, 500
"""Records that a list here shows, and the newest verdicts that are counted."""

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@routes.get(OVERVIEW)
def overview(request: Request, session: PageSession, visitor: Visitor) -> Response:
    """What the project's records are at: nothing in it follows from an outcome that is sealed."""
    states = record_lists.count_states(session, visitor.project_id)
    waiting = [
        line
        for state in WAITING
        if states.get(state)
        for line in record_lists.read_page(session, visitor.project_id, state=state, limit=COUNTED)[0]
    ]
    waiting.sort(key=lambda line: line.created_at, reverse=True)
    shown = lines_of(request, session, visitor, waiting)
    judged, more = record_lists.read_page(session, visitor.project_id, state="judged", limit=COUNTED)
    outcomes = overviews.outcomes_of(session, visitor.project_id, judged)
    families = overviews.families_of(session, visitor.project_id)
    return html(
        request,
        "overview.html",
        visitor=visitor,
        all_records=LIST,
        states=[(state, STATE_WORDS[state], states.get(state, 0)) for state in STATE_WORDS],
        due=[line for line in shown if line.overdue],
        waiting=[line for line in shown if not line.overdue][:SHOWN],
        n_waiting=sum(not line.overdue for line in shown),
        judged=lines_of(request, session, visitor, judged[:SHOWN]),
        outcomes=[(name, OUTCOMES[name], outcomes[name]) for name in OUTCOMES if outcomes[name]],
        n_judged=sum(outcomes.values()),
        n_records_judged=states.get("judged", 0),
        counted=COUNTED if more else 0,
        families=families[:SHOWN],
        n_families=len(families),
    )
