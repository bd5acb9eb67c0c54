"""What a form sends: read within limits, as fields or with files, and never from another site."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from anyio import to_thread
from fastapi import Request

from service.api.http.requests.body import read_content
from service.errors import Forbidden, InvalidData

FORM, WITH_FILES = "application/x-www-form-urlencoded", "multipart/form-data"
SMALL, LARGE = 4096, 4 * 1024 * 1024
MOST_FIELDS = 60
MOST_HEAD = 4096
"""Bytes that say what a part of a form is."""
_LEFT = "this is not what the form of the page sends; open the page and send it again"
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
_DISPOSITION = re.compile(
    r'^content-disposition:[ \t]*form-data;[ \t]*name="([^"\r\n]*)"(?:;[ \t]*filename\*?=([^\r\n]*))?$',
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that a form sends, and what the browser calls it."""

    name: str
    content: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """As UTF-8; what is none is replaced."""
        return self.content.decode("utf-8-sig", "replace")


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form by name, and its files."""

    fields: Mapping[str, list[str]]
    files: Mapping[str, list[Sent]] = field(default_factory=dict)

    def one(self, name: str, default: str = "") -> str:
        """The first value of a field, without space around it."""
        return self.fields.get(name, [default])[0].strip()

    def every(self, name: str) -> list[str]:
        """All values of a field: of boxes that are ticked."""
        return self.fields.get(name, [])

    def text(self, name: str) -> str:
        """What was uploaded under a name, else what was written under it."""
        sent = self.files.get(name)
        return (sent[-1].text if sent else "") or self.fields.get(name, [""])[0]

    def sent(self, name: str) -> list[Sent]:
        """The files of a field; browsers send one without name and content where none was chosen."""
        return [file for file in self.files.get(name, []) if file.name or file.content]


def reads_form(most: int = SMALL) -> Callable[[Request], Coroutine[Any, Any, Form]]:
    """Dependency: the form in the body, of at most so many bytes."""

    async def read(request: Request) -> Form:
        refuse_other_sites(request)
        content = await read_content(request, (FORM, WITH_FILES), most)
        return await to_thread.run_sync(_parsed, content.body, request.headers["content-type"])

    return read


def _parsed(body: bytes, content_type: str) -> Form:
    if not content_type.lower().startswith(WITH_FILES):
        try:
            fields = parse_qs(
                body.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS, keep_blank_values=True
            )
        except ValueError:
            raise InvalidData(_LEFT) from None
        return Form(fields)
    return _with_files(body, content_type)


def _with_files(body: bytes, content_type: str) -> Form:
    """The parts of a `multipart/form-data` (RFC 7578), in one pass and as browsers write them.

    The library's parser of mail reads nested messages and comments, at a cost that grows faster than the body.
    """
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise InvalidData(_LEFT)
    line = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1", "replace")
    _before, *parts = (b"\r\n" + body).split(line, MOST_FIELDS + 2)
    if not parts or not parts.pop().startswith(b"--") or len(parts) > MOST_FIELDS:
        raise InvalidData(_LEFT)
    fields: dict[str, list[str]] = {}
    files: dict[str, list[Sent]] = {}
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        lines = head[:MOST_HEAD].decode("utf-8", "replace").replace("\r\n", "\n")
        said = _DISPOSITION.search(lines)
        if said is None or len(head) > MOST_HEAD:
            raise InvalidData(_LEFT)
        if said[2] is None:
            fields.setdefault(said[1], []).append(content.decode("utf-8-sig", "replace"))
        else:
            files.setdefault(said[1], []).append(Sent(said[2].strip('"'), content))
    return Form(fields, files)


def refuse_other_sites(request: Request) -> None:
    """Refuse a form that another site submits in the visitor's name."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is not None:  # `null` is one too: of a frame that keeps to itself who sends it
        host = request.headers.get("host")
        site = "same-origin" if origin in (f"http://{host}", f"https://{host}") else "cross-site"
    if site not in (None, "same-origin", "none"):
        raise Forbidden("this form was sent from another site; open it here and send it again")
