"""Bodies of `multipart/form-data` (RFC 7578): fields and files, read in one pass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MEDIA_TYPE = "multipart/form-data"
MOST_PARTS = 60
"""Parts that one body may have."""
MOST_HEAD = 4096
"""Bytes of the head of a part."""
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
_DISPOSITION = re.compile(
    r'^content-disposition:[ \t]*form-data;[ \t]*name="([^"\r\n]*)"(?:;[ \t]*filename\*?=([^\r\n]*))?$',
    re.IGNORECASE | re.MULTILINE,
)


class NotMultipart(Exception):
    """The body is no such form, or one of more parts than are read."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that a form sends, and what its sender calls it."""

    name: str
    content: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The content as UTF-8; bytes that are not become U+FFFD."""
        return self.content.decode("utf-8-sig", "replace")


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form by name, and its files."""

    fields: Mapping[str, list[str]]
    files: Mapping[str, list[SentFile]] = field(default_factory=dict)

    def one(self, name: str, default: str = "") -> str:
        """Return the first value of a field, without blanks around it."""
        return self.fields.get(name, [default])[0].strip()

    def every(self, name: str) -> list[str]:
        """Return all values of a field, such as of boxes that are ticked."""
        return self.fields.get(name, [])

    def text(self, name: str) -> str:
        """Return what was uploaded under a name, else what was written under it."""
        sent = self.files.get(name)
        return (sent[-1].text if sent else "") or self.fields.get(name, [""])[0]

    def list_sent(self, name: str) -> list[SentFile]:
        """Return the files of a field, without the empty one that browsers send where none was chosen."""
        return [file for file in self.files.get(name, []) if file.name or file.content]


def read_multipart(body: bytes, content_type: str) -> Form:
    """Read the parts of a body in one pass, as browsers and curl write them.

    The library's parser of mail reads nested messages and comments, at a cost that grows faster than the body.

    Args:
        body: as it came.
        content_type: the whole header, which names the boundary.

    Raises:
        NotMultipart: a boundary, the end or the name of a part is absent, or there are more than `MOST_PARTS`.

    Example:
        >>> body = b'--b\\r\\nContent-Disposition: form-data; name="a"\\r\\n\\r\\n1\\r\\n--b--'
        >>> read_multipart(body, "multipart/form-data; boundary=b").fields
        {'a': ['1']}
    """
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise NotMultipart
    line = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1", "replace")
    _before, *parts = (b"\r\n" + body).split(line, MOST_PARTS + 2)
    if not parts or not parts.pop().startswith(b"--") or len(parts) > MOST_PARTS:
        raise NotMultipart
    fields: dict[str, list[str]] = {}
    files: dict[str, list[SentFile]] = {}
    for part in parts:
        head, _, content = part.partition(b"\r\n\r\n")
        lines = head[:MOST_HEAD].decode("utf-8", "replace").replace("\r\n", "\n")
        disposition = _DISPOSITION.search(lines)
        if disposition is None or len(head) > MOST_HEAD:
            raise NotMultipart
        if disposition[2] is None:
            fields.setdefault(disposition[1], []).append(content.decode("utf-8-sig", "replace"))
        else:
            files.setdefault(disposition[1], []).append(SentFile(disposition[2].strip('"'), content))
    return Form(fields, files)
