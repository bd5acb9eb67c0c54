"""Where the API workers of one `serve` count together: files in the data directory, gone after the run.

Each worker has its own file in there and no other writes to it; whichever is asked for `/metrics` adds them up.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from pathlib import Path

VARIABLE = "FORELOCK_METRICS_DIR"
"""Tells a worker where; set by the supervisor alone."""
_LOCK = "running"


def begin(data: Path) -> Path:
    """Return an empty directory for this process' run, which is this run's for as long as the process lives.

    What runs that ended have left is removed.
    """
    directory = data / "metrics"
    directory.mkdir(mode=0o700, exist_ok=True)
    for left in directory.iterdir():
        held = _take(left)
        if held is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(held)
    own = directory / secrets.token_hex(8)
    own.mkdir(mode=0o700)
    _take(own)
    return own


def _take(directory: Path) -> int | None:
    """Return the lock of a run, held until this process ends; None where another process lives that holds it."""
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
