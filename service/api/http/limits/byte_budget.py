"""How many bytes of bodies one API process holds at a time, in memory or on the disk."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from threading import Lock

from service.errors import Unavailable

BUDGET_BYTES = 256 * 1024 * 1024
"""Bytes of all requests together; one project may have half of them."""
WAIT_SECONDS, EVERY_SECONDS = 30.0, 0.05
"""How long a body waits for room at most, and how often it looks."""


class ByteBudget:
    """Bytes that bodies may take, given to projects."""

    def __init__(self, size: int = BUDGET_BYTES) -> None:
        self._size = size
        self._held: Counter[str] = Counter()
        self._lock = Lock()

    async def take(self, project: str, size: int, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until so many bytes are free.

        Raises:
            Unavailable: others, or the project itself, held all there is for that long.
        """
        until = time.monotonic() + seconds
        while not self._take_if_free(project, size):
            if time.monotonic() >= until:
                raise Unavailable("too many large bodies are being read: repeat the request shortly")
            await asyncio.sleep(EVERY_SECONDS)

    def give_back(self, project: str, size: int) -> None:
        """Give the bytes of a body back that is gone. Any thread may call it, also the one that collects garbage."""
        with self._lock:
            self._held[project] -= size
            if self._held[project] <= 0:
                del self._held[project]

    def _take_if_free(self, project: str, size: int) -> bool:
        with self._lock:
            own, held = self._held[project], self._held.total()
            fits = held + size <= self._size and own + size <= self._size // 2
            # A body that is alone always gets in: one over the budget would otherwise wait for ever.
            if fits or held == 0:
                self._held[project] += size
                return True
            return False
