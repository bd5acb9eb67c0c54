"""The one client for what leaves: where it may go, what it reads, and what it never follows."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from service.publish.addresses import Allowed, UnusableEntry, is_public, read_allowed
from service.publish.faults import Forbidden, Unanswered
from service.publish.http import Outgoing, require_url
from tests.authority import certificate
from tests.loopback import Loopback, serving


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving() as server:
        yield server


def answering(*, allowed: str = "127.0.0.1", **more) -> Outgoing:
    return Outgoing(allowed=read_allowed(allowed), **more)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
        "224.0.0.1", "255.255.255.255", "240.0.0.1", "::1", "::", "fe80::1", "fd00::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1",
        "192.0.2.1", "198.18.0.1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07::1", "64:ff9b::808:808"])
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_the_operators_list() -> None:
    allowed = read_allowed("tracker.internal:8080, 10.1.0.0/16 [fd00::1]:443 LOCALHOST")
    assert allowed[0] == Allowed("tracker.internal", None, 8080)
    address = ipaddress.ip_address("10.1.2.3")
    assert [each.covers("tracker.internal", address, 8080) for each in allowed] == [True, True, False, False]
    assert [each.covers("tracker.internal", address, 80) for each in allowed] == [False, True, False, False]
    assert allowed[2].covers("x", ipaddress.ip_address("fd00::1"), 443)
    assert allowed[3].host == "localhost"


@pytest.mark.parametrize("entry", ["http://x", "10.0.0.0/99", "a b!c", "host:99999", "-x", "user@host"])
def test_an_entry_that_means_nothing(entry: str) -> None:
    with pytest.raises(UnusableEntry):
        read_allowed(entry)


def test_an_answer(loopback: Loopback) -> None:
    loopback.answer(200, b"yes", {"Content-Type": "Text/Plain; charset=utf-8"})
    got = answering().send("POST", loopback.url("/path?x=1"), content=b"body", limit=100)
    assert (got.status, got.media_type, got.body) == (200, "text/plain", b"yes")
    (request,) = loopback.requests
    assert (request.method, request.path, request.body) == ("POST", "/path?x=1", b"body")
    assert request.headers["host"] == f"127.0.0.1:{loopback.port}"
    assert "cookie" not in request.headers


def test_a_private_target_is_not_called(loopback: Loopback) -> None:
    for url in (
        loopback.url("/"),
        f"http://localhost:{loopback.port}/",
        f"http://2130706433:{loopback.port}/",
    ):
        with pytest.raises((Forbidden, Unanswered)) as caught:
            Outgoing().send("GET", url, limit=100)
        if "2130706433" not in url:
            assert "FORELOCK_OUTGOING_ALLOW" in str(caught.value)
    assert loopback.requests == []


def test_a_name_with_one_private_address_is_a_trap(loopback: Loopback) -> None:
    outgoing = Outgoing(resolve=lambda _host, _port: ["93.184.215.14", "127.0.0.1"])
    with pytest.raises(Forbidden, match=r"127\.0\.0\.1"):
        outgoing.send("GET", f"http://example.com:{loopback.port}/", limit=100)
    assert loopback.requests == []


def test_the_address_that_was_checked_is_the_one_called(loopback: Loopback) -> None:
    """A name is looked up once: what it turns into later is never seen."""
    looked_up = iter([["127.0.0.1"], ["127.0.0.2"]])
    outgoing = Outgoing(allowed=read_allowed("127.0.0.1"), resolve=lambda _host, _port: next(looked_up))
    loopback.answer(200, b"here")
    got = outgoing.send("GET", f"http://rebinding.example:{loopback.port}/", limit=100)
    assert got.body == b"here"
    assert loopback.requests[0].headers["host"] == f"rebinding.example:{loopback.port}"
    assert list(looked_up) == [["127.0.0.2"]]


def test_the_next_address_is_tried(loopback: Loopback) -> None:
    outgoing = Outgoing(
        allowed=read_allowed("127.0.0.0/8"), resolve=lambda _host, _port: ["127.9.9.9", "127.0.0.1"]
    )
    loopback.answer(200, b"here")
    assert outgoing.send("GET", f"http://two.example:{loopback.port}/", limit=100).body == b"here"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(loopback: Loopback, status: int) -> None:
    loopback.answer(status, b"", {"Location": loopback.url("/elsewhere")})
    with pytest.raises(Unanswered, match="points elsewhere"):
        answering().send("GET", loopback.url("/"), limit=100)
    assert len(loopback.requests) == 1


def test_an_answer_has_a_limit(loopback: Loopback) -> None:
    loopback.answer(200, bytes(101))
    with pytest.raises(Unanswered, match="more than 100 bytes"):
        answering().send("GET", loopback.url("/"), limit=100)
    loopback.answer(200, bytes(100))
    assert len(answering().send("GET", loopback.url("/"), limit=100).body) == 100


def test_an_encoding_is_not_unpacked(loopback: Loopback) -> None:
    loopback.answer(200, b"\x1f\x8b", {"Content-Encoding": "gzip"})
    with pytest.raises(Unanswered, match="encoding"):
        answering().send("GET", loopback.url("/"), limit=100)


def test_a_dripping_answer_meets_one_deadline(loopback: Loopback) -> None:
    """Every byte comes soon enough; all of them together do not."""
    loopback.drip()
    with pytest.raises(Unanswered, match="in time"):
        answering(total_seconds=0.3).send("GET", loopback.url("/"), limit=100)


def test_nobody_there_and_nobody_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    outgoing = Outgoing(allowed=read_allowed("127.0.0.1"))
    with pytest.raises(Unanswered, match="cannot be reached"):
        outgoing.send("GET", f"http://127.0.0.1:{port}/", limit=100)

    def unknown(_host: str, _port: int) -> list[str]:
        raise socket.gaierror("unknown")

    with pytest.raises(Unanswered, match="looked up"):
        Outgoing(resolve=unknown).send("GET", "http://nowhere.example/", limit=100)


@pytest.mark.parametrize(
    "url", ["ftp://x/", "http:///x", "x", "http://user:password@example.com/", "http://[::1/"]
)
def test_what_is_not_called(url: str) -> None:
    with pytest.raises(Forbidden):
        require_url(url)
    with pytest.raises(Forbidden):
        Outgoing().send("GET", url, limit=1)


def test_proxies_of_the_environment_are_ignored(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    loopback.answer(200, b"direct")
    assert answering().send("GET", loopback.url("/"), limit=100).body == b"direct"


def test_tls_speaks_of_the_name_and_not_of_the_address(tmp_path: Path) -> None:
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = certificate("Root", root_key, ca=True)
    leaf = certificate("Leaf", key, issuer=(root, root_key), host="witness.example")
    (tmp_path / "root.pem").write_bytes(root.public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "leaf.pem").write_bytes(leaf.public_bytes(Encoding.PEM) + secret)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "leaf.pem")
    outgoing = Outgoing(
        allowed=read_allowed("127.0.0.1"),
        resolve=lambda _host, _port: ["127.0.0.1"],
        context=ssl.create_default_context(cafile=str(tmp_path / "root.pem")),
    )
    with serving(server) as loopback:
        loopback.answer(200, b"known")
        got = outgoing.send("GET", f"https://witness.example:{loopback.port}/", limit=100)
        assert got.body == b"known"
        with pytest.raises(Unanswered, match="certificate verify failed"):
            outgoing.send("GET", f"https://other.example:{loopback.port}/", limit=100)
