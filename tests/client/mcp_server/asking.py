"""The MCP server in this process, asked by the SDK's own client."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
from mcp import Client
from mcp_types import CallToolResult

import forelock
from forelock import cli
from forelock.commands.mcp import _check_bundle
from forelock.mcp_server.questions import Questions
from forelock.mcp_server.records import Records
from forelock.mcp_server.server import make_server


def make(client: Callable[[], forelock.Client], folder: Path, *, locks: bool = False) -> Any:
    """A server whose records are of what `client` makes."""

    @contextlib.contextmanager
    def opened() -> Iterator[forelock.Client]:
        with client() as one:
            yield one

    return make_server(Questions(cli.ask, folder), Records(opened), _check_bundle, locks=locks)


def server_over(test_client: Any) -> Any:
    """A server whose records are of the service that a test client reaches."""

    def handle(request: httpx.Request) -> httpx.Response:
        answer = test_client.request(
            request.method, str(request.url.raw_path, "ascii"), content=request.content
        )
        return httpx.Response(answer.status_code, content=answer.content, headers=dict(answer.headers))

    return make(
        lambda: forelock.Client("http://service.test", "flk_key", transport=httpx.MockTransport(handle)),
        Path(),
    )


def ask(server: Any, tool: str, asked: dict[str, Any], **options: Any) -> CallToolResult:
    """One call of a tool."""

    async def talk() -> CallToolResult:
        async with Client(server, **options) as client:
            return await client.call_tool(tool, asked)

    return anyio.run(talk)
