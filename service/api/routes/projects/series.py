"""Series over HTTP: a run is posted when it is there, and the answer says whether a drop is shown so far."""

from __future__ import annotations

import uuid
from typing import Annotated

from fastapi import Path
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.projects import series as actions
from service.actions.projects.series import SeriesState
from service.api.examples import series as examples
from service.api.http.answers.answers import Page, answer, shows
from service.api.http.requests.body import StrictBody
from service.api.http.requests.deps import Cursor, Limit, Reader, ReadSession, Shared, Submitter
from service.api.http.requests.idempotency import Once, OptionalOnce
from service.api.http.serving.route import refuses, router
from service.api.http.shared import Services
from service.domain.access import Key
from service.domain.series import NewRun
from service.errors import Conflict
from service.store.database import clock
from service.store.projects import series

routes = router("series")

TRIES = 8
"""Times that a run is judged when others keep coming in meanwhile; then its sender is asked to send it again."""

SeriesName = Annotated[
    str, Path(min_length=1, max_length=100, description="Name of the series, its own in the project.")
]


@routes.post(
    "/series/{name}/points",
    status_code=201,
    response_model=SeriesState,
    responses=shows(examples.STATE, 201) | refuses(409, 429),
)
def post_point(
    caller: Submitter,
    once: OptionalOnce,
    shared: Shared,
    name: SeriesName,
    body: Annotated[NewRun, StrictBody(NewRun, example=examples.RUN)],
) -> Response:
    """Post a run of a series, and learn what the series shows.

    The first run begins the series and is its reference. Every run is compared with all before it since the reference;
    the answer may be looked at after each. To post the same run again changes nothing.
    """
    for _ in range(TRIES - 1):
        try:
            return _post(caller, once, shared, name, body)
        except Conflict as conflict:
            # another run came in between: this one is judged anew, among the runs that are there now
            if conflict.problem_code != "series_moved":
                raise
    return _post(caller, once, shared, name, body)


def _post(caller: Key, once: Once, shared: Services, name: str, body: NewRun) -> Response:
    with shared.database.read() as session:
        ready = actions.prepare(session, caller, name, body)
    # no transaction is open while the chances are computed
    standing = None if ready.repeated else actions.standing_of(ready, body)

    def work(session: Session) -> Response:
        if standing is not None:
            actions.add(
                session,
                caller,
                name,
                body,
                ready,
                standing,
                series_id=uuid.uuid4().hex,
                now=clock.now(session),
            )
        known = series.get(session, caller.project_id, name)
        return answer(actions.show(session, known, most=1), 201)

    return once.run(work)


@routes.get("/series", responses=shows({"items": [examples.STATE], "next_cursor": None}))
def list_series(
    caller: Reader, session: ReadSession, limit: Limit = 50, cursor: Cursor = None
) -> Page[SeriesState]:
    """List the project's series, newest first, each with its newest run."""
    items, following = series.page(session, caller.project_id, cursor=cursor, limit=limit)
    return Page(items=[actions.show(session, known, most=1) for known in items], next_cursor=following)


@routes.get("/series/{name}", response_model=SeriesState, responses=shows(examples.STATE))
def get_series(caller: Reader, session: ReadSession, name: SeriesName) -> Response:
    """Read a series: what it shows, and every run since its reference."""
    return answer(actions.show(session, series.get(session, caller.project_id, name)))
