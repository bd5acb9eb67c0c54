"""The client for programs that use asyncio: every call of `Client`, awaited.

There is one client: its calls run in threads, so that what is repeated, waited for and read is the same. What a type
checker reads of this is `async_client.pyi`, made from `Client` by `python -m tools.pages.async_client`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, Self

from forelock.client import Client

_END = object()


class AsyncClient:
    """What one service offers to one API key, as awaitable calls; lists are read with `async for`.

    Takes the arguments of `Client`. A call that is cancelled is not awaited any longer; what it has sent is sent.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._client = Client(*arguments, **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def url(self) -> str:
        """The address at which the service answers."""
        return self._client.url

    async def aclose(self) -> None:
        """Close the connections to the service."""
        await asyncio.to_thread(self._client.close)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name == "close" or not hasattr(Client, name):
            raise AttributeError(f"'AsyncClient' has no call '{name}'")
        call = getattr(self._client, name)
        if inspect.isgeneratorfunction(call):
            return lambda *given, **options: _iterate(call(*given, **options))
        return partial(asyncio.to_thread, call)


async def _iterate(items: Iterator[Any]) -> AsyncIterator[Any]:
    while (item := await asyncio.to_thread(next, items, _END)) is not _END:
        yield item
