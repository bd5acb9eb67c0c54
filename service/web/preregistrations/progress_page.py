"""Pages while results come in: which planned rows are missing, and progress as it moves; nothing of an outcome."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from itertools import count
from urllib.parse import urlencode

from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.sse import format_sse_event
from starlette.responses import Response

from service.actions.results import progress
from service.api.http.limits.concurrency import HeldStream, take_stream
from service.api.http.requests.deps import PageSession
from service.api.http.shared import get_services
from service.api.http.streams.following import CollectionReading, Record
from service.domain.plans.preregistration import ONCE_LOCKED
from service.errors import ForelockError, Unavailable
from service.store.database import clock
from service.store.plans import preregistrations
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.preregistrations import record_view
from service.web.preregistrations.record_page import ONE
from service.web.visitors.sign_in import LIST, Visitor, get_visitor, known

ROWS = 100
"""Missing rows on a page."""
POLL_SECONDS = 1.0
QUIET_SECONDS = 15.0
"""A stream without news says so this often, lest a proxy takes it for dead."""
STREAM_SECONDS = 900.0
"""A stream ends after this long; a browser connects again by itself."""
routes = APIRouter(route_class=PageRoute, include_in_schema=False)
streams = APIRouter(include_in_schema=False)
"""Their refusals are problem documents."""


@routes.get(ONE + "/missing")
def missing(
    request: Request,
    session: PageSession,
    visitor: Visitor,
    preregistration_id: str,
    arm: str = "",
    cursor: str | None = None,
) -> Response:
    """Planned rows that are not in, in the plan's order."""
    record = preregistrations.get(session, visitor.project_id, known(preregistration_id))
    record.require(*ONCE_LOCKED)
    standing = progress.progress(session, record, now=clock.read_now(session))
    rows, following = progress.missing(session, record, arm=arm or None, cursor=cursor, limit=ROWS)
    base = f"{LIST}/{record.id}/missing"
    query = {"arm": arm} if arm else {}
    return html(
        request,
        "missing.html",
        visitor=visitor,
        title=record_view.title_of(record.plan.title, Say(language_of(request))),
        back=f"{LIST}/{record.id}",
        base=base,
        cells=standing.cells,
        arms=list(dict.fromkeys(cell.arm for cell, _received in standing.cells)),
        arm=arm,
        rows=rows,
        following=f"{base}?{urlencode({**query, 'cursor': following})}" if following else "",
    )


@streams.get(ONE + "/events")
async def events(request: Request, preregistration_id: str) -> Response:
    """Progress as it moves: an event with the page's counts whenever they change, and one when the state does."""
    record = (await to_thread.run_sync(get_visitor, request)).project_id, known(preregistration_id)
    following = get_services(request).following
    with following.follow(record):
        first = await following.read(record)
    give_back = take_stream(get_services(request).streams, request.state.caller)
    stream = HeldStream(
        _stream(request, record, first), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
    stream.give_back = give_back
    return stream


async def _stream(request: Request, record: Record, seen: CollectionReading) -> AsyncIterator[bytes]:
    """Until the collection ends, the session does, nobody listens, or it is time to connect again."""
    until, spoken, numbers = time.monotonic() + STREAM_SECONDS, time.monotonic(), count()
    yield _format_event(seen, next(numbers))
    following = get_services(request).following
    with following.follow(record):
        while seen.expected and time.monotonic() < until and not await request.is_disconnected():
            await asyncio.sleep(POLL_SECONDS)
            try:
                await to_thread.run_sync(get_visitor, request)  # each by a session and key of their own
                now = await following.read(record)
            except Unavailable:  # whoever may ask is seen when the database is back
                continue
            except ForelockError:
                return
            if now != seen:
                seen, spoken = now, time.monotonic()
                yield _format_event(seen, next(numbers))
            elif time.monotonic() - spoken >= QUIET_SECONDS:
                spoken = time.monotonic()
                yield format_sse_event(comment="waiting")


def _format_event(seen: CollectionReading, number: int) -> bytes:
    data = json.dumps(seen._asdict(), separators=(",", ":"))
    return format_sse_event(data_str=data, event="progress", id=str(number))
