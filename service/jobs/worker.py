"""What a worker process does first: steps back behind the API, and loads what every call needs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from service.jobs import tasks
from service.jobs.memory import keep_small
from service.stats.shared.declaring import registry

NICENESS = 5
"""A worker of this machine begins with the runner's five steps: ten behind the API in all. With more, whatever else
computes on the machine leaves it next to nothing, and a verdict of ten seconds takes minutes."""

__all__ = ["dask_setup", "tasks"]


@cache
def silence_dask() -> None:
    """Silence Dask's loggers, which write arguments and errors of failed calls: they may be outcomes."""
    logger = logging.getLogger("distributed")
    logger.setLevel(logging.CRITICAL + 1)
    for name in list(logger.manager.loggerDict):
        if name.startswith("distributed."):
            logging.getLogger(name).setLevel(logging.NOTSET)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return `function(*arguments)`, with Dask silenced even where the worker was started without this module."""
    silence_dask()
    return function(*arguments)


def dask_setup(worker: Any) -> None:
    """Prepare a worker; Dask calls this when it starts."""
    worker.http_server.stop()  # nobody reads its pages
    keep_small()
    os.nice(NICENESS)
    silence_dask()
    registry.latest()
    import scipy.special
    import scipy.stats  # noqa: F401
