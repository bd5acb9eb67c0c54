"""Where jobs compute: one interface, so that a pool of machines can take the place of one process."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, TypeVar

T = TypeVar("T")


class Executor(Protocol):
    """Runs pure functions of picklable arguments away from the process that holds keys and database."""

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Start `function(*arguments)`; the future raises what the function raised."""

    def close(self) -> None:
        """Stop the workers; running work is abandoned."""


class ProcessExecutor:
    """Worker processes on this machine, at lower priority than the API.

    Workers are spawned, so they inherit neither connections nor keys; a worker that dies takes
    only its own work with it, and the next submission starts a fresh pool.
    """

    def __init__(self, workers: int = 1, niceness: int = 10) -> None:
        self._workers, self._niceness = workers, niceness
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Start `function(*arguments)` in a worker."""
        try:
            return self._live().submit(function, *arguments)
        except BrokenProcessPool:
            self.close()
            return self._live().submit(function, *arguments)

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.kill_workers() if hasattr(self._pool, "kill_workers") else _end(self._pool)
            self._pool = None

    def _live(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=os.nice,
                initargs=(self._niceness,),
            )
        return self._pool


def _end(pool: ProcessPoolExecutor) -> None:
    """`kill_workers` for Python before 3.14."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()
    for process in processes:
        process.join(5)
