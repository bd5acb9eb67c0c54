"""Locks on files, by which processes see who writes and who sends. They end with the process that held them."""

from __future__ import annotations

import os

from forelock.problem import ForelockError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this descriptor alone; False where another holds it."""
    if fcntl is None:
        raise ForelockError("the spool needs file locks of POSIX: use it under Linux, macOS or WSL")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, and wait until the disk has them."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)
