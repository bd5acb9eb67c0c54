"""Memory that was freed goes back to the system.

What is read and written in pieces of many sizes leaves gaps between what lives on. glibc gives back the end of a heap
alone, never a gap, so a process that serves for weeks holds what its worst minutes took, and an observer cannot tell
that from a leak.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


def give_back() -> None:
    """Return whole pages that nothing uses; some milliseconds. Nothing happens where the C library cannot."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
