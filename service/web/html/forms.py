"""What a form sends: read within limits, as fields or with files, and never from another site."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qs

from anyio import to_thread
from fastapi import Request

from service.api.http.requests.body import read_content
from service.api.parsing.multipart import MEDIA_TYPE, MOST_PARTS, Form, NotMultipart, read_multipart
from service.errors import Forbidden, InvalidData
from service.words import message

FORM = "application/x-www-form-urlencoded"
SMALL, LARGE = 4096, 4 * 1024 * 1024
_LEFT = message("refusals.not_of_the_form")


def reads_form(most: int = SMALL) -> Callable[[Request], Coroutine[Any, Any, Form]]:
    """Dependency: the form in the body, of at most so many bytes."""

    async def read(request: Request) -> Form:
        refuse_other_sites(request)
        content = await read_content(request, (FORM, MEDIA_TYPE), most)
        return await to_thread.run_sync(_parse, content.body, request.headers["content-type"])

    return read


def _parse(body: bytes, content_type: str) -> Form:
    """Parse a form's body, as fields of an address or as parts with files."""
    if not content_type.lower().startswith(MEDIA_TYPE):
        try:
            fields = parse_qs(
                body.decode("utf-8", "replace"), max_num_fields=MOST_PARTS, keep_blank_values=True
            )
        except ValueError:
            raise InvalidData(_LEFT) from None
        return Form(fields)
    try:
        return read_multipart(body, content_type)
    except NotMultipart:
        raise InvalidData(_LEFT) from None


def refuse_other_sites(request: Request) -> None:
    """Refuse a form that another site submits in the visitor's name.

    What `Sec-Fetch-Site` says has the last word, also beside another `Origin`: the browser alone writes it, over all
    redirects, and no page can. An origin says less: it is `null` of our own pages, which send no referrer, and behind
    a proxy that names the host otherwise it is never ours.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is not None:  # `null` is one too: of a frame that keeps to itself who sends it
        host = request.headers.get("host")
        site = "same-origin" if origin in (f"http://{host}", f"https://{host}") else "cross-site"
    if site not in (None, "same-origin", "none"):
        raise Forbidden(message("refusals.form_of_another_site"))
