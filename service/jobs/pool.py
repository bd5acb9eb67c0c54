"""Where jobs compute: one interface, so that threads of a test and a cluster of machines look alike."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from service.errors import ForelockError, Unavailable


class PoolUnavailable(Unavailable):
    """The pool cannot be reached; the job is put back."""

    code, title = "pool_unavailable", "The worker pool cannot be reached"


AWAY = PoolUnavailable("the worker pool does not answer: the job waits for it").document()
"""The problem document on a job that waits for the pool.

Where the pool is, and what it said, is in the runner's log.
"""


class PoolLost(Exception):
    """What was submitted is gone, because the pool or the data it held is; submit it again."""


class WorkerDied(ForelockError):
    """The process that computed ended, more often than the pool repeats."""

    code, title = "worker_died", "The worker process ended while computing"


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Data:
    """An argument that is sent to the workers once and used by many calls."""

    value: Any = field(repr=False)


class Pool(Protocol):
    """Runs pure functions of picklable arguments away from the process that holds keys and database."""

    workers: int

    def start(self) -> None:
        """Bring the pool up, which may take a while.

        Raises:
            PoolUnavailable: it cannot be reached or started.
        """

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Start `function(*arguments)`; the future raises what the function raised."""

    def abandon(self, future: Future[Any]) -> None:
        """Forget a call, and end the process that computes it."""

    def close(self) -> None:
        """Stop the workers; running calls are abandoned."""
