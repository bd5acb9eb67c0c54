"""The Forelock client: post results, read verdicts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forelock.async_client import AsyncClient
    from forelock.client import Client
    from forelock.notebooks import Comparison, Ranking, Score, gate, rank, score
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
    "AsyncClient", "Client", "Comparison", "Fault", "FileFault", "ForelockError", "ForelockProblem",
    "JobTimeout", "Ranking", "Results", "Score", "Unreachable", "VerdictTimeout", "gate", "rank", "score",
]  # fmt: skip
_PLACES = {
    "AsyncClient": "async_client",
    "Client": "client",
    "Results": "results",
    **dict.fromkeys(("Comparison", "Ranking", "Score", "gate", "rank", "score"), "notebooks"),
}


def __getattr__(name: str) -> Any:
    """Loads what is asked for: a command that needs no service does not pay for HTTP."""
    if name not in __all__:
        raise AttributeError(f"module 'forelock' has no attribute '{name}'")
    return getattr(import_module(f"forelock.{_PLACES.get(name, 'problem')}"), name)
