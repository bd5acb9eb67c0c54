"""Requests to a tracker: over https, bounded, without redirects, with keys from the environment that nothing prints."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from forelock import incoming
from forelock.bounded_requests import TIMEOUT, Fetcher
from forelock.counting import count_values
from forelock.problem import FileFault

MOST_PAGES = 20_000
_LINE = re.compile(rb"\S[^\r\n]*")
"""A line that is not blank, from its first character that is seen: one at a time, since millions may be empty."""


class Asking:
    """Requests to one server, and its refusals in a sentence."""

    def __init__(
        self,
        address: str,
        variables: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`variables` are those that a refusal asks for."""
        self._address, self._variables = _safe(address), variables
        if not all(_is_plain(value) for value in (*(headers or {}).values(), *(auth or ()))):
            raise FileFault(f"{variables} in the environment holds characters that no key has; copy it again")
        self._client = httpx.Client(
            timeout=TIMEOUT,
            transport=transport,
            follow_redirects=False,
            trust_env=transport is None,
            headers={"Accept-Encoding": incoming.ENCODINGS, **(headers or {})},
            auth=auth,
        )
        self._fetcher = Fetcher(self._client, self._address, "the experiment")

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def document(self, method: str, path: str, **arguments: Any) -> Any:
        """Return the JSON that it answers."""
        return incoming.read_document(self._content(method, path, **arguments))

    def object(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Return the object that it answers."""
        document = self.document(method, path, **arguments)
        if not isinstance(document, dict):
            raise FileFault(f"{self._address}: {path} is not answered as the tracker documents it")
        return document

    def lines(self, method: str, path: str, **arguments: Any) -> list[dict[str, Any]]:
        """Return the objects that it answers, one a line."""
        content, lines = self._content(method, path, **arguments), []
        undocumented = FileFault(f"{self._address}: {path} is not answered as the tracker documents it")
        if count_values(content, incoming.MAX_VALUES) > incoming.MAX_VALUES:  # in all of them together
            raise undocumented
        for match in _LINE.finditer(content):
            line = incoming.read_document(match[0])
            if not isinstance(line, dict):
                raise undocumented
            lines.append(line)
        return lines

    def _content(self, method: str, path: str, **arguments: Any) -> bytes:
        """Ask the tracker, and return the body; FileFault for every answer but 200."""
        answer = self._fetcher.fetch(method, path, **arguments)
        if answer.status_code in (401, 403):
            raise FileFault(
                f"{self._address} refuses the request ({answer.status_code}): set {self._variables}"
            )
        if 300 <= answer.status_code < 400:
            raise FileFault(
                f"{self._address} answers from elsewhere, which is not followed: name that address"
            )
        if answer.status_code == 404:
            raise FileFault(f"{self._address} knows no such experiment")
        if answer.status_code != 200:
            raise FileFault(f"{self._address} answers {answer.status_code}")
        return answer.content


def pages() -> Iterator[int]:
    """Numbers of pages from 1; an experiment that never ends is refused."""
    yield from range(1, MOST_PAGES + 1)
    raise FileFault(f"the experiment has more than {MOST_PAGES:,} pages")


def require_variables(environment: Mapping[str, str], *names: str) -> list[str]:
    """Values of variables, all of which have to be set.

    Raises:
        FileFault: one is not; it names the variable.
    """
    missing = [name for name in names if not environment.get(name)]
    if missing:
        raise FileFault(f"set {' and '.join(missing)} in the environment")
    return [environment[name] for name in names]


def member(document: Mapping[str, Any], name: str) -> str:
    """Return a text of an answer that the next request is made of."""
    value = document.get(name)
    if not isinstance(value, str) or not value or not is_text(value):
        raise FileFault(f"the tracker's answer has no `{name}`")
    return value


def is_text(value: str) -> bool:
    """False where it holds half of a pair of surrogates, which JSON can write and no address or file can."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_json(document: Any) -> str:
    """Return a document as its file has it: in ASCII, since the tracker may have sent halves of surrogate pairs."""
    return json.dumps(document)


def _is_plain(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _safe(address: str) -> str:
    """Return an address over https, or one of this machine: a key is sent with every request.

    Raises:
        FileFault: it is another.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_here)):
        raise FileFault("the tracker's address has to begin with https:// (http:// on this machine alone)")
    if parts.username or parts.password:
        raise FileFault("leave the key out of the address: it is read from the environment")
    return address.rstrip("/")
