"""Signing in with an API key and out again, and who is signed in."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from service.api.http.requests.deps import PageSession, require_scope
from service.api.http.shared import Services, get_services
from service.api.parsing.multipart import Form
from service.domain.access import Key, Scope
from service.errors import Forbidden, NotFound, Unauthorized
from service.store.projects import ended_sessions, keys
from service.web.html.forms import reads_form, refuse_other_sites
from service.web.html.rendering import HEADERS, PLACES, PageRoute, by_tls, html
from service.web.visitors import session as sessions
from service.words import message

LIST, SERIES = "/preregistrations", "/series"
ID = r"[A-Za-z0-9_-]{1,64}"
_OWN_PATH = re.compile(
    rf"{LIST}(/{ID}(/(plan|missing))?)?|/tests/{ID}|{SERIES}/[^/?#%\\\s]{{1,100}}|"
    + "|".join(re.escape(path) for path, _name, _needs in PLACES)
)

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


def is_id(text: str) -> bool:
    """Tell whether a record could have such an id."""
    return re.fullmatch(ID, text) is not None


def known(preregistration_id: str) -> str:
    """Return the id, which a record could have.

    Raises:
        NotFound: none could.
    """
    if not is_id(preregistration_id):
        raise NotFound(message("refusals.no_preregistration_of_id"))
    return preregistration_id


def visitor_of(request: Request, session: PageSession) -> Key:
    """Return the key that the browser's session names, if it may still read."""
    shared = get_services(request)
    now = datetime.now(UTC)
    session_ = sessions.read(shared.keyring.fingerprint, request.cookies.get(sessions.COOKIE), now)
    if session_ is None or ended_sessions.has_ended(session, session_.cookie_sha256):
        raise Unauthorized(message("refusals.sign_in_first"))
    try:
        key = keys.get(session, session_.project_id, session_.key_id)
    except NotFound:
        raise Unauthorized(message("refusals.session_key_gone")) from None
    if not key.valid(now):
        raise Unauthorized(message("refusals.session_key_ended"))
    require_scope(key, "read")
    request.state.caller = key
    return key


def visitor_who_may(*needed: Scope) -> Callable[[Request], Key]:
    """Dependency: the visitor, whose key carries these scopes too. Holds no session afterwards."""

    def visitor(request: Request) -> Key:
        key = get_visitor(request)
        require_scope(key, *needed)
        return key

    return visitor


def get_visitor(request: Request) -> Key:
    """Return the visitor's key. Holds no session while something is drawn."""
    with get_services(request).database.read() as session:
        return visitor_of(request, session)


Visitor = Annotated[Key, Depends(visitor_of)]
Admin = Annotated[Key, Depends(visitor_who_may("admin"))]
Tester = Annotated[Key, Depends(visitor_who_may("tests:run"))]


@routes.get("/")
def home() -> Response:
    """Lead a visitor of the front page to the list of preregistrations."""
    return RedirectResponse(LIST, 303, HEADERS)


@routes.get("/login")
def ask(request: Request, next: str = LIST) -> Response:
    """The form that asks for an API key."""
    return ask_to_sign_in(request, own_path(next))


def ask_to_sign_in(
    request: Request,
    wanted: str,
    status: int = 200,
    *,
    fault: Unauthorized | Forbidden | None = None,
    refused: str = "",
) -> Response:
    """Return the form, and what was wrong the last time: the `fault` of a key, or by the code of `refused`."""
    provider = get_services(request).sign_in
    return html(
        request,
        "login.html",
        status,
        next=wanted,
        fault=fault,
        refused=refused,
        provider=None if provider is None else provider.host,
    )


@routes.post("/login")
async def login(request: Request, form: Annotated[Form, Depends(reads_form())]) -> Response:
    """Begin a session for the key in the form. The key is never repeated."""
    secret, wanted = form.one("key"), own_path(form.one("next", LIST))
    shared = get_services(request)
    try:
        key = await _key(shared, secret)
    except (Unauthorized, Forbidden) as error:
        return ask_to_sign_in(request, wanted, error.status, fault=error)
    response = RedirectResponse(wanted, 303, HEADERS)
    begin_session(request, response, key)
    return response


def begin_session(request: Request, response: Response, key: Key) -> None:
    """Give the browser a session of the key."""
    shared = get_services(request)
    shared.reads.note(key, "session.begin", None)
    response.set_cookie(
        sessions.COOKIE,
        sessions.issue(shared.keyring.fingerprint, key, datetime.now(UTC)),
        max_age=int(sessions.LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=by_tls(request),
    )


@routes.post("/logout")
def logout(request: Request) -> Response:
    """End the browser's session, wherever its cookie was copied to."""
    refuse_other_sites(request)
    shared, cookie = get_services(request), request.cookies.get(sessions.COOKIE)
    ended = sessions.read(shared.keyring.fingerprint, cookie, datetime.now(UTC))
    if ended is not None:
        with shared.database.write() as session:
            ended_sessions.end(session, ended.cookie_sha256, ended.ends_at)
    response = RedirectResponse("/login", 303, HEADERS)
    response.delete_cookie(sessions.COOKIE, httponly=True, samesite="strict")
    return response


async def _key(shared: Services, secret: str) -> Key:
    """Return the key of a secret, if it may read."""
    key = await to_thread.run_sync(shared.keys.look_up, f"Bearer {secret}")
    require_scope(key, "read")
    return key


def own_path(path: str) -> str:
    """Return a page of ours to go to after signing in; anything else becomes the list."""
    return path if _OWN_PATH.fullmatch(path) else LIST
