"""Plants faults in a copy of the checkout, one at a time, and says which of them no test notices.

`python -m tools.mutants [--count N] [--seed N] [--seconds S] [--only PATH ...]`. For each fault the tests that
`./do quick` would choose run first; where they notice nothing, the other tests that the map knows to run the function,
for at most so many seconds of their CPU time. What was tried is kept in `.do/mutants/results.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tools.affected.changes import ROOT, Change
from tools.affected.choose import SECONDS, Choice, choose_tests
from tools.affected.coverage_map import CoverageMap, load_map
from tools.affected.imports import ImportGraph
from tools.affected.run import BRIEF

from .faults import Fault, list_faults
from .forks import load_libraries, run_in_fork

PLACE = ROOT / ".do" / "mutants"
SHARES = {
    "service/kernels": 20,
    "service/stats": 25,
    "service/domain/verdicts": 15,
    "service/domain": 15,
    "service/store": 10,
    "service/actions": 15,
}
"""How many of a hundred faults each room gets; a room within another takes nothing from it."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def main() -> None:
    """Plants, runs and reports."""
    parser = argparse.ArgumentParser(prog="./do mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="how many faults")
    parser.add_argument("--seed", type=int, default=1, help="draws other faults")
    parser.add_argument(
        "--seconds", type=float, default=45.0, help="CPU time of the tests beyond those of quick"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="PATH", help="modules or rooms, such as service/stats/shared"
    )
    arguments = parser.parse_args()
    coverage = load_map()
    if not coverage.tests:
        # Tests would be guessed by imports, and a fault that none of them meets be called a survivor.
        raise SystemExit("no map says which tests run what: run ./do map first")
    faults = draw_faults(arguments.count, arguments.seed, arguments.only)
    checkout = copy_checkout()
    load_libraries(checkout)
    results = PLACE / "results.jsonl"
    known = {}
    for line in results.read_text("utf-8").splitlines() if results.exists() else ():
        row = json.loads(line)
        known[_key(row)] = row
    graph = ImportGraph()
    coverage = coverage.follow_moves(graph.texts.keys())
    rows = []
    for number, fault in enumerate(faults, 1):
        row = asdict(fault)
        if _key(row) in known:
            row = known[_key(row)]
        else:
            row |= try_fault(fault, checkout, graph, coverage, arguments.seconds)
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        rows.append(row)
        print(
            f"{number:4} {row['outcome']:10} {fault.path}:{fault.line} {_line(fault)}  {row['by']}",
            flush=True,
        )
    doubt_kills(rows, checkout)
    report(rows, arguments.only or SHARES)


def doubt_kills(rows: list[dict[str, object]], checkout: Path) -> None:
    """Asks the tests that noticed a fault once more without it: one that fails by itself has noticed nothing."""
    names = sorted({str(row["by"]) for row in rows if "::" in str(row["by"])})
    while names:
        status, output = run_in_fork(Choice(tests=names), checkout, 0.0, "forelock")
        failed = set(FAILED.findall(output)) & set(names)
        for row in rows:
            if row["by"] in failed:
                row["outcome"] = "doubtful"
                print(f"doubtful   {row['path']}:{row['line']}  {row['by']} fails without a fault")
        if not status or not failed:
            return
        names = [name for name in names if name not in failed]  # a run ends with its first failure


def draw_faults(count: int, seed: int, only: list[str] | None) -> list[Fault]:
    """A seeded sample, spread over the rooms; of one file no two on the same line."""
    shares = dict.fromkeys(only, 100 / len(only)) if only else SHARES
    rooms: dict[str, list[Fault]] = {room: [] for room in shares}
    for path in sorted([*ROOT.glob("service/**/*.py"), *ROOT.glob("client/forelock/**/*.py")]):
        name = path.relative_to(ROOT).as_posix()
        room = name_room(name, rooms)
        if room is not None:
            rooms[room] += list_faults(name, path.read_bytes())
    drawn = []
    for room, faults in rooms.items():
        random.Random(f"{seed} {room}").shuffle(faults)
        # The first of every line, as they were shuffled.
        one_a_line: dict[tuple[str, int], Fault] = {}
        for fault in faults:
            one_a_line.setdefault((fault.path, fault.line), fault)
        drawn += list(one_a_line.values())[: round(count * shares[room] / 100)]
    # Whoever stops half way has some of every room.
    random.Random(seed).shuffle(drawn)
    return drawn


def copy_checkout() -> Path:
    """What git keeps of the checkout or would add to it, as it is now, where faults do no harm."""
    checkout = PLACE / "checkout"
    # A test that was just written is chosen as any other, so that it has to be there.
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603
    for name in filter(None, listed.split("\0")):
        source, copy = ROOT / name, checkout / name
        if source.is_file() and not (copy.exists() and copy.read_bytes() == source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
    return checkout


def try_fault(
    fault: Fault, checkout: Path, graph: ImportGraph, coverage: CoverageMap, seconds: float
) -> dict[str, object]:
    """Plants the fault, runs the tests, and takes it out again: who noticed, and after how many tests were asked."""
    change = Change(fault.path, frozenset({fault.function}) if fault.function else None)
    quick = choose_tests([change], graph, coverage, SECONDS)
    wider = choose_tests([change], graph, coverage, SECONDS + seconds)
    wider.importing = []
    module = checkout / fault.path
    source = module.read_bytes()
    asked = {"quick_tests": len(quick.tests), "left": wider.left}
    try:
        _write(module, fault.plant(source))
        for name, choice, profile in (("quick", quick, BRIEF), ("suite", wider, "forelock")):
            status, output = run_in_fork(choice, checkout, SECONDS, profile)
            if status:
                match = FAILED.search(output)
                return {"outcome": name, "by": match.group(1) if match else f"ended with {status}", **asked}
        # Where not all that run it had their turn, nobody knows.
        return {"outcome": "undecided" if wider.left else "survived", "by": "", **asked}
    finally:
        _write(module, source)


_written = int(time.time()) - 10_000_000


def _write(module: Path, source: bytes) -> None:
    """A time of its own for every version: Python tells by it, in seconds, whether what it compiled is still true."""
    global _written  # noqa: PLW0603
    _written += 2
    module.write_bytes(source)
    os.utime(module, (_written, _written))


def name_room(path: str, rooms: Iterable[str]) -> str | None:
    """The innermost of these rooms that holds the file; None of a file outside of them."""
    return max((room for room in rooms if path.startswith(room)), key=len, default=None)


def report(rows: list[dict[str, object]], asked: Iterable[str]) -> None:
    """How many were noticed, room by room of those that were asked for."""
    of_rows = [name_room(str(row["path"]), asked) for row in rows]
    rooms = sorted({room for room in of_rows if room})
    print(
        f"\n{'room':30}{'faults':>8}{'by quick':>10}{'by others':>10}{'undecided':>11}{'doubtful':>10}{'survived':>10}"
    )
    for room in [*rooms, ""]:
        pairs = zip(rows, of_rows, strict=True)
        counts = Counter(str(row["outcome"]) for row, own in pairs if not room or own == room)
        total = sum(counts.values())
        noticed = f"{counts['quick']:10}{counts['suite']:10}"
        rest = f"{counts['undecided']:11}{counts['doubtful']:10}{counts['survived']:10}"
        print(f"{room or 'all':30}{total:8}{noticed}{rest}")


def _key(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("path", "function", "before", "after", "start"))


def _line(fault: Fault) -> str:
    return " ".join(f"{fault.before} -> {fault.after}".split())[:90]


if __name__ == "__main__":
    main()
