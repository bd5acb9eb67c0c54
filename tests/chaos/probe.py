"""Asks `/health/live` every 50 ms until its input ends, and prints the slowest answer and how it came about.

`python -m tests.chaos.probe HOST PORT PID`: a process of its own, so that it waits for nobody's interpreter.
Of every answer the time is taken that the API's main thread was ready to run and the machine did not let it:
what remains is the service's own making.
"""

from __future__ import annotations

import http.client
import json
import select
import sys
import time
from pathlib import Path

EVERY_SECONDS = 0.05
ALLOWED_SECONDS = 30.0


def kept_waiting(pid: int) -> float:
    """Seconds that the process's main thread was ready to run and did not."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1]) / 1e9


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
        waited = kept_waiting(pid)
        try:
            seconds = asked(host, port)
        except (OSError, http.client.HTTPException, AssertionError):
            failed += 1
            continue
        count += 1
        worst = max(worst, seconds)
        own = max(own, seconds - (kept_waiting(pid) - waited))
    found = {"asked": count, "failed": failed, "worst": round(worst, 4), "own": round(own, 4)}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
