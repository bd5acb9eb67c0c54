"""What a worker process does first: steps back behind the API, and loads what every call needs."""

from __future__ import annotations

import os
from typing import Any

from service.jobs import tasks
from service.stats import registry

NICENESS = 10

__all__ = ["dask_setup", "tasks"]


def dask_setup(_worker: Any) -> None:
    """Called by Dask when the worker starts."""
    os.nice(NICENESS)
    registry.latest()
    import scipy.special
    import scipy.stats  # noqa: F401
