"""Every error as a problem document (RFC 9457): what is wrong, where, and the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import Field
from starlette.responses import Response

from service import errors
from service.errors import Fault, ForelockError
from service.records import Record

F = TypeVar("F", bound=Callable[..., object])

MEDIA_TYPE = "application/problem+json"


class ProblemError(Record):
    """One fault of one field."""

    path: str = Field(description="Where: `populations[0].n`; empty for the request as a whole.")
    message: str = Field(description="What is the matter. Never repeats a value that was sent.")
    fix: str = Field(description="The way out, where there is one.")


class Problem(Record):
    """A problem document (RFC 9457)."""

    type: str = Field(description="A URN made of the code.")
    title: str = Field(description="The kind of problem, the same for every occurrence.")
    status: int = Field(description="The HTTP status.", ge=400, le=599)
    detail: str = Field(description="This occurrence, in one or two sentences.")
    code: str = Field(description="Stable, lower_snake: what programs branch on.")
    errors: tuple[ProblemError, ...] = Field(description="Faulty fields, if any.")


def respond_problem(
    status: int,
    code: str,
    title: str,
    detail: str,
    faults: Iterable[Fault],
    headers: Mapping[str, str] | None,
) -> Response:
    """Answer with a problem document."""
    document = Problem(
        type=f"urn:forelock:problem:{code}",
        title=title,
        status=status,
        detail=detail,
        code=code,
        errors=tuple(ProblemError(path=fault.path, message=fault.message, fix=fault.fix) for fault in faults),
    )
    return Response(document.model_dump_json(), status, headers, MEDIA_TYPE)


def respond_error(error: ForelockError) -> Response:
    """Answer with the problem document of one of our own errors, and the headers that its status or code asks for."""
    headers = _HEADERS.get(error.problem_code, _HEADERS.get(error.status, {}))
    return respond_problem(error.status, error.problem_code, error.title, error.detail, error.faults, headers)


def respond_job_error(error: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    """Answer with the problem document that a failed job left on its row."""
    document = Problem.model_validate(error)
    return Response(document.model_dump_json(), document.status, dict(headers), MEDIA_TYPE)


def respond_status(status: int, detail: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """Answer with the problem document of a bare HTTP status, such as of a path that no route has."""
    code, title = _BARE.get(status, ("http_error", "The request cannot be answered"))
    return respond_problem(status, code, title, detail or title, (), headers)


def respond_internal() -> Response:
    """Answer for a bug, with nothing about its cause: the text of an error may hold what was sent."""
    return respond_error(
        ForelockError("an unexpected error; the log has it under this answer's X-Request-Id")
    )


def may_answer(*statuses: int, without: str | None = None) -> Callable[[F], F]:
    """Mark a dependency with the problems it raises; OpenAPI lists them on every route that uses it.

    `without` names the header whose absence is one of them: OpenAPI calls it required.
    """

    def mark(dependency: F) -> F:
        dependency.statuses = statuses  # type: ignore[attr-defined]
        dependency.required_header = without  # type: ignore[attr-defined]
        return dependency

    return mark


@cache
def list_kinds() -> dict[str, type[ForelockError]]:
    """Return every kind of error of `service.errors` by its default code."""
    by_code = {ForelockError.code: ForelockError}
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, ForelockError):
            by_code.setdefault(value.code, value)
    return by_code


_BARE = {
    400: ("bad_request", "The request cannot be read"),
    404: ("not_found", "Nothing is here"),
    405: ("method_not_allowed", "The method is not answered here"),
}
_HEADERS: dict[int | str, dict[str, str]] = {
    401: {"WWW-Authenticate": 'Bearer realm="forelock"'},
    413: {"Connection": "close"},
    415: {"Accept-Encoding": "gzip, identity"},
    429: {"Retry-After": "5"},
    503: {"Retry-After": "1"},
    "idempotency_in_flight": {"Retry-After": "1"},
}
