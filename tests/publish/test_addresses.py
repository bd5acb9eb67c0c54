"""Which addresses are public: told by IANA's registries, on every Python alike."""

from __future__ import annotations

import csv
import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.publish.addresses import Network, is_public

PLACE = Path(__file__).parent / "registries"
BY_WHAT_IS_INSIDE = {"::ffff:0:0/96", "64:ff9b::/96", "2001::/32", "2002::/16"}
"""Blocks whose addresses hold one of IPv4, which decides."""


def registry() -> Iterator[tuple[Network, bool]]:
    """Every block of both registries, and whether it is globally reachable: a block that has ended is not."""
    for path in sorted(PLACE.glob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                for block in row["Address Block"].split(","):
                    network = ipaddress.ip_network(re.sub(r"\[\d+\]", "", block).strip())
                    yield network, row["Globally Reachable"] == "True"


BLOCKS = dict(registry())


def reachable(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """What the registries say, of the smallest block that holds the address; outside of all of them it is."""
    holding = [each for each in BLOCKS if address.version == each.version and address in each]
    return BLOCKS[max(holding, key=lambda each: each.prefixlen)] if holding else True


@pytest.mark.parametrize("block", [each for each in BLOCKS if str(each) not in BY_WHAT_IS_INSIDE], ids=str)
def test_a_block_of_the_registries_is_as_reachable_as_they_say(block: Network) -> None:
    for address in (block[0], block[-1], block[block.num_addresses // 2]):
        assert is_public(address) == reachable(address), address


@pytest.mark.parametrize("block", [each for each in BLOCKS if str(each) not in BY_WHAT_IS_INSIDE], ids=str)
def test_what_stands_beside_a_block_is_told_by_its_own(block: Network) -> None:
    global_unicast = ipaddress.ip_network("2000::/3")
    multicast = ipaddress.ip_network("224.0.0.0/4")
    kind = type(block[0])
    for number in (int(block[0]) - 1, int(block[-1]) + 1):
        if not 0 < number < 2**block.max_prefixlen:
            continue
        address = kind(number)
        inside = address in global_unicast if address.version == 6 else address not in multicast
        if not any(address in ipaddress.ip_network(each) for each in BY_WHAT_IS_INSIDE):
            assert is_public(address) == (inside and reachable(address)), address


@pytest.mark.parametrize(
    "address",
    [
        "192.0.0.192", "fec0::1", "3fff::1", "5f00::1", "100:0:0:1::1", "4000::1", "::7f00:1", "ff0e::1",
        "192.88.99.1",
    ],
)  # fmt: skip
def test_addresses_that_some_versions_of_python_call_global(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("inner", "public"), [("10.0.0.1", False), ("192.0.0.192", False), ("8.8.8.8", True)]
)
def test_an_address_inside_of_another_decides(inner: str, public: bool) -> None:
    number = int(ipaddress.IPv4Address(inner))
    outer = [
        int(ipaddress.IPv6Address("::ffff:0:0")) + number,
        int(ipaddress.IPv6Address("64:ff9b::")) + number,
        int(ipaddress.IPv6Address("2002::")) + (number << 80),
        int(ipaddress.IPv6Address("2001::")) + (number ^ 0xFFFFFFFF),
    ]
    assert [is_public(ipaddress.IPv6Address(each)) for each in outer] == [public] * 4
