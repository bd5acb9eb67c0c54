"""Which addresses the service may call: public ones, and private ones that the operator lists."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv4 addresses inside of IPv6 (NAT64, RFC 6052): the last four bytes."""


class UnusableEntry(ValueError):
    """What is neither a host, an address nor a network; one sentence."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """One entry of the operator's list: `tracker.internal`, `10.0.0.5:8080`, `10.1.0.0/16`, `[fd00::1]:443`."""

    host: str | None
    network: Network | None
    port: int | None

    def covers(self, host: str, address: Address, port: int) -> bool:
        """Whether this entry allows the address, which the host resolved to."""
        if self.port not in {None, port}:
            return False
        return host == self.host if self.network is None else address in self.network


def read_allowed(text: str) -> tuple[Allowed, ...]:
    """Entries separated by commas or spaces.

    Raises:
        UnusableEntry: naming the entry.

    Example:
        >>> read_allowed("localhost:80")
        (Allowed(host='localhost', network=None, port=80),)
    """
    return tuple(_entry(each.lower()) for each in re.split(r"[,\s]+", text) if each)


def _entry(text: str) -> Allowed:
    bare, port = text, None
    found = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]+):([0-9]{1,5})", text)
    if found:
        bare, port = found[1], int(found[2])
    try:
        return Allowed(None, ipaddress.ip_network(bare.strip("[]")), port)
    except ValueError:
        if not _HOST.fullmatch(bare) or (port or 0) > 65535:
            raise UnusableEntry(
                f"{text!r} is neither a host, an address nor a network, each with or without a port"
            ) from None
    return Allowed(bare, None, port)


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, also where it stands inside of another one."""
    inner: Address | None = None
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo
        inner = address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
        if address in _TRANSLATED:
            inner = ipaddress.IPv4Address(address.packed[-4:])
    if inner is not None:
        return is_public(inner)
    special = address.is_multicast or address.is_unspecified or address.is_reserved or address.is_loopback
    return address.is_global and not special


def require_allowed(
    host: str, addresses: Sequence[Address], port: int, allowed: Sequence[Allowed]
) -> list[Address]:
    """The addresses, if every one of them may be called: a name that mixes public and private ones is a trap.

    Raises:
        UnusableEntry: naming the host, and what the operator can do.
    """
    for address in addresses:
        if not is_public(address) and not any(each.covers(host, address, port) for each in allowed):
            raise UnusableEntry(
                f"{host} is at {address}, which is not a public address: list it in FORELOCK_OUTGOING_ALLOW if it "
                "may be called"
            )
    return list(addresses)
