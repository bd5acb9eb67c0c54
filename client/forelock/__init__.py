"""The Forelock client: post results, read verdicts."""

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
