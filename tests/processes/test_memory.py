"""Freed memory goes back to the system."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
from pathlib import Path
from service.processes.memory import give_back

def held():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").open() if line.startswith("RssAnon"))

pieces = [bytes(2000) for _ in range(40_000)]
kept = pieces[::100]
del pieces
before = held()
give_back()
print(before - held(), len(kept))
"""


def test_gaps_between_what_is_kept_go_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    given_kib, kept = map(int, done.stdout.split())
    assert kept == 400
    assert given_kib > 50 * 1024
