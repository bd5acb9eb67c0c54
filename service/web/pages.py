"""The pages: plain HTML that needs no script, shows nothing before the verdict, and escapes everything."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import parse_qs, urlencode

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse, RedirectResponse, Response

from service.actions import families, reports, unblinding
from service.actions.results import expected_total
from service.api.http.body import read_content
from service.api.http.deps import ReadSession, require_scope
from service.api.http.drawing import drawn_by_calculator, pictured
from service.api.http.reporting import packed, reported
from service.api.http.shared import Services, services
from service.api.routes import bundles
from service.api.routes.charts import known_chart, spec_of_record
from service.api.routes.reports import known_report, report_of_record
from service.domain.access import Key
from service.domain.outgoing import Link
from service.domain.plans.preregistration import Preregistration, State
from service.domain.verdicts.records import HypothesisVerdict, Verdict
from service.errors import (
    Forbidden,
    ForelockError,
    InvalidData,
    NotFound,
    RecordAltered,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from service.reports.charts.of_verdict import forest_of
from service.reports.charts.style import Spec
from service.reports.prereg.labels import Language
from service.reports.verdict import words
from service.reports.verdict.content import Report
from service.store import (
    clock,
    coverage,
    ended_sessions,
    integrity,
    jobs,
    keys,
    ledger,
    links,
    preregistrations,
    verdicts,
)
from service.store.verdicts import StoredVerdict
from service.web import session as sessions
from service.web import view

HERE = Path(__file__).parent
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
}
FORM = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 4096
MOST_SEARCH = 200
LIST = "/preregistrations"

_ID = r"[A-Za-z0-9_-]{1,64}"
_OWN_PATH = re.compile(rf"{LIST}(/{_ID})?")
_TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def _quoted(text: str) -> Markup:
    """Escape the text, and set what stands between backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  # escaped first


_TEMPLATES.filters["quoted"] = _quoted


def drawn_here(svg: bytes) -> Markup:
    """A picture that this service drew, to stand in a page: its texts were escaped when it was drawn."""
    return Markup(svg.decode())  # noqa: S704


class PageRoute(APIRoute):
    """A route whose refusals are pages too; whoever is not signed in is sent to sign in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with HTML for our own errors."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except Unauthorized:
                wanted = urlencode({"next": request.url.path})
                return RedirectResponse(f"/login?{wanted}", 303, HEADERS)
            except ForelockError as error:
                return html("message.html", error.status, heading=error.title, detail=error.detail)

        return handle


routes = APIRouter(route_class=PageRoute, include_in_schema=False)


def _visitor(request: Request, session: ReadSession) -> Key:
    """The key that the browser's session names, if it may still read."""
    shared = services(request)
    now = datetime.now(UTC)
    found = sessions.read(shared.keyring.fingerprint, request.cookies.get(sessions.COOKIE), now)
    if found is None or ended_sessions.ended(session, found.cookie_sha256):
        raise Unauthorized("sign in first")
    try:
        key = keys.get(session, found.project_id, found.key_id)
    except NotFound:
        raise Unauthorized("the key of this session is gone") from None
    if not key.valid(now):
        raise Unauthorized("the key of this session has ended")
    require_scope(key, "read")
    request.state.caller = key
    return key


Visitor = Annotated[Key, Depends(_visitor)]


@routes.get("/")
def home() -> Response:
    """Lead to the list."""
    return RedirectResponse(LIST, 303, HEADERS)


@routes.get(LIST)
def listed(
    request: Request,
    session: ReadSession,
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
    judged = [each.id for each in records if each.judged_at is not None]
    found = verdicts.several(session, visitor.project_id, judged) if judged else {}
    if judged:
        services(request).reads.note(visitor, "verdicts.list", None)
    today = clock.now(session).date()
    lines = [view.line_of(each, _outcomes(session, found.get(each.id)), today) for each in records]
    asked = {name: value for name, value in (("q", words), ("state", state)) if value}
    return html(
        "list.html",
        signed_in=True,
        lines=lines,
        asked=asked,
        states=view.STATE_NAMES,
        older=f"{LIST}?{urlencode({**asked, 'cursor': next_cursor})}" if next_cursor else "",
    )


def _state(text: str) -> State | None:
    """The state that a list is narrowed to."""
    if text in view.STATES:
        return cast(State, text)
    if text:
        known = ", ".join(view.STATES)
        raise InvalidData.field("state", "is none that a record can be in", f"choose one of {known}")
    return None


@routes.get(LIST + "/{preregistration_id}")
async def preregistration(request: Request, preregistration_id: str) -> Response:
    """One preregistration: its plan, and its verdict once there is one, with the picture of its intervals."""
    page, report, spec = await to_thread.run_sync(_opened, request, preregistration_id)
    forest = None
    if spec is not None:
        try:
            forest = drawn_here(await drawn_by_calculator(request, packed(spec), "svg"))
        except (TooLarge, Unavailable):  # the page is complete without its picture
            forest = None
    return html(
        "preregistration.html",
        signed_in=True,
        page=page,
        report=report,
        forest=forest,
        spec=spec,
        words=words,
    )


@routes.get(LIST + "/{preregistration_id}/charts/{chart}.{form}")
async def chart(
    request: Request,
    preregistration_id: str,
    chart: str,
    form: str,
    hypothesis: str | None = None,
    theme: str = "",
) -> Response:
    """A picture of a record, for its page."""
    name, wanted = known_chart(chart, form)
    key = await to_thread.run_sync(_signed_in, request)
    spec = await to_thread.run_sync(
        spec_of_record, services(request), key, _known(preregistration_id), name, hypothesis, "en"
    )
    services(request).reads.note(key, "chart.read", preregistration_id)
    return await pictured(request, spec, wanted, "dark" if theme == "dark" else "light")


@routes.get(LIST + "/{preregistration_id}/report.{form}")
async def report(request: Request, preregistration_id: str, form: str, lang: str = "") -> Response:
    """The report of a verdict, from its page."""
    wanted = known_report(form)
    key = await to_thread.run_sync(_signed_in, request)
    language: Language = "zh" if lang == "zh" else "en"
    found = await to_thread.run_sync(
        report_of_record, services(request), key, _known(preregistration_id), language
    )
    services(request).reads.note(key, "report.read", preregistration_id)
    return await reported(request, found, wanted, language)


@routes.get(LIST + "/{preregistration_id}/bundle")
def bundle(request: Request, visitor: Visitor, preregistration_id: str) -> Response:
    """Everything that shows what a record is, as one file."""
    services(request).reads.note(visitor, "bundle.read", preregistration_id)
    return bundles.get_bundle(visitor, services(request), _known(preregistration_id))


def _known(preregistration_id: str) -> str:
    if not is_id(preregistration_id):
        raise NotFound("no preregistration has such an id")
    return preregistration_id


def is_id(text: str) -> bool:
    """True when a record could have such an id."""
    return re.fullmatch(_ID, text) is not None


def _signed_in(request: Request) -> Key:
    """The visitor's key. Holds no session while something is drawn."""
    with services(request).database.read() as session:
        return _visitor(request, session)


def _opened(request: Request, preregistration_id: str) -> tuple[view.Page, Report | None, Spec | None]:
    """The page of a record; after its verdict with its report, and with the picture of its intervals."""
    with services(request).database.read() as session:
        visitor = _visitor(request, session)
        page, record, verdict = _page(request, session, visitor, _known(preregistration_id))
        if verdict is None:
            return page, None, None
        return page, reports.of_verdict(session, record, verdict), forest_of(record.plan, verdict)


def _page(
    request: Request, session: Session, visitor: Key, preregistration_id: str
) -> tuple[view.Page, Preregistration, Verdict | None]:
    record = preregistrations.get(session, visitor.project_id, preregistration_id)
    if record.judged_at is not None:
        services(request).reads.note(visitor, "verdict.read", record.id)
    verdict, elsewhere = (
        verdict_of(session, record),
        () if record.state == "draft" else links.every(session, record.id),
    )
    return page_of_record(session, record, verdict, elsewhere), record, verdict


def page_of_record(
    session: Session, record: Preregistration, verdict: Verdict | None, elsewhere: Sequence[Link] = ()
) -> view.Page:
    """The page of a record: its plan, and its verdict once there is one. The same to whoever may read it."""
    failed = record.state == "complete" and _verdict_failed(session, record)
    sealed = unblinding.seals(session, record)
    return view.page_of(
        record,
        verdict,
        _progress(session, record),
        failed=failed,
        overdue=record.state != "draft" and record.overdue(clock.now(session).date()),
        family=families.place_of(session, record),
        happened=tuple(_happened(session, record)),
        unblindings=sealed.unblindings,
        erasure=sealed.erasure,
        links=elsewhere,
    )


@routes.get("/login")
def ask(next: str = LIST) -> Response:
    """The form that asks for an API key."""
    return html("login.html", next=_own(next), fault="")


@routes.post("/login")
async def login(request: Request) -> Response:
    """Begin a session for the key in the form. The key is never repeated."""
    _refuse_other_sites(request)
    content = await read_content(request, (FORM,), MAX_FORM_BYTES)
    form = _fields(content.body.decode("utf-8", "replace"))
    secret, wanted = form.get("key", [""])[0].strip(), _own(form.get("next", [LIST])[0])
    shared = services(request)
    try:
        key = await _key(shared, secret)
    except (Unauthorized, Forbidden) as error:
        return html("login.html", error.status, next=wanted, fault=error.detail)
    shared.reads.note(key, "session.begin", None)
    response = RedirectResponse(wanted, 303, HEADERS)
    response.set_cookie(
        sessions.COOKIE,
        sessions.issue(shared.keyring.fingerprint, key, datetime.now(UTC)),
        max_age=int(sessions.LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@routes.post("/logout")
def logout(request: Request) -> Response:
    """End the browser's session, wherever its cookie was copied to."""
    _refuse_other_sites(request)
    shared, cookie = services(request), request.cookies.get(sessions.COOKIE)
    found = sessions.read(shared.keyring.fingerprint, cookie, datetime.now(UTC))
    if found is not None:
        with shared.database.write() as session:
            ended_sessions.end(session, found.cookie_sha256, found.ends_at)
    response = RedirectResponse("/login", 303, HEADERS)
    response.delete_cookie(sessions.COOKIE, httponly=True, samesite="strict")
    return response


async def _key(shared: Services, secret: str) -> Key:
    """The key of a secret, if it may read."""
    key = await to_thread.run_sync(shared.keys.look_up, f"Bearer {secret}")
    require_scope(key, "read")
    return key


def _outcomes(
    session: Session, verdict: StoredVerdict | RecordAltered | None
) -> tuple[HypothesisVerdict, ...] | None:
    """What a verdict says of its hypotheses; None when it was altered."""
    try:
        return verdict.read().hypotheses if isinstance(verdict, StoredVerdict) else None if verdict else ()
    except RecordAltered as error:
        integrity.note(session, error)
        return None


def verdict_of(session: Session, record: Preregistration) -> Verdict | None:
    """The verdict of a record that has been judged; a withdrawal does not hide it."""
    if record.judged_at is None:
        return None
    return verdicts.get(session, record.project_id, record.id)


def _happened(session: Session, record: Preregistration) -> Iterator[view.Happened]:
    """What people did to a locked record, in order, each with its reason."""
    words = {"plan_amended": "Amended", "close": "Closed early", "withdrawal": "Withdrawn"}
    if record.state == "draft":
        return
    for entry in ledger.entries(session, record.id, "plan_amended", "close", "withdrawal"):
        yield view.Happened(view.moment(words[entry.receipt.kind], entry.created_at), entry.body["reason"])


def _verdict_failed(session: Session, record: Preregistration) -> bool:
    job = jobs.latest(session, record.project_id, kind="verdict", subject=record.id)
    return job is not None and job.state == "failed"


def _progress(session: Session, record: Preregistration) -> view.Progress | None:
    """Counts of what is in, while results are coming."""
    if record.state not in ("locked", "collecting"):
        return None
    received = sum(count.received for count in coverage.counts(session, record.id))
    return view.Progress(received, expected_total(record.plan))


def _own(path: str) -> str:
    """A page of ours to go to after signing in; anything else becomes the list."""
    return path if _OWN_PATH.fullmatch(path) else LIST


def _refuse_other_sites(request: Request) -> None:
    """Refuse a form that another site submits in the visitor's name."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is not None:  # `null` is one too: of a frame that keeps to itself who sends it
        host = request.headers.get("host")
        site = "same-origin" if origin in (f"http://{host}", f"https://{host}") else "cross-site"
    if site not in (None, "same-origin", "none"):
        raise Forbidden("this form was sent from another site; open it here and send it again")


def _fields(form: str) -> dict[str, list[str]]:
    try:
        return parse_qs(form, max_num_fields=10)
    except ValueError:
        raise InvalidData(
            "the form has more fields than the page sends; open the page and send it again"
        ) from None


def html(template: str, status: int = 200, **content: Any) -> HTMLResponse:
    """A template as a page."""
    page = _TEMPLATES.get_template(template).render({"signed_in": False, **content})
    return HTMLResponse(page, status, HEADERS)
