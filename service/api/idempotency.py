"""`Idempotency-Key`: a write that is repeated answers as it did the first time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Header, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.api.body import Content
from service.api.problems import may_answer
from service.api.services import services
from service.errors import InvalidData, MissingIdempotencyKey
from service.store import clock, idempotency

MAX_KEY = 255
REPLAYED = "Idempotency-Replayed"


class Once:
    """Does a request's work once per (API key, route, Idempotency-Key)."""

    def __init__(self, request: Request, key: str | None) -> None:
        self._request = request
        self._key = key

    def run(
        self,
        session: Session,
        work: Callable[[], Response],
        *,
        fingerprint: bytes | None = None,
        keep: Callable[[Response], Response] | None = None,
    ) -> Response:
        """The answer of `work`, or the stored one when this very request was answered before.

        Args:
            session: the transaction of the work itself: both are kept, or neither.
            work: does the write and answers 2xx; an error is raised, and never stored.
            fingerprint: what must be the same in a repeated request; by default method, path and
                body. It is stored as an HMAC only, and must hold nothing that may not be guessed at.
            keep: what to store instead of an answer that holds a secret.
        """
        if self._key is None:
            return work()
        request, shared = self._request, services(self._request)
        if fingerprint is None:
            content: Content | None = getattr(request.state, "content", None)
            fingerprint = b"" if content is None else content.body
        path = request.scope["path"].encode()
        identity = {
            "key_id": request.state.caller.id,
            "route": f"{request.method} {request.scope['path']}",
            "idempotency_key": self._key,
        }
        digest = shared.keyring.fingerprint("idempotency", request.method.encode(), path, fingerprint)
        stored = idempotency.find_or_begin(session, **identity, fingerprint=digest, now=clock.now(session))
        if stored is not None:
            return _replay(stored)
        response = work()
        kept = keep(response) if keep else response
        idempotency.finish(
            session,
            **identity,
            status=kept.status_code,
            headers={name: value for name, value in kept.headers.items() if name != "content-length"},
            body=bytes(kept.body),
        )
        return response


def _replay(stored: idempotency.StoredResponse) -> Response:
    return Response(stored.body, stored.status, {**stored.headers, REPLAYED: "true"})


_Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Makes a retry safe: the same key and the same request answer the same; "
        "printable ASCII, up to 255 characters.",
    ),
]


@may_answer(409, 422)
async def _once(request: Request, idempotency_key: _Key = None) -> Once:
    if idempotency_key is not None and not (
        0 < len(idempotency_key) <= MAX_KEY and all(" " < c <= "~" for c in idempotency_key)
    ):
        fix = "send 1 to 255 printable ASCII characters without blanks, a UUID for instance"
        raise InvalidData.field("header.Idempotency-Key", "is not usable", fix)
    return Once(request, idempotency_key)


@may_answer(400, 409, 422, without="Idempotency-Key")
async def _required_once(request: Request, idempotency_key: _Key = None) -> Once:
    if idempotency_key is None:
        raise MissingIdempotencyKey(
            "this write needs an Idempotency-Key, so that a retry cannot do it twice: send a UUID, "
            "and the same one again when you retry"
        )
    return await _once(request, idempotency_key)


OptionalOnce = Annotated[Once, Depends(_once)]
RequiredOnce = Annotated[Once, Depends(_required_once)]
