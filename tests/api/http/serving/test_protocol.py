"""Connections that say nothing: they go in time, and make room for those that ask."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import time

import pytest
import uvicorn

from service.api.http.serving import protocol as http
from service.api.http.serving.protocol import LimitedProtocol, raise_file_limit


@pytest.fixture(autouse=True)
def alive(monkeypatch):
    """`LimitedProtocol.alive`: the connections that are open."""
    made, lost = LimitedProtocol.connection_made, LimitedProtocol.connection_lost

    def connection_made(self, transport):
        LimitedProtocol.alive.add(self)
        made(self, transport)

    def connection_lost(self, exc):
        LimitedProtocol.alive.discard(self)
        lost(self, exc)

    monkeypatch.setattr(LimitedProtocol, "alive", set(), raising=False)
    monkeypatch.setattr(LimitedProtocol, "connection_made", connection_made)
    monkeypatch.setattr(LimitedProtocol, "connection_lost", connection_lost)


async def _hello(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def served(app=_hello):
    """The address of a server of one answer."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=LimitedProtocol, log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve([listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        await task


async def asked(
    address, pause=0.0, halves=(b"GET / HTTP/1.1\r\nHost: x\r\n", b"Connection: close\r\n\r\n"), read=-1
):
    reader, writer = await asyncio.open_connection(*address)
    for half in halves:
        writer.write(half)
        await writer.drain()
        await asyncio.sleep(pause)
    try:
        return await asyncio.wait_for(reader.read(read), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    "said", [(b"",), (b"GET / HT",), (b"\r\n",), (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n", b"GET /")]
)
def test_a_connection_without_a_whole_head_is_closed_in_time(monkeypatch, said):
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.3)

    async def check():
        async with served() as address:
            start = time.monotonic()
            await asked(address, 0.05, said)  # reads until the server closes
            assert time.monotonic() - start < 3

    asyncio.run(check())


@pytest.mark.parametrize("together", [False, True])
def test_a_body_that_comes_after_its_answer_is_no_head_of_the_next_request(together):
    """The refusal of such a head would be read as the answer to that request."""
    size, last = 400_000, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
    body = [b"x" * (size // 4)] * 4
    if together:
        body, last = body[:3], body[3] + last

    async def check():
        async with served() as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(head)
            first = await reader.readuntil(b"ok")  # before a byte of the body
            for part in (*body, last):
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.05)
            second = await asyncio.wait_for(reader.read(), 5)
            assert (first[:12], second[:12]) == (b"HTTP/1.1 200",) * 2, second
            assert second.count(b"HTTP/1.1") == 1
            writer.close()

    asyncio.run(check())


def test_a_slow_head_in_time_and_a_slow_answer_are_served():
    async def check():
        async with served() as address:
            assert (await asked(address, 0.2)).endswith(b"ok")

    asyncio.run(check())


def test_idle_connections_make_room_for_those_that_ask(monkeypatch):
    monkeypatch.setattr(LimitedProtocol, "most", 20)

    async def check():
        async with served() as address:
            idle = [await asyncio.open_connection(*address) for _ in range(60)]
            for _ in range(5):
                assert (await asked(address)).endswith(b"ok")
            await asyncio.sleep(0.1)
            closed = sum(reader.at_eof() or reader.exception() is not None for reader, _ in idle)
            assert closed >= 40
            for _, writer in idle:
                writer.close()

    asyncio.run(check())


GET = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nGET /no HTTP/1.1\r\n\r\n"
CHUNKED = b"POST /%d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n\n\r\n\r\n0\r\n\r\n"


def recording(paths, until=None):
    """An application that says which path was asked for; the first answer waits `until` then."""

    async def answer(scope, receive, send):
        paths.append(scope["path"])
        if until is not None and len(paths) == 1:
            await until.wait()
        more = True
        while more:
            more = (await receive()).get("more_body", False)
        body = scope["path"].encode() + b";"
        length = str(len(body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": body})

    return answer


async def read_answers(reader, n):
    return [(await asyncio.wait_for(reader.readuntil(b";"), 5)).rpartition(b"\n")[2] for _ in range(n)]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_requests_sent_ahead_are_answered_one_by_one_however_their_bytes_are_cut(size):
    whole = b"".join(
        (b"\r\n" * (number % 3)) + (GET, POST, CHUNKED)[number % 3] % number for number in range(30)
    )

    async def check():
        async with served(recording([])) as address:
            reader, writer = await asyncio.open_connection(*address)
            for start in range(0, len(whole), size):
                writer.write(whole[start : start + size])
                await asyncio.sleep(0)
            assert await read_answers(reader, 30) == [b"/%d;" % number for number in range(30)]
            writer.close()

    asyncio.run(check())


def test_of_what_is_sent_ahead_one_request_is_parsed_and_few_bytes_are_kept():
    paths = []

    async def check():
        until = asyncio.Event()
        async with served(recording(paths, until)) as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"".join(GET % number for number in range(5000)))
            while not paths:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            (connection,) = LimitedProtocol.alive
            assert len(connection.pipeline) == 0
            assert len(connection._waiting) <= http.MOST_AHEAD
            until.set()
            answered = b""
            async with asyncio.timeout(5):
                with contextlib.suppress(ConnectionError):  # it is closed with bytes that nobody read
                    while piece := await reader.read(65536):
                        answered += piece
            assert answered.count(b"HTTP/1.1 200") <= len(paths) == 1
            assert b"connection: close" in answered or not answered
            writer.close()

    asyncio.run(check())


def test_who_sends_ahead_waits_for_those_who_do_not():
    paths = []

    async def check():
        async with served(recording(paths)) as address:
            ahead = [await asyncio.open_connection(*address) for _ in range(40)]
            for _, writer in ahead:
                writer.write(b"".join(GET % number for number in range(1, 300)))
            while not paths:
                await asyncio.sleep(0)
            for _ in range(3):
                before = len(paths)
                assert (await asked(address, halves=(GET % 0, b""), read=4)).startswith(b"HTTP")
                assert len(paths) - before < 40 + 50 * http.TURNS
            assert len(paths) < 40 * 299
            for _, writer in ahead:
                writer.close()

    asyncio.run(check())


def test_who_does_not_read_an_answer_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(http, "UNREAD_SECONDS", 0.2)

    async def long(_scope, _receive, send):
        size = str(50_000_000).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", size)]})
        for _ in range(50):
            await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def check():
        async with served(long) as address:
            _reader, writer = await asyncio.open_connection(*address, limit=1)
            writer.write(GET % 0)
            while not LimitedProtocol.alive:
                await asyncio.sleep(0.01)
            async with asyncio.timeout(5):
                while LimitedProtocol.alive:
                    await asyncio.sleep(0.05)
            writer.close()

    asyncio.run(check())


def test_who_reads_slowly_gets_all_of_an_answer(monkeypatch):
    monkeypatch.setattr(http, "UNREAD_SECONDS", 0.5)
    body = b"x" * 3_000_000

    async def long(_scope, _receive, send):
        size = str(len(body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", size)]})
        await send({"type": "http.response.body", "body": body})

    async def check():
        async with served(long) as address:
            reader, writer = await asyncio.open_connection(*address, limit=1)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = 0
            while piece := await reader.read(100_000):
                got += len(piece)
                await asyncio.sleep(0.02)
            assert got > len(body)
            writer.close()

    asyncio.run(check())


def test_as_many_files_as_the_system_allows():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        room = raise_file_limit()
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert soft >= min(before[1], room)
        assert 16 <= room <= http.MOST_CONNECTIONS
        assert soft == resource.RLIM_INFINITY or room <= soft
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


async def _echo(_scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize("pause", [0.0, 0.05])
@pytest.mark.parametrize(
    ("length", "body"),
    [(b"Content-Length: 5\r\n", b"hello"), (b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n0\r\n\r\n")],
)
def test_a_client_that_would_rather_speak_http_2_keeps_its_body(pause, length, body):
    """Java's own client asks for h2c with its first request; the parser then took the body for another protocol."""
    head = b"POST /x HTTP/1.1\r\nHost: x\r\n" + length + UPGRADE + b"\r\n"
    last = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmore"

    async def check():
        async with served(_echo) as address:
            first, second = head[:70], head[70:]  # in the middle of a header
            answer = await asked(address, pause, (first, second + body[:2], body[2:], last))
            assert answer.count(b"HTTP/1.1 200") == 2, answer
            assert b"\r\n\r\nhello" in answer
            assert answer.endswith(b"more")

    asyncio.run(check())
