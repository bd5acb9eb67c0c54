"""Our route class: what every operation owes, so that no route has to say it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from fastapi import APIRouter, Body, Depends, Request
from fastapi.datastructures import DefaultPlaceholder
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.utils import create_model_field
from pydantic.fields import FieldInfo
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from service.api.http import problems
from service.api.http.requests.body import BodyDoc
from service.api.http.requests.deps import get_database
from service.api.http.requests.headers import refuse_repeated_headers
from service.api.http.shared import get_services
from service.errors import Blinded, Fault, ForelockError, InvalidData, NotFound
from service.store.database.engine import Database

E = TypeVar("E", bound=Callable[..., Any])
R = TypeVar("R", bound=APIRoute)
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Route(APIRoute):
    """A route that refuses query parameters it does not know, and ids no record can have.

    Its summary is the first line of the docstring, its description the rest, its operation id the
    function's name in camel case.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        summary, _, description = inspect.cleandoc(endpoint.__doc__ or "").partition("\n\n")
        options["summary"] = options.get("summary") or summary.rstrip(".")
        options["description"] = options.get("description") or description or summary
        options["operation_id"] = options.get("operation_id") or to_camel(endpoint.__name__)
        if hasattr(endpoint, "asks"):  # for OpenAPI, and for what a route says of its dependencies
            options["dependencies"] = [Depends(call) for call in endpoint.asks]
        # What makes its own answer is not asked for another: the model is for OpenAPI, which few ask for.
        self._answered: Any = None
        if endpoint.__annotations__.get("return") in ("Response", Response):
            model, options["response_model"] = options.get("response_model"), None
            self._answered = None if isinstance(model, DefaultPlaceholder) else model
        responses = options.get("responses") or {}
        self._besides = {
            status: response["model"] for status, response in responses.items() if "model" in response
        }
        options["responses"] = {
            status: {name: member for name, member in response.items() if name != "model"}
            for status, response in responses.items()
        }
        super().__init__(path, endpoint, **options)
        if hasattr(endpoint, "asks"):
            self.app = _make_app(self.get_route_handler())
        if self.body_field is not None:
            raise TypeError(f"{path}: take the body with StrictBody or RawBody; FastAPI's parser is lenient")

    def complete(self) -> None:
        """Add what OpenAPI says of bodies and answers; no request needs it, so it is done for the document alone."""
        if self.body_doc is not None:
            first = next(iter(self.body_doc.content.values()))
            self.body_field = create_model_field(
                name=f"Body_{self.unique_id}",
                type_=first,
                field_info=_make_body_info(first),
                mode="validation",
            )
        if self._answered is not None:
            self.response_model = self._answered
            self.response_field = create_model_field(
                name=f"Response_{self.unique_id}", type_=self._answered, mode="serialization"
            )
        for status, model in self._besides.items():
            self.response_fields[status] = create_model_field(
                name=f"Response_{status}_{self.unique_id}", type_=model, mode="serialization"
            )

    @override
    def get_route_handler(self) -> Handler:
        """Return FastAPI's handler behind our checks of headers, query and ids, and our note of what was read."""
        for dependency in self.dependant.dependencies:
            if dependency.call is get_database:
                self.dependant.call = _within_session(self.endpoint, str(dependency.name))
        handler = _pass_path(self.endpoint) if hasattr(self.endpoint, "asks") else super().get_route_handler()
        known = {
            field.alias: field.field_info.annotation is int for field in iterate_query_fields(self.dependant)
        }
        numbers = [field.alias for field in self.dependant.path_params if field.field_info.annotation is int]
        read = getattr(self.endpoint, "reads", None)

        async def handle(request: Request) -> Response:
            scope = request.scope
            refuse_repeated_headers(scope["headers"])
            if scope["query_string"]:
                check_query(request, known)
            if "\0" in scope["path"] or (
                numbers and not all(_is_number(scope["path_params"][name]) for name in numbers)
            ):
                raise NotFound("no record has such an id")
            if read is None:
                return await handler(request)
            try:
                response = await handler(request)
            except Blinded:
                _note_read(request, f"{read}.refused")
                raise
            if response.status_code in (200, 304):
                _note_read(request, read)
            return response

        return handle

    @property
    def body_doc(self) -> BodyDoc | None:
        """What OpenAPI says of the body that the route reads; None where it reads none."""
        return next(
            (doc for call in iterate_calls(self.dependant) if (doc := getattr(call, "body_doc", None))), None
        )

    @property
    def problem_statuses(self) -> set[int]:
        """The statuses of the problems that the route's dependencies raise, and 404 where the path holds an id."""
        statuses = {404} if self.dependant.path_params else set()
        return statuses.union(*(getattr(call, "statuses", ()) for call in iterate_calls(self.dependant)))

    @property
    def required_headers(self) -> set[str]:
        """The headers that the route's dependencies do not do without."""
        return {
            name for call in iterate_calls(self.dependant) if (name := getattr(call, "required_header", None))
        }

    @property
    def scopes(self) -> tuple[str, ...] | None:
        """The scopes that a caller needs; None where no key is needed."""
        return next(
            (
                scopes
                for call in iterate_calls(self.dependant)
                if (scopes := getattr(call, "scopes", None)) is not None
            ),
            None,
        )


def _within_session(endpoint: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap an endpoint: its argument `name`, a database, becomes a session that is opened and closed where it runs."""

    @wraps(endpoint)
    def call(**given: Any) -> Any:
        database: Database = given.pop(name)
        with database.read() as session:
            return endpoint(**given, **{name: session})

    return call


def _pass_path(endpoint: Callable[..., Any]) -> Handler:
    """Make a handler that calls the endpoint with the request and the parameters of its path."""
    return lambda request: endpoint(request, **request.scope["path_params"])


def _make_app(handler: Handler) -> ASGIApp:
    """Make an ASGI application of a handler; an error of ours becomes its problem document."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await handler(Request(scope, receive, send))
        except ForelockError as error:
            response = problems.respond_error(error)
        await response(scope, receive, send)

    return app


def _make_body_info(annotation: Any) -> FieldInfo:
    info = cast(FieldInfo, Body(...))
    info.annotation = annotation
    return info


def make_router(tag: str, prefix: str = "/v1") -> APIRouter:
    """Make a router for the routes of one noun, which OpenAPI lists under `tag`."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=Route)


def _index_by_path(routes: Iterable[R]) -> dict[tuple[str, str], R]:
    """Index the routes without parameters by method and path."""
    return {
        (method, route.path): route
        for route in routes
        if not route.param_convertors
        for method in route.methods or ()
    }


class Exact(BaseRoute):
    """Stands before the other routes and finds those without parameters by one look-up."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes = _index_by_path(route for route in routes if isinstance(route, APIRoute))

    @override
    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match fully where a route has method and path as they are, else not at all.

        Where it does not match, the application tries its other routes.
        """
        route = self._routes.get((scope.get("method", ""), scope["path"]))
        if route is None:
            return Match.NONE, {}
        return Match.FULL, {"endpoint": route.endpoint, "path_params": {}, "route": route}

    @override
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve by the route that `matches` put into the scope."""
        await scope["route"].handle(scope, receive, send)


class Shortcut:
    """ASGI middleware: routes that call their dependencies themselves need nothing of what is inside of it."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        own = [route for route in routes if isinstance(route, Route) and hasattr(route.endpoint, "asks")]
        self._routes = _index_by_path(own)
        self._with_ids = [own_route for own_route in own if own_route.param_convertors]

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve by a route that calls its dependencies itself, if one matches, else by the application."""
        method, path = scope.get("method", ""), scope.get("path", "")
        route, ids = self._routes.get((method, path)), _NO_IDS
        if route is None:
            route, ids = self._by_pattern(method, path)
        if route is None:
            return self._app(scope, receive, send)
        scope["route"], scope["path_params"] = route, ids
        return route.app(scope, receive, send)

    def _by_pattern(self, method: str, path: str) -> tuple[Route | None, Mapping[str, str]]:
        for route in self._with_ids:
            if method in (route.methods or ()) and (match := route.path_regex.match(path)):
                return route, match.groupdict()
        return None, _NO_IDS


_NO_IDS: Mapping[str, str] = {}


def refuses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the entries of `responses=` for problems that this route alone has.

    Those of its dependencies are listed without being named here.
    """
    return {status: {"description": "A problem."} for status in statuses}


def asks(*dependencies: Callable[..., Any]) -> Callable[[E], E]:
    """Mark an `async def (request, ids of the path) -> Response` that calls its dependencies itself.

    It is served without FastAPI's machinery, which costs more than a small test; OpenAPI sees the
    dependencies all the same.
    """

    def mark(endpoint: E) -> E:
        endpoint.asks = dependencies  # type: ignore[attr-defined]
        return endpoint

    return mark


def audits(action: str) -> Callable[[E], E]:
    """Mark an endpoint whose reading goes into the audit log under this action; so does an attempt while blinded."""

    def mark(endpoint: E) -> E:
        endpoint.reads = action  # type: ignore[attr-defined]
        return endpoint

    return mark


def _note_read(request: Request, action: str) -> None:
    """Note for the audit log that the caller read the record of the path, or what its first parameter names."""
    ids = request.scope["path_params"]
    get_services(request).reads.note(
        request.state.caller, action, ids.get("prereg_id") or next(iter(ids.values()), None)
    )


def to_camel(name: str) -> str:
    """Convert a name to camel case: `list_tests` to `listTests`, `run-mcnemar` to `runMcnemar`."""
    first, *others = name.replace("-", "_").split("_")
    return first + "".join(word.capitalize() for word in others)


def iterate_calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    """Iterate over every function that a dependant depends on at any depth, its own included."""
    if dependant.call is not None:
        yield dependant.call
    for sub in dependant.dependencies:
        yield from iterate_calls(sub)


def iterate_query_fields(dependant: Dependant) -> Iterator[Any]:
    """Iterate over every query parameter of a dependant and of what it depends on."""
    yield from dependant.query_params
    for sub in dependant.dependencies:
        yield from iterate_query_fields(sub)


def check_query(request: Request, known: Mapping[str, bool]) -> None:
    """Refuse a query with names the route does not know, names sent twice, NUL, or numbers that are not plain digits.

    Args:
        request: whose query is checked.
        known: the route's parameters by name, and whether a parameter is a number.

    Raises:
        InvalidData: with a fault for every parameter, 20 at most.
    """
    faults, seen = [], set()
    for name, value in request.query_params.multi_items():
        if name not in known:
            fix = f"this route knows {', '.join(sorted(known))}" if known else "this route knows none"
            faults.append(Fault(f"query.{name[:64]}", "is not a query parameter here", fix))
        elif name in seen:
            faults.append(Fault(f"query.{name}", "is sent more than once", "send it once"))
        elif "\0" in value:
            faults.append(Fault(f"query.{name}", "holds a NUL character", "leave it out"))
        elif known[name] and not _is_number(value):
            faults.append(Fault(f"query.{name}", "must be an integer", "send digits alone"))
        seen.add(name)
    if faults:
        first = faults[0]
        raise InvalidData(f"{first.path} {first.message}", faults[:20], code="validation_failed")


def _is_number(text: str) -> bool:
    """Tell whether a text is plain digits of a 64-bit number.

    `int` also takes signs, blanks, underscores and other digits.
    """
    return text.isascii() and text.isdecimal() and len(text) < 19
