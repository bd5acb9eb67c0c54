"""From a template to a page: escaped, in the visitor's language, with headers that allow nothing that is not ours."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response
from typing_extensions import override

from service.api.http.shared import get_services
from service.domain.access import Key, Scope
from service.errors import ForelockError, Unauthorized
from service.reports.figures import mark_up_with_numbers, set_numbers
from service.reports.findings import translate
from service.reports.quoting import command_marked_up, mark_up
from service.web.html.speech import (
    COOKIE,
    Say,
    Sentence,
    detail_in,
    fault_in,
    language_of,
    meaning_of,
    problem_in,
    translate_sentence,
    warning_in,
)
from service.words import LANGUAGES

HERE = Path(__file__).parents[1]
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
SCRIPTED = POLICY + "; script-src 'self'; connect-src 'self'"
"""Of pages that do more with a script of ours, and are whole without it."""
HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
OURS = 500
"""The first status that says the fault is ours, so that somebody has to find it in the log."""
LANGUAGE_SECONDS = 365 * 24 * 3600

KEPT = ("q", "state", "arm", "action", "cursor")
"""What of an address goes along into the other language: what somebody looks for."""

PLACES: tuple[tuple[str, str, tuple[Scope, ...]], ...] = (
    ("/overview", "pages.overview", ("read",)),
    ("/preregistrations", "pages.preregistrations", ("read",)),
    ("/series", "series.series", ("read",)),
    ("/plans/new", "pages.new_plan", ("plans:write",)),
    ("/questions", "pages.questions", ("tests:run",)),
    ("/tests", "pages.tests", ("tests:run",)),
    ("/leaderboards", "pages.leaderboards", ("tests:run",)),
    ("/jobs", "pages.jobs", ("admin",)),
    ("/audit", "pages.audit_log", ("admin",)),
    ("/keys", "pages.keys", ("admin",)),
)
"""Where one can go, and what the key has to be allowed for it."""

_TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def as_sentence(text: str) -> str:
    """A problem's detail as a page says it: with a capital, unless it begins with a name, and a stop."""
    first, _, _ = text.partition(" ")
    begun = text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
    if not text or not (text[-1].isalnum() or text[-1] in "`)\"'”’）"):
        return begun
    return begun + ("。" if any("\u4e00" <= sign <= "\u9fff" for sign in text) else ".")


def led(text: str, lead: str) -> Markup:
    """The text with the lead that it begins with set apart: an eye that looks for it stops. Without it, as it is."""
    if not text.startswith(lead):
        return mark_up_with_numbers(text)
    return Markup("<strong>{}</strong>{}").format(lead, mark_up_with_numbers(text.removeprefix(lead)))


_TEMPLATES.filters["quoted"] = mark_up
_TEMPLATES.filters["figured"] = mark_up_with_numbers
_TEMPLATES.filters["numbers"] = set_numbers
_TEMPLATES.filters["command"] = command_marked_up
_TEMPLATES.filters["led"] = led
_TEMPLATES.filters["sentence"] = as_sentence


def drawn_here(svg: bytes) -> Markup:
    """A picture that this service drew, to stand in a page: its texts were escaped when it was drawn."""
    return Markup(svg.decode())  # noqa: S704


def html(
    request: Request,
    template: str,
    status: int = 200,
    *,
    visitor: Key | None = None,
    scripts: Sequence[str] = (),
    **content: Any,
) -> HTMLResponse:
    """A template as a page. `scripts` are files of ours that it runs."""
    language = language_of(request)
    page = _TEMPLATES.get_template(template).render(
        say=Say(language),
        english=Markup(' lang="en"') if language != "en" else "",  # of what is said in English alone
        sentence=lambda room, english: translate_sentence(room, english, language),
        meaning=lambda code: meaning_of(code, language),
        said=lambda error: detail_in(error, language),
        of_files=lambda english: translate_sentence("faults", english, language),
        caution=lambda code, message: warning_in(code, message, language),
        problem_said=lambda problem: problem_in(problem, language),
        fault_line=lambda fault: fault_in(fault, language),
        finding=lambda code, message: translate(code, message, language),
        places=[] if visitor is None else list(_places(visitor)),
        here=request.url.path,
        visitor=visitor,
        scripts=scripts,
        languages=[
            (other, Say(other)("pages.of_language"), _in(request, other)) for other in LANGUAGES if other != language
        ],
        **content,
    )  # fmt: skip
    response = HTMLResponse(page, status, HEADERS | {"Content-Language": language})
    if scripts:
        response.headers["Content-Security-Policy"] = SCRIPTED
    if request.query_params.get("lang") == language:  # asked for by name, so that it stays
        response.set_cookie(
            COOKIE, language, max_age=LANGUAGE_SECONDS, httponly=True, samesite="strict",
            secure=by_tls(request),
        )  # fmt: skip
    return response


def by_tls(request: Request) -> bool:
    """Whether the visitor's browser speaks TLS, also to a proxy that does not say so."""
    public = get_services(request).settings.public_url or ""
    return request.url.scheme == "https" or public.startswith("https://")


def _places(visitor: Key) -> Iterator[tuple[str, str]]:
    for path, name, needs in PLACES:
        if all(map(visitor.allows, needs)):
            yield path, name


def _in(request: Request, language: str) -> str:
    """The same page in another language."""
    kept_parameters = [(name, value) for name, value in request.query_params.multi_items() if name in KEPT]
    return f"?{urlencode([*kept_parameters, ('lang', language)])}"


class PageRoute(APIRoute):
    """A route whose refusals are pages too; whoever is not signed in is sent to sign in."""

    @override
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
                return refusal(request, error)

        return handle


def asks_for_page(request: Request) -> bool:
    """Whether somebody looks at a page, as browsers do: what programs read stands under /v1."""
    accepts = request.headers.get("accept", "")
    return request.method == "GET" and "text/html" in accepts and not request.url.path.startswith("/v1/")


def is_answered_by_page(request: Request) -> bool:
    """Whether a page refuses this: it was asked of one, or sent to one as a form, or a browser looks at it."""
    return isinstance(request.scope.get("route"), PageRoute) or asks_for_page(request)


def nothing_here(request: Request, status: int = 404, headers: Mapping[str, str] | None = None) -> Response:
    """The page of an address that has none, or (405) takes only what is sent to it."""
    say = Say(language_of(request))
    heading = say("pages.nothing_is_here")
    detail = say("pages.this_address_is_none_to" if status == 405 else "pages.no_page_has_this_address")
    response = _message(request, status, heading=heading, detail=detail)
    response.headers.update(headers or {})
    return response


def something_failed(request: Request) -> Response:
    """The page of a bug: nothing about its cause, and the reference under which the log has it."""
    say = Say(language_of(request))
    return _message(
        request,
        OURS,
        heading=say("pages.something_failed"),
        detail=say("pages.nothing_of_it_is_shown"),
        reference=request.state.request_id,
    )


def _message(request: Request, status: int, *, heading: str, detail: str, reference: str = "") -> Response:
    """A page of a heading and a sentence of our own, in the visitor's language."""
    return html(
        request,
        "message.html",
        status,
        heading=heading,
        detail=Sentence(detail, Markup()),
        faults=(),
        problem="",
        reference=reference,
        own=True,
    )


def refusal(request: Request, error: ForelockError) -> Response:
    """What was refused, and the way out, as a page."""
    return html(
        request,
        "message.html",
        error.status,
        visitor=getattr(request.state, "caller", None),
        heading=error.title,
        detail=detail_in(error, language_of(request)),
        faults=error.faults,
        problem=error.problem_code if meaning_of(error.problem_code, language_of(request)) else error.code,
        reference=request.state.request_id if error.status >= OURS else "",
        own=False,
    )
