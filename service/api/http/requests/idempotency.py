"""`Idempotency-Key`: a write that is repeated answers as it did the first time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Header, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.actions.results.group_commit import Answer
from service.api.http.problems import may_answer
from service.api.http.requests.body import Content
from service.api.http.shared import get_services
from service.errors import InvalidData, MissingIdempotencyKey
from service.store.database import clock, idempotency

_USABLE = re.compile("[!-~]{1,255}")
REPLAYED = "Idempotency-Replayed"
"""The header of an answer that was stored for an earlier request."""


class Once:
    """Does a request's work once per (API key, route, Idempotency-Key)."""

    def __init__(self, request: Request, key: str | None) -> None:
        self._request = request
        self._key = key

    def run(
        self, work: Callable[[Session], Response], *, keep: Callable[[Response], Response] | None = None
    ) -> Response:
        """Return the answer of `work`, or the stored one where this very request was answered before.

        Args:
            work: does the write in the transaction it is given, which also keeps the answer, and answers 2xx;
                an error is raised, and never stored.
            keep: what to store instead of an answer that holds a secret.
        """
        with get_services(self._request).database.write() as session:
            if self._key is None:
                return work(session)
            content: Content | None = getattr(self._request.state, "content", None)
            attempt = self.attempt(b"" if content is None else content.body)
            earlier = idempotency.find(session, [attempt]).get(attempt.scope)
            if earlier is not None:
                return replay(earlier.answer_to(attempt))
            response = work(session)
            kept = keep(response) if keep else response
            idempotency.keep(session, [(attempt, dump_response(kept))], clock.read_now(session))
            return response

    def attempt(self, fingerprint: bytes) -> idempotency.Attempt:
        """Return what tells this request from others; it must have its Idempotency-Key.

        `fingerprint` must be the same in a repeated request, beside method and path. It is stored as an HMAC only, and
        must hold nothing that may not be guessed at.
        """
        request, key = self._request, self._key
        if key is None:
            raise ValueError("a request without an Idempotency-Key is not told from others")
        path: str = request.scope["path"]
        mac = get_services(request).keyring.fingerprint
        return idempotency.Attempt(
            key_id=request.state.caller.id,
            route=f"{request.method} {path}",
            idempotency_key=key,
            fingerprint=mac("idempotency", request.method.encode(), path.encode(), fingerprint),
        )


def dump_response(response: Response) -> idempotency.StoredResponse:
    """Dump an answer for the store; the length follows from the body."""
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return idempotency.StoredResponse(response.status_code, headers, bytes(response.body))


def replay(stored: idempotency.StoredResponse) -> Response:
    """Answer a repeated request with what is stored of the first."""
    return Response(stored.body, stored.status, {**stored.headers, REPLAYED: "true"})


def respond(answered: Answer) -> Response:
    """Answer the request of a batch that was stored together with others."""
    if answered.repeated:
        return replay(answered.response)
    return Response(answered.response.body, answered.response.status, answered.response.headers)


_Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Makes a retry safe: the same key and the same request answer the same; "
        "printable ASCII, up to 255 characters.",
    ),
]


@may_answer(409, 422, 507)
async def _read_once(request: Request, idempotency_key: _Key = None) -> Once:
    if idempotency_key is not None and not _USABLE.fullmatch(idempotency_key):
        fix = "send 1 to 255 printable ASCII characters without blanks, a UUID for instance"
        raise InvalidData.field("header.Idempotency-Key", "is not usable", fix)
    return Once(request, idempotency_key)


@may_answer(400, 409, 422, 507, without="Idempotency-Key")
async def require_once(request: Request, idempotency_key: _Key = None) -> Once:
    """Read the Idempotency-Key of a request that must have one: the dependency behind `RequiredOnce`."""
    if idempotency_key is None:
        raise MissingIdempotencyKey(
            "this write needs an Idempotency-Key, so that a retry cannot do it twice: send a UUID, "
            "and the same one again when you retry"
        )
    return await _read_once(request, idempotency_key)


OptionalOnce = Annotated[Once, Depends(_read_once)]
RequiredOnce = Annotated[Once, Depends(require_once)]
