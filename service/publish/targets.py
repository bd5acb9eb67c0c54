"""Web addresses that people give: what is taken, said before anything is called."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from service.publish.addresses import Allowed, is_public

MAX_URL = 2000


class UnusableAddress(ValueError):
    """What is no address to call or to link to; the fault, and what to write instead."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


def require_target(url: str, allowed: Sequence[Allowed]) -> str:
    """Return an address that the service may be asked to call: https, or what the operator lists by name or address.

    Where a name leads is found out when it is called, every time.

    Raises:
        UnusableAddress: it is none.
    """
    parts, port = _parts(url)
    host = parts.hostname or ""
    if parts.fragment:
        raise UnusableAddress("has a fragment", "leave out what follows #")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        listed = any(entry.host == host and entry.port in {None, port} for entry in allowed)
    else:
        listed = any(entry.covers(host, address, port) for entry in allowed)
        if not listed and not is_public(address):
            raise UnusableAddress(
                "is not a public address", "the operator lists private ones in FORELOCK_OUTGOING_ALLOW"
            )
    if parts.scheme != "https" and not listed:
        raise UnusableAddress(
            "does not begin with https://",
            "use https; plain http is for hosts that the operator lists in FORELOCK_OUTGOING_ALLOW",
        )
    return url


def require_link(url: str) -> str:
    """Return an address that a page may link to: https and a host.

    Raises:
        UnusableAddress: it is none.
    """
    parts, _port = _parts(url)
    if parts.scheme != "https":
        raise UnusableAddress("does not begin with https://", "link to the page over https")
    return url


def _parts(url: str) -> tuple[SplitResult, int]:
    """Return an address of printable ASCII with a host and without a user."""
    fix = "write it as https://HOST/PATH"
    if len(url) > MAX_URL:
        raise UnusableAddress(f"is longer than {MAX_URL} characters", fix)
    if not url.isascii() or not url.isprintable() or any(letter in url for letter in ' <>"\\^`{|}'):
        raise UnusableAddress("holds characters that no web address has", "escape them with %")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UnusableAddress("is no web address", fix) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnusableAddress("is no web address", fix)
    if "@" in parts.netloc:
        raise UnusableAddress("holds a user or a password", "leave them out: an address is shown to others")
    return parts, port or (443 if parts.scheme == "https" else 80)
