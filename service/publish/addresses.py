"""Which addresses the service may call: public ones, and private ones that the operator lists."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


_EMBEDDING: tuple[tuple[ipaddress.IPv6Network, int, int], ...] = (
    (ipaddress.IPv6Network("::ffff:0:0/96"), 12, 0),  # IPv4-mapped, RFC 4291
    (ipaddress.IPv6Network("64:ff9b::/96"), 12, 0),  # NAT64, RFC 6052
    (ipaddress.IPv6Network("2002::/16"), 2, 0),  # 6to4, RFC 3056
    (
        ipaddress.IPv6Network("2001::/32"),
        12,
        0xFF,
    ),  # Teredo, RFC 4380: the client's, with every bit turned over
)
"""IPv4 addresses inside of IPv6: at which byte they begin, and what their bytes are XORed with."""
_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All that IANA gives out of IPv6 as global unicast: neither site-local addresses (fec0::/10) nor what has no use."""
_SPECIAL = _networks(
    # https://www.iana.org/assignments/iana-ipv4-special-registry, and the multicast block
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
    # https://www.iana.org/assignments/iana-ipv6-special-registry, as far as it is of global unicast
    "2001::/23", "2001:db8::/32", "3fff::/20",
)  # fmt: skip
_REACHABLE = _networks(
    "192.0.0.9/32", "192.0.0.10/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:3::/32",
    "2001:4:112::/48", "2001:20::/28", "2001:30::/28",
)  # fmt: skip
"""Blocks inside of special ones that the registries call globally reachable."""


class UnusableEntry(ValueError):
    """What is neither a host, an address nor a network; one sentence."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """One entry of the operator's list: `tracker.internal`, `10.0.0.5:8080`, `10.1.0.0/16`, `[fd00::1]:443`."""

    host: str | None
    network: Network | None
    port: int | None

    def covers(self, host: str, address: Address, port: int) -> bool:
        """Tell whether this entry allows the address, which the host resolved to."""
        if self.port not in {None, port}:
            return False
        return host == self.host if self.network is None else address in self.network


def read_allowed(text: str) -> tuple[Allowed, ...]:
    """Read entries separated by commas or spaces.

    Raises:
        UnusableEntry: naming the entry.

    Example:
        >>> read_allowed("localhost:80")
        (Allowed(host='localhost', network=None, port=80),)
    """
    return tuple(_parse_entry(entry.lower()) for entry in re.split(r"[,\s]+", text) if entry)


def _parse_entry(text: str) -> Allowed:
    """Parse an entry of the operator's list: a host, an address or a network, with a port or without."""
    bare, port = text, None
    match = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]+):([0-9]{1,5})", text)
    if match:
        bare, port = match[1], int(match[2])
    try:
        return Allowed(None, ipaddress.ip_network(bare.strip("[]")), port)
    except ValueError:
        if not _HOST.fullmatch(bare) or (port or 0) > 65535:
            raise UnusableEntry(
                f"{text!r} is neither a host, an address nor a network, each with or without a port"
            ) from None
    return Allowed(bare, None, port)


def is_public(address: Address) -> bool:
    """Tell whether an address belongs to the public internet, also where it stands inside of another one.

    Told by IANA's registries as they stand in this module: what `ipaddress` knows of them differs by version of Python.
    """
    if isinstance(address, ipaddress.IPv6Address):
        for network, start, mask in _EMBEDDING:
            if address in network:
                inner = bytes(byte ^ mask for byte in address.packed[start : start + 4])
                return is_public(ipaddress.IPv4Address(inner))
        if address not in _UNICAST:
            return False
    return any(address in block for block in _REACHABLE) or not any(address in block for block in _SPECIAL)


def require_allowed(
    host: str, addresses: Sequence[Address], port: int, allowed: Sequence[Allowed]
) -> list[Address]:
    """Return the addresses, if every one of them may be called: a name that mixes public and private ones is a trap.

    Raises:
        UnusableEntry: naming the host, and what the operator can do.
    """
    for address in addresses:
        if not is_public(address) and not any(entry.covers(host, address, port) for entry in allowed):
            raise UnusableEntry(
                f"{host} is at {address}, which is not a public address: list it in FORELOCK_OUTGOING_ALLOW if it "
                "may be called"
            )
    return list(addresses)
