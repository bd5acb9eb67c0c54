"""What a worker process is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Work:
    """A pure function of picklable arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
