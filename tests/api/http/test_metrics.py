from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TWO_WORKERS = """
import os, sys
from service.api.http.metrics import Metrics  # loaded before the variable is set, as in the nursery

os.environ["PROMETHEUS_MULTIPROC_DIR"] = sys.argv[1]

def work(times):
    metrics = Metrics()
    for _ in range(times):
        metrics.count("/v1/limits", "GET", 200, 0.25)
    return metrics

for times in (2, 3):
    child = os.fork()
    if not child:
        work(times)
        os._exit(0)
    os.waitpid(child, 0)
text = work(1).text({"queued": 4, "running": 1}).decode()
print(text + work(0).text({"queued": 0, "running": 0}).decode())
"""


def test_what_workers_counted_is_added_up_and_waiting_jobs_are_not(tmp_path: Path) -> None:
    plain = {name: text for name, text in os.environ.items() if name != "PROMETHEUS_MULTIPROC_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", TWO_WORKERS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=plain,
    )
    lines = done.stdout.splitlines()
    counted = 'forelock_http_requests_total{method="GET",route="/v1/limits",status="200"} 6.0'
    assert lines.count(counted) == 2
    assert lines.count('forelock_http_request_seconds_sum{method="GET",route="/v1/limits"} 1.5') == 2
    jobs = [line for line in lines if line.startswith("forelock_jobs{")]
    assert jobs == [
        f'forelock_jobs{{state="{state}"}} {number}.0'
        for state, number in (("queued", 4), ("running", 1), ("queued", 0), ("running", 0))
    ]
    assert "pid=" not in done.stdout
