"""Pools of tests: calls at once in this process, calls in threads, and calls that never end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from service.jobs.pool import Data


def opened(arguments: tuple[object, ...]) -> list[object]:
    """The arguments as a worker sees them."""
    return [each.value if isinstance(each, Data) else each for each in arguments]


class InlinePool:
    """Computes at once, in this process."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self.calls: list[tuple[object, ...]] = []
        self.abandoned = 0

    def start(self) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        self.calls.append((function, *arguments))
        future: Future[Any] = Future()
        try:
            future.set_result(function(*opened(arguments)))
        except Exception as error:
            future.set_exception(error)
        return future

    def abandon(self, future: Future[Any]) -> None:
        self.abandoned += 1

    def close(self) -> None:
        pass


class ThreadPool(InlinePool):
    """Computes in threads, as many at a time as it has workers."""

    def __init__(self, workers: int = 2) -> None:
        super().__init__(workers)
        self._threads = ThreadPoolExecutor(workers)

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        self.calls.append((function, *arguments))
        return self._threads.submit(function, *opened(arguments))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class StuckPool(InlinePool):
    """Never answers."""

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        return Future()
