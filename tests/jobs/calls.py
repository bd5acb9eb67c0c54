"""What workers are asked for by name in tests: a module that loads nothing they have not loaded."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from distributed import Worker

from service.errors import InvalidData


def refuse() -> None:
    raise InvalidData.field("values[3]", "is not a number", "send numbers")


def size_of(values: bytes) -> tuple[int, int]:
    return len(values), os.getpid()


def meet(place: str, me: int, other: int) -> bool:
    """True once the other call runs while this one does."""
    (Path(place) / str(me)).touch()
    ends = time.monotonic() + 60
    while not (Path(place) / str(other)).exists():
        if time.monotonic() > ends:
            return False
        time.sleep(0.01)
    return True


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def written_down() -> tuple[bool, int, int]:
    """Whether a worker's threads are watched, and how many samples and log lines are kept of it."""
    (worker,) = Worker._instances
    watched = "profile" in worker.periodic_callbacks or bool(getattr(worker.io_loop, "profile", ()))
    return watched, worker.monitor.maxlen or 0, worker.state.log.maxlen or 0


def rests() -> tuple[float, float]:
    """Seconds between two wakings of a worker that look after itself."""
    (worker,) = Worker._instances
    return tuple(worker.periodic_callbacks[name].callback_time / 1000 for name in ("tick", "monitor"))  # type: ignore[return-value]


def figures() -> tuple[int, int]:
    """A worker's process, and how many figures it keeps of the calls it had."""
    (worker,) = Worker._instances
    return os.getpid(), len(worker.digests_total)


def fail(argument: str, data: str) -> None:
    raise ValueError(f"error-0.73 of {argument} and {data}")
