"""Connections that say nothing: they go in time, and make room for those that ask."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import time

import pytest
import uvicorn

from service.api.http import protocol as http
from service.api.http.protocol import LimitedProtocol, raise_file_limit


async def _hello(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def served():
    """The address of a server of one answer."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(_hello, http=LimitedProtocol, log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve([listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        await task


async def asked(address, pause=0.0, halves=(b"GET / HTTP/1.1\r\nHost: x\r\n", b"Connection: close\r\n\r\n")):
    reader, writer = await asyncio.open_connection(*address)
    for half in halves:
        writer.write(half)
        await writer.drain()
        await asyncio.sleep(pause)
    try:
        return await asyncio.wait_for(reader.read(), 5)
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
