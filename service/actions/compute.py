"""Run one statistical test here, on the event loop or in a thread, when it is quick enough."""

from __future__ import annotations

import os
from typing import Any

from anyio import CapacityLimiter, to_thread

from service.stats.common import Request
from service.stats.registry import Answer, StatTest

INLINE_SECONDS = 0.002
"""Tests that are estimated below this run on the event loop."""
THREAD_SECONDS = 1.0
"""Tests that are estimated below this run in a thread; the others become jobs."""


def cores() -> CapacityLimiter:
    """As many computations side by side as there are cores, and never one alone."""
    return CapacityLimiter(max(2, os.cpu_count() or 1))


async def run(
    test: StatTest[Any, Any], request: Request, cost: float, threads: CapacityLimiter
) -> Answer[Any]:
    """The test's answer; where it is computed depends on its estimated cost alone."""
    if cost < INLINE_SECONDS:
        return test.answer(request)
    return await to_thread.run_sync(test.answer, request, limiter=threads)
