"""The project's API keys, for its admins: list them, make one whose secret is shown once, revoke one."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import TypeAdapter
from starlette.responses import RedirectResponse, Response

from service.actions.projects import keys as actions
from service.api.http.requests.deps import PageSession
from service.api.http.shared import get_services
from service.api.parsing.models import validate
from service.api.parsing.multipart import Form
from service.api.routes.projects.keys import KeyRequest, create_requested
from service.domain.access import SCOPES, SECRET_BYTES, Key, Scope, new_secret
from service.errors import InvalidData, NotFound
from service.store.database import clock
from service.store.projects import keys
from service.web.html.forms import reads_form, refuse_other_sites
from service.web.html.rendering import HEADERS, PageRoute, html
from service.web.html.times import TimeView, time_view
from service.web.visitors.sign_in import Admin, is_id
from service.words import message

PATH = "/keys"
SCOPE_WORDS: dict[Scope, str] = {
    "tests:run": "pages.run_statistical_tests",
    "plans:write": "pages.write_plans",
    "plans:lock": "pages.lock_plans_void_close_withdraw",
    "results:write": "pages.post_results",
    "read": "pages.read_also_these_pages",
    "deviations:review": "pages.decide_about_deviations",
    "unblind": "pages.open_results_before_the_verdict",
    "admin": "pages.govern_keys_and_webhooks_of",
    "operator": "pages.govern_the_deployment",
}

_REQUEST: TypeAdapter[Any] = TypeAdapter(KeyRequest)

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Line:
    """A key in the list."""

    key: Key
    valid: bool
    created: TimeView
    ends: TimeView | None
    revoked: TimeView | None
    used: TimeView | None

    @classmethod
    def of(cls, key: Key, now: datetime) -> Line:
        """Return the key as it is now."""
        ends, revoked, used = map(_moment, (key.expires_at, key.revoked_at, key.last_used_at))
        return cls(key, key.valid(now), time_view("", key.created_at), ends, revoked, used)


@routes.get(PATH)
def list_keys(request: Request, session: PageSession, visitor: Admin, cursor: str | None = None) -> Response:
    """The keys, newest first, and the form that makes another."""
    return _page(request, session, visitor, cursor)


def _page(
    request: Request,
    session: PageSession,
    visitor: Key,
    cursor: str | None = None,
    made: Key | None = None,
    secret: str = "",
) -> Response:
    """Render a page of the project's keys, with the secret of one that was just made."""
    rows, following = keys.read_page(session, visitor.project_id, cursor=cursor)
    now = clock.read_now(session)
    return html(
        request,
        "keys.html",
        201 if made else 200,
        visitor=visitor,
        lines=[Line.of(row, now) for row in rows],
        scopes=[(scope, SCOPE_WORDS[scope]) for scope in SCOPES if visitor.allows(scope)],
        made=made,
        secret=secret,
        older=f"{PATH}?cursor={following}" if following else "",
    )


@routes.post(PATH)
def create(request: Request, visitor: Admin, form: Annotated[Form, Depends(reads_form())]) -> Response:
    """Make a key of the project, with scopes of the visitor's own. Its secret is in this answer and nowhere else."""
    request_read = _read_request(form)
    secret, shared = new_secret(secrets.token_bytes(SECRET_BYTES)), get_services(request)
    with shared.database.write() as session:
        made = create_requested(session, visitor, request_read, visitor.project_id, secret)
    with shared.database.read() as session:
        return _page(request, session, visitor, made=made, secret=secret)


def _read_request(form: Form) -> KeyRequest:
    """Return the form as the body that the API takes.

    Raises:
        InvalidData: as the API refuses it.
    """
    body: dict[str, Any] = {
        "name": form.one("name"),
        "kind": form.one("kind", "job"),
        "scopes": form.every("scopes"),
    }
    if form.one("ends"):
        body["expires_at"] = _end_of(form.one("ends"))
    wanted: KeyRequest = validate(_REQUEST, json.dumps(body).encode())
    return wanted


def _end_of(day: str) -> str:
    """Return the end of a day, in UTC."""
    try:
        return datetime.combine(date.fromisoformat(day), time(23, 59, 59), UTC).isoformat()
    except ValueError:
        raise InvalidData.field("ends", message("refusals.no_day"), message("refusals.write_a_day")) from None


@routes.post(PATH + "/{key_id}/revoke")
def revoke(request: Request, visitor: Admin, key_id: str) -> Response:
    """End a key of the project; the one that is signed in ends its own session."""
    refuse_other_sites(request)
    if not is_id(key_id):
        raise NotFound(message("refusals.no_key"))
    shared = get_services(request)
    with shared.database.write() as session:
        key = actions.revoke(session, visitor, visitor.project_id, key_id, now=clock.read_now(session))
    shared.keys.forget(key.id)
    return RedirectResponse(PATH, 303, HEADERS)


def _moment(when: datetime | None) -> TimeView | None:
    return None if when is None else time_view("", when)
