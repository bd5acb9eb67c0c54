"""Run one statistical test: here when it is quick, in a thread when it is not."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from anyio import CapacityLimiter, to_thread

from service.stats.common import Request
from service.stats.registry import Answer, StatTest

INLINE_SECONDS = 0.002
"""Tests that are estimated below this run on the event loop."""
THREAD_SECONDS = 1.0
"""Tests that are estimated below this run in a thread, side by side."""


def _cores() -> CapacityLimiter:
    return CapacityLimiter(max(2, os.cpu_count() or 1))


@dataclass(frozen=True, slots=True)
class Threads:
    """How many computations run at once: quick ones, and those that take long."""

    quick: CapacityLimiter = field(default_factory=_cores)
    long: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))


async def run(test: StatTest[Any, Any], request: Request, threads: Threads) -> Answer[Any]:
    """The test's answer; where it is computed depends on its estimated cost alone."""
    cost = test.cost(request)
    if cost < INLINE_SECONDS:
        return test.answer(request)
    limiter = threads.quick if cost < THREAD_SECONDS else threads.long
    return await to_thread.run_sync(test.answer, request, limiter=limiter)
