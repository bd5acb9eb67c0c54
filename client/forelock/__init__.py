"""The Forelock client: post results, read verdicts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forelock.async_client import AsyncClient
    from forelock.client import Client
    from forelock.problem import (
        Fault,
        FileFault,
        ForelockError,
        ForelockProblem,
        JobTimeout,
        Unreachable,
        VerdictTimeout,
    )
    from forelock.results import Results

__all__ = [
    "AsyncClient",
    "Client",
    "Fault",
    "FileFault",
    "ForelockError",
    "ForelockProblem",
    "JobTimeout",
    "Results",
    "Unreachable",
    "VerdictTimeout",
]
_PLACES = {"AsyncClient": "async_client", "Client": "client", "Results": "results"}


def __getattr__(name: str) -> Any:
    """Loads what is asked for: a command that needs no service does not pay for HTTP."""
    if name not in __all__:
        raise AttributeError(f"module 'forelock' has no attribute '{name}'")
    return getattr(import_module(f"forelock.{_PLACES.get(name, 'problem')}"), name)
