"""Badges: a record's state, or its outcome once there is a verdict, as an SVG."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from service.api.http.requests.deps import Reader, RecordId, Shared, answer_not_modified
from service.api.http.serving.route import audits, make_router
from service.api.routes.plans.preregistrations import NOT_MODIFIED
from service.domain.canonical import sha256_hex
from service.reports.badge import badge
from service.store.plans import preregistrations
from service.store.verdicts import verdicts

routes = make_router("outgoing")
SVG = "image/svg+xml"
_SVG: dict[int | str, dict[str, Any]] = {
    200: {"content": {SVG: {"schema": {"type": "string"}, "example": badge("locked").decode()}}}
}
_HEADERS = {
    "Cache-Control": "private, no-cache",  # who asks is asked for the key every time; unchanged costs a 304
    "Vary": "Authorization",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


@routes.get("/preregistrations/{prereg_id}/badge.svg", response_class=Response, responses=_SVG | NOT_MODIFIED)
@audits("badge.read")
def get_badge(request: Request, caller: Reader, shared: Shared, prereg_id: RecordId) -> Response:
    """Read a record's badge: its state until there is a verdict, then the outcome.

    Of several hypotheses the first of invalid, inconclusive, not supported, equivalent, supported that is present.
    """
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        verdict = None if record.judged_at is None else verdicts.find(session, record.project_id, record.id)
    word: str = record.state
    if verdict is not None:
        word = verdict.worst_outcome.replace("_", " ")
    content = badge(word)
    headers = _HEADERS | {"ETag": f'"{sha256_hex(content)[:32]}"'}
    unchanged = answer_not_modified(request, headers["ETag"])
    if unchanged is not None:
        unchanged.headers.update(headers)
        return unchanged
    return Response(content, 200, headers, SVG)
