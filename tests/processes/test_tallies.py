from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from service.processes import tallies

RUN = """
import sys
from pathlib import Path
from service.processes import tallies
own = tallies.begin(Path(sys.argv[1]))
(own / "counter_1.db").write_bytes(b"x")
print(own)
"""


def run(data: Path) -> Path:
    """A run that has ended, and left its files."""
    done = subprocess.run([sys.executable, "-c", RUN, str(data)], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def test_a_run_removes_what_ended_ones_left_and_nothing_of_those_that_live(tmp_path: Path) -> None:
    left = run(tmp_path)
    assert (left / "counter_1.db").exists()
    living = tallies.begin(tmp_path)
    assert not left.exists()
    other = run(tmp_path)
    assert living.exists()
    assert other != living
    assert living.stat().st_mode & 0o077 == 0
