"""Series over HTTP: a run is posted when it is there, and the answer says whether a drop is shown so far."""

from __future__ import annotations

import uuid
from typing import Annotated

from anyio import to_thread
from fastapi import Path, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.projects import series as actions
from service.actions.projects.series import PreparedRun, SeriesState
from service.api.calculators import handlers
from service.api.calculators.pool import CalculatorLost
from service.api.examples import series as examples
from service.api.http.answers.answers import Page, answer, shows
from service.api.http.requests.body import READ_SECONDS, StrictBody
from service.api.http.requests.deps import Cursor, Limit, Reader, ReadSession, Submitter
from service.api.http.requests.idempotency import Once, OptionalOnce
from service.api.http.serving.route import make_router, refuses
from service.api.http.shared import Services, get_services
from service.api.parsing.markdown import Lang
from service.domain.access import Key
from service.domain.series import NewRun
from service.errors import Conflict, InvalidData, Unavailable
from service.stats.shared.methods.run_series import RunStanding
from service.store.database import clock
from service.store.projects import series
from service.words import Language

routes = make_router("series")

TRIES = 8
"""Times that a run is judged when others keep coming in meanwhile; then its sender is asked to send it again."""

SeriesName = Annotated[
    str, Path(min_length=1, max_length=100, description="Name of the series, its own in the project.")
]


@routes.post(
    "/series/{name}/points",
    status_code=201,
    response_model=SeriesState,
    responses=shows(examples.STATE, 201) | refuses(409, 429, 503),
)
async def post_point(
    request: Request,
    caller: Submitter,
    once: OptionalOnce,
    name: SeriesName,
    body: Annotated[NewRun, StrictBody(NewRun, example=examples.RUN)],
    lang: Lang = "en",
) -> Response:
    """Post a run of a series, and learn what the series shows.

    The first run begins the series and is its reference. Every run is compared with all before it since the reference;
    the answer may be looked at after each. To post the same run again changes nothing.
    """
    _require_address(name)
    for _ in range(TRIES - 1):
        try:
            return await _post(request, caller, once, name, body, lang)
        except Conflict as conflict:
            # another run came in between: this one is judged anew, among the runs that are there now
            if conflict.problem_code != "series_moved":
                raise
    return await _post(request, caller, once, name, body, lang)


def _require_address(name: str) -> None:
    """Refuse a name that no address can hold: nobody could read that series again."""
    if name in (".", "..") or name != name.strip() or not name.isprintable() or "\ufffd" in name:
        raise InvalidData.field(
            "path.name",
            "is no name of a series",
            "name it by letters, digits and marks, with no blank at either end, such as nightly",
        )


async def _post(
    request: Request, caller: Key, once: Once, name: str, body: NewRun, language: Language
) -> Response:
    ready = await to_thread.run_sync(_prepare, get_services(request), caller, name, body)
    # no transaction is open while the chances are computed, beside the API: they would hold up everybody
    standing = None if ready.repeated else await _compute_standing(request, ready, body)
    return await to_thread.run_sync(_add, caller, once, name, body, ready, standing, language)


def _prepare(shared: Services, caller: Key, name: str, body: NewRun) -> PreparedRun:
    with shared.database.read() as session:
        return actions.prepare(session, caller, name, body)


async def _compute_standing(request: Request, ready: PreparedRun, body: NewRun) -> RunStanding:
    run = get_services(request).calculators.run
    judged = (ready.runs, ready.n_reference, ready.settings(body))
    try:
        return await run(request, handlers.judge_run, *judged, seconds=READ_SECONDS)
    except CalculatorLost:
        raise Unavailable("this could not be computed in time: begin a series of fewer items") from None


def _add(
    caller: Key,
    once: Once,
    name: str,
    body: NewRun,
    ready: PreparedRun,
    standing: RunStanding | None,
    language: Language,
) -> Response:
    """Add a run to the series with where it stands, once per idempotency key, and answer with the series."""

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
                now=clock.read_now(session),
            )
        known = series.get(session, caller.project_id, name)
        return answer(actions.read_state(session, known, most=1, language=language), 201)

    return once.run(work)


@routes.get("/series", responses=shows({"items": [examples.STATE], "next_cursor": None}))
def list_series(
    caller: Reader, session: ReadSession, limit: Limit = 50, cursor: Cursor = None, lang: Lang = "en"
) -> Page[SeriesState]:
    """List the project's series, newest first, each with its newest run."""
    items, following = series.read_page(session, caller.project_id, cursor=cursor, limit=limit)
    states = [actions.read_state(session, known, most=1, language=lang) for known in items]
    return Page(items=states, next_cursor=following)


@routes.get("/series/{name}", response_model=SeriesState, responses=shows(examples.STATE))
def get_series(caller: Reader, session: ReadSession, name: SeriesName, lang: Lang = "en") -> Response:
    """Read a series: what it shows, and every run since its reference."""
    return answer(actions.read_state(session, series.get(session, caller.project_id, name), language=lang))
