"""What routes ask for by type: sessions, callers, preconditions, a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Header, Path, Query, Request, Response
from sqlalchemy.orm import Session

from service.api.http.problems import may_answer
from service.api.http.requests.headers import get_header
from service.api.http.shared import Services, get_services
from service.domain.access import Key, Scope
from service.errors import Forbidden, InvalidData, PreconditionFailed, PreconditionRequired
from service.store.database.engine import Database
from service.words import message


@may_answer(503)
async def get_database(request: Request) -> Database:
    """Return the database that `Route` opens a route's `ReadSession` from, in the thread that the route runs in."""
    return get_services(request).database


ReadSession = Annotated[Session, Depends(get_database)]
"""A session that sees committed rows. A route that writes opens its transaction itself, or `Once` does.

FastAPI would open and close a session of a dependency in threads of their own: three turns behind everybody else's
where one is enough. So it is for routes of the API alone, which `Route` calls; not for dependencies.
"""


def _open_page_session(request: Request) -> Iterator[Session]:
    with get_services(request).database.read() as session:
        yield session


PageSession = Annotated[Session, Depends(_open_page_session, scope="function")]
"""A session that sees committed rows, for pages, whose dependencies read with it too."""


async def _get_shared(request: Request) -> Services:
    return get_services(request)  # async, lest it takes a thread to find


Shared = Annotated[Services, Depends(_get_shared)]
"""Settings, database, keyring and caches of this application."""


def scope(*needed: Scope) -> Callable[[Request], Coroutine[Any, Any, Key]]:
    """Make the dependency that returns the key of the caller, if it carries every scope of `needed`."""

    @may_answer(*((401, 403, 503) if needed else (401, 503)))
    async def caller(request: Request) -> Key:
        cache, sent = get_services(request).keys, get_header(request, b"authorization")
        key = cache.find_cached(sent)
        if key is None:
            key = await to_thread.run_sync(cache.look_up, sent)
        request.scope["state"]["caller"] = key
        require_scope(key, *needed)
        return key

    caller.scopes = needed  # type: ignore[attr-defined]
    return caller


def require_scope(key: Key, *needed: Scope) -> None:
    """Refuse a key that lacks a scope.

    Raises:
        Forbidden: with the scope that is lacking, and those that the key has.
    """
    for name in needed:
        if not key.allows(name):
            raise Forbidden(message("refusals.lacks_scope", scope=name, scopes=", ".join(key.scopes)))


AnyCaller = Annotated[Key, Depends(scope())]
Tester = Annotated[Key, Depends(scope("tests:run"))]
Reader = Annotated[Key, Depends(scope("read"))]
Submitter = Annotated[Key, Depends(scope("results:write"))]
Planner = Annotated[Key, Depends(scope("plans:write"))]
Locker = Annotated[Key, Depends(scope("plans:lock"))]
Admin = Annotated[Key, Depends(scope("admin"))]
Operator = Annotated[Key, Depends(scope("operator"))]


MAX_IF_MATCH = 1000
"""Characters of the header `If-Match` that are looked at."""
_ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x2b\x2d-\x7e\x80-\xff]*"')


class IfMatch:
    """The tags of `If-Match`: `check(etag)` refuses a record that has changed."""

    def __init__(self, header: str | None) -> None:
        self.header = header

    def check(self, etag: str) -> None:
        """Refuse unless a strong tag equals `etag`, or the header is `*`."""
        if self.header is None or self.header.strip() == "*":
            return
        if etag not in _parse_strong_tags(self.header):
            raise PreconditionFailed(
                "the record has changed since it was read: GET it again and use its ETag"
            )


@may_answer(412, 422, 428, 507, without="If-Match")
def _require_if_match(
    if_match: Annotated[
        str | None, Header(alias="If-Match", description="The record's ETag; required.")
    ] = None,
) -> IfMatch:
    if if_match is None:
        raise PreconditionRequired("this write needs If-Match: send the ETag of the record as you read it")
    return IfMatch(if_match)


@may_answer(412, 422, 507)
def _read_if_match(
    if_match: Annotated[
        str | None, Header(alias="If-Match", description="The record's ETag; may be left out.")
    ] = None,
) -> IfMatch:
    return IfMatch(if_match)


RequiredIfMatch = Annotated[IfMatch, Depends(_require_if_match)]
OptionalIfMatch = Annotated[IfMatch, Depends(_read_if_match)]


def _parse_strong_tags(header: str) -> list[str]:
    tags = [tag.strip() for tag in header.split(",")]
    if len(header) > MAX_IF_MATCH or not all(_ENTITY_TAG.fullmatch(tag) for tag in tags):
        raise InvalidData.field("header.If-Match", "is not a list of entity tags", 'send "TAG" or *')
    return [tag for tag in tags if not tag.startswith("W/")]


def answer_not_modified(request: Request, etag: str) -> Response | None:
    """Answer 304 where `If-None-Match` names the tag (compared weakly, RFC 9110 section 13.1.2), else None."""
    sent = get_header(request, b"if-none-match")
    if sent is None:
        return None
    known = [tag.strip().removeprefix("W/") for tag in sent.split(",")]
    return Response(status_code=304, headers={"ETag": etag}) if etag in known or known == ["*"] else None


Limit = Annotated[int, Query(ge=1, le=200, description="Items per page, 1 to 200.")]
Cursor = Annotated[str | None, Query(max_length=2000, description="`next_cursor` of the previous page.")]
MAX_ID = 64
"""Characters of an id; none is longer."""
RecordId = Annotated[str, Path(max_length=MAX_ID, description="Id of the record.")]
