"""Asks `/health/live` every 50 ms until its input ends, and prints the slowest answer and how it came about.

`python -m tests.chaos.probe HOST PORT PID`: a process of its own, so that it waits for nobody's interpreter.
Of every answer the time is taken off that threads of the API were ready to run and the machine did not let them:
the main thread itself, or the one that it waits for because that holds the interpreter. What remains is the
service's own making, and never less than what its main thread computed meanwhile.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import sys
import time
from pathlib import Path

EVERY_SECONDS = 0.05
ALLOWED_SECONDS = 30.0


def spent(pid: int) -> dict[str, tuple[int, int]]:
    """Of every thread, the nanoseconds that it has computed, and that it was ready to run and did not."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            ran, queued, _times = (thread / "schedstat").read_text().split()
            found[thread.name] = (int(ran), int(queued))
    return found


def own_making(pid: int, seconds: float, before: dict[str, tuple[int, int]]) -> float:
    """Of the seconds since `before`, those that are the service's own."""
    now = spent(pid)
    waited = sum(queued - before.get(thread, (0, 0))[1] for thread, (_ran, queued) in now.items())
    computed = now[str(pid)][0] - before[str(pid)][0]
    return max(computed / 1e9, seconds - waited / 1e9)


def asked(host: str, port: int) -> float:
    """Seconds to an answer over a new connection."""
    start = time.perf_counter()
    connection = http.client.HTTPConnection(host, port, timeout=ALLOWED_SECONDS)
    try:
        connection.request("GET", "/health/live")
        assert connection.getresponse().status == 200
    finally:
        connection.close()
    return time.perf_counter() - start


def main(host: str, port: int, pid: int) -> None:
    """Probe until the input ends."""
    worst, own, count, failed = 0.0, 0.0, 0, 0
    while not select.select([sys.stdin], [], [], EVERY_SECONDS)[0]:
        before = spent(pid)
        try:
            seconds = asked(host, port)
        except (OSError, http.client.HTTPException, AssertionError):
            failed += 1
            continue
        count += 1
        worst = max(worst, seconds)
        own = max(own, own_making(pid, seconds, before))
    found = {"asked": count, "failed": failed, "worst": round(worst, 4), "own": round(own, 4)}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
