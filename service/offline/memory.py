"""An end to the memory that judging a stranger's bundle takes, on the machine of whoever checks it."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATUS = Path("/proc/self/status")
_DATA = re.compile(r"^VmData:\s*(\d+) kB$", re.MULTILINE)


@contextmanager
def at_most(more: int) -> Iterator[None]:
    """Let this process have so many bytes more than it has now: what needs more is a MemoryError.

    Nothing is limited where the system does not say what a process has.
    """
    if not STATUS.exists() or (has := _DATA.search(STATUS.read_text())) is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = int(has[1]) * 1024 + more
    ends = [end for end in (soft, hard) if end != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([wanted, *ends]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
