"""Signing in by an OpenID Connect provider: there, back with a code, and into a project that one's groups open.

A browser keeps one signed cookie meanwhile, of which state, nonce and the PKCE verifier follow by the deployment's key:
an answer that another browser was given leads nowhere, and the cookie alone gives none of them away. It is good once.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from service.actions.projects import people
from service.api.http.shared import Services, get_services
from service.api.parsing.multipart import Form
from service.domain.access import grant_scopes
from service.errors import NotFound
from service.operation.sign_in import CALLBACK, GroupsElsewhere, SignIn
from service.publish.faults import OutgoingFault
from service.store.database import clock
from service.store.projects import ended_sessions, keys
from service.web.html.forms import reads_form
from service.web.html.rendering import HEADERS, PageRoute, by_tls, html
from service.web.visitors import session as sessions
from service.web.visitors.sign_in import LIST, ask_to_sign_in, begin_session, own_path
from service.words import message

START, CHOICE = "/login/provider", "/login/provider/project"
COOKIE, PURPOSE, OPTION = "forelock_sign_in", "sign-in", "sign-in choice"
LIFETIME = timedelta(minutes=10)
MOST_CODE = 4096
BEGIN_AGAIN, AWAY, REFUSED, NO_GROUP, GROUPS_ELSEWHERE = (
    "pages.sign_in_begin_again",
    "pages.sign_in_provider_away",
    "pages.sign_in_provider_refused",
    "pages.sign_in_no_group",
    "pages.sign_in_groups_elsewhere",
)

logger = logging.getLogger("forelock.sign_in")
routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One browser's way through the provider, as its cookie says it."""

    own: str
    wanted: str
    ends_at: datetime
    sha256: str


def _sign_in(request: Request) -> SignIn:
    """Return the provider.

    Raises:
        NotFound: there is none.
    """
    provider = get_services(request).sign_in
    if provider is None:
        raise NotFound(message("refusals.sign_in_with_key"))
    return provider


@routes.get(START)
async def start(request: Request, next: str = LIST) -> Response:
    """Send the browser to the provider."""
    sign_in, shared, own = _sign_in(request), get_services(request), secrets.token_urlsafe(24)
    state, nonce, verifier = _derive_secrets(shared, own)
    try:
        url = await to_thread.run_sync(
            sign_in.provider.authorization_url, state, nonce, verifier, limiter=sign_in.turns
        )
    except OutgoingFault as fault:
        return _away(request, own_path(next), fault)
    response = RedirectResponse(url, 303, HEADERS)
    ends = int((datetime.now(UTC) + LIFETIME).timestamp())
    _set_cookie(
        request, response, sessions.seal(shared.keyring.fingerprint, PURPOSE, [own, own_path(next), ends])
    )
    return response


@routes.get(CALLBACK)
async def receive_answer(
    request: Request, code: str = "", state: str = "", iss: str | None = None, error: str = ""
) -> Response:
    """Where the provider sends the browser back: with a code, or with a refusal."""
    sign_in, shared = _sign_in(request), get_services(request)
    attempt = _attempt(request)
    if attempt is None or not hmac.compare_digest(
        _derive_secrets(shared, attempt.own)[0].encode(), state.encode()
    ):
        return ask_to_sign_in(request, LIST, 400, refused=BEGIN_AGAIN)
    try:
        opened = await to_thread.run_sync(
            _open_projects, shared, sign_in, attempt, code, iss, error, limiter=sign_in.turns
        )
    except _Refused as refused:
        return ask_to_sign_in(request, attempt.wanted, refused.status, refused=refused.words)
    except OutgoingFault as fault:
        return _away(request, attempt.wanted, fault)
    return _enter_project(request, attempt, opened)


@routes.post(CHOICE)
def chosen(request: Request, form: Annotated[Form, Depends(reads_form())]) -> Response:
    """Begin a session in the project that was chosen."""
    shared, attempt = get_services(request), _attempt(request)
    option = sessions.unseal(shared.keyring.fingerprint, OPTION, form.one("project"))
    if attempt is None or option is None or option.values[0] != attempt.own:
        return ask_to_sign_in(request, LIST, 400, refused=BEGIN_AGAIN)
    _own, project_id, key_id = option.values
    with shared.database.write() as session:
        if not ended_sessions.end(session, f"choice {attempt.sha256}", attempt.ends_at):
            return ask_to_sign_in(request, LIST, 400, refused=BEGIN_AGAIN)
        key = keys.get(session, project_id, key_id)
    if not key.valid(datetime.now(UTC)):
        return ask_to_sign_in(request, LIST, 403, refused=NO_GROUP)
    response = RedirectResponse(attempt.wanted, 303, HEADERS)
    begin_session(request, response, key)
    _forget(response)
    return response


class _Refused(Exception):
    """Nobody is signed in; by what words that is said."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


def _open_projects(
    shared: Services, sign_in: SignIn, attempt: Attempt, code: str, iss: str | None, error: str
) -> Sequence[people.OpenedProject]:
    """Return the projects that are open to whoever came back, and their keys there."""
    sign, provider = shared.keyring.fingerprint, sign_in.provider
    with shared.database.write() as session:
        if not ended_sessions.end(session, attempt.sha256, attempt.ends_at):
            raise _Refused(400, BEGIN_AGAIN)
    # RFC 9207: whose answer this is, lest the code of one provider is taken to another
    if iss != provider.issuer and (iss is not None or provider.metadata().names_itself):
        raise _Refused(400, BEGIN_AGAIN)
    if error or not code or len(code) > MOST_CODE:
        raise _Refused(403, REFUSED)
    _state, nonce, verifier = _derive_secrets(shared, attempt.own)
    identity = provider.identify(code, nonce, verifier, int(datetime.now(UTC).timestamp()))
    person = people.Person(provider.issuer, identity.claims["sub"], _name(identity.claims))
    try:
        groups = sign_in.groups(identity)
    except GroupsElsewhere as fault:
        logger.warning("%s: let it send the groups that are assigned to the application alone", fault)
        groups, refused = [], GROUPS_ELSEWHERE
    else:
        refused = NO_GROUP
    given = grant_scopes(sign_in.grants, groups)
    with shared.database.write() as session:
        opened = people.sign_in(
            session, person, given, sign_in.projects, sign=sign, now=clock.read_now(session)
        )
    if not opened:
        logger.info("somebody signed in at the provider whose groups open no project")
        raise _Refused(403, refused)
    return opened


def _enter_project(request: Request, attempt: Attempt, opened: Sequence[people.OpenedProject]) -> Response:
    """Return a page that goes on by itself, or asks into which project.

    It is no redirect: what a browser is sent on to by another site gets no cookie that is ours alone, and the session's
    is. From a page of ours it does.
    """
    sign = get_services(request).keyring.fingerprint
    if len(opened) == 1:
        response = html(request, "signed_in.html", next=attempt.wanted, options=[])
        begin_session(request, response, opened[0].key)
        _forget(response)
        return response
    options = [
        (line.project, sessions.seal(sign, OPTION, [attempt.own, line.key.project_id, line.key.id]))
        for line in opened
    ]
    return html(request, "signed_in.html", next="", options=options)


def _attempt(request: Request) -> Attempt | None:
    unsealed = sessions.unseal(
        get_services(request).keyring.fingerprint, PURPOSE, request.cookies.get(COOKIE)
    )
    if unsealed is None:
        return None
    own, wanted, ends = unsealed.values
    ends_at = datetime.fromtimestamp(ends, UTC)
    return Attempt(own, wanted, ends_at, unsealed.sha256) if datetime.now(UTC) < ends_at else None


def _derive_secrets(shared: Services, own: str) -> tuple[str, str, str]:
    """State, nonce and verifier of an attempt: 64 hexadecimal digits each."""
    sign = shared.keyring.fingerprint
    state, nonce, verifier = (
        sign(f"sign-in {name}", own.encode()) for name in ("state", "nonce", "verifier")
    )
    return state, nonce, verifier


def _name(claims: object) -> str:
    """Return what the person is called, for lists and the log; who it is, their subject says."""
    assert isinstance(claims, dict)  # noqa: S101
    for claim in ("preferred_username", "email", "name", "sub"):
        value = claims.get(claim)
        if isinstance(value, str) and value.strip() and value.isprintable():
            return value.strip()[: people.MOST_NAME]
    return "somebody"


def _away(request: Request, wanted: str, fault: OutgoingFault) -> Response:
    """The provider gave no usable answer. The log says which; a stranger is not told what stands behind us."""
    logger.warning("signing in by the provider failed: %s", fault)
    return ask_to_sign_in(request, wanted, 502, refused=AWAY)


def _set_cookie(request: Request, response: Response, value: str) -> None:
    """Set the cookie that ties this browser to the sign-in it began; it is sent to the sign-in pages alone."""
    response.set_cookie(
        COOKIE,
        value,
        max_age=int(LIFETIME.total_seconds()),
        path=START,
        httponly=True,
        samesite="lax",  # the provider is another site, and the browser comes back from there
        secure=by_tls(request),
    )


def _forget(response: Response) -> None:
    response.delete_cookie(COOKIE, path=START, httponly=True, samesite="lax")
