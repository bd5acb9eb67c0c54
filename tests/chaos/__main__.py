"""`python -m tests.chaos [--kills N] [--seed S] [--write FILE]`: the kill campaign, and its record."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

from tests.chaos.campaign import WORLDS, Outcome, run

HEAD = """# Kill campaign

`./do chaos` serves the product for real, sends it a stream of long jobs and of preregistrations with their results, and
meanwhile ends its processes with SIGKILL at random moments: Dask workers, the scheduler, the runner, the API, Postgres.
On SQLite the pool is the runner's own cluster, whose scheduler lives in the runner; on Postgres it is a scheduler with
two workers behind mutual TLS. Afterwards every job that was accepted must have ended once with the bytes of an
undisturbed run, every preregistration must have one verdict and one ledger leaf for it, and no process may be left
behind.

A verdict that is due begins once the runner and its pool are up again. The runner is started after 15 seconds at most,
a scheduler elsewhere is asked again after 5 at most, one of this machine after 60 at most. What a dead runner held is
free once its lease has run out (here 3 s), and jobs of records go first in their project, tests making room after the
shard they are at. To that comes what the starts take.

| world | kills | of them | jobs | verdicts | last begun after | seconds | faults |
|---|--:|---|--:|--:|--:|--:|---|
"""


def row(found: Outcome) -> str:
    kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(found.kills.items()))
    faults = "; ".join(found.faults) or "none"
    return (
        f"| {found.world} | {found.kills.total()} | {kinds} | {found.jobs} | {found.verdicts} "
        f"| {found.began:.0f} s | {found.seconds:.0f} | {faults} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="./do chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=55, help="kills per world")
    parser.add_argument("--records", type=int, default=6, help="preregistrations per world")
    parser.add_argument("--world", choices=["SQLite", "Postgres"], help="one world only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="also write the record to this file")
    asked = parser.parse_args()
    outcomes = []
    for name in [name for name in WORLDS if name.startswith(asked.world or "")]:
        found = run(name, kills=asked.kills, n_records=asked.records, seed=asked.seed)
        print(row(found), flush=True)
        outcomes.append(found)
    if asked.write:
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, seed {asked.seed}"
        asked.write.write_text(
            HEAD + "\n".join(row(each) for each in outcomes) + f"\n\nMachine: {machine}.\n"
        )
    return 1 if any(each.faults for each in outcomes) else 0


sys.exit(main())
