"""Seconds from an empty uv cache to the first answer of two result files: ours, and the small tools, in one run.

`python -m benchmarks.first_answer --write` puts the table into docs/peers.md. Every tool is asked the same: are these
two sets of 200 answers different? Each in the form of file that it reads. Ours comes from wheels made of this checkout,
as it would from an index; making them is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "peers.md"
MARKS = re.compile(r"(<!-- first answer -->\n).*?(<!-- end of first answer -->)", re.DOTALL)
ROUNDS, ITEMS, BAR = 5, 200, 1.5


@dataclass(frozen=True, slots=True)
class Tool:
    """A command of a package, and the arguments that make it answer about the files of `write`."""

    package: str
    command: tuple[str, ...]


OURS = Tool("forelock-server", ("forelock", "gate", "base.csv", "cand.csv", "--margin", "2pp"))
PEERS = (
    Tool("evaltrust", ("evaltrust", "audit", "long.csv")),
    Tool("evalsig", ("evalsig", "compare", "--baseline", "base.json", "--candidate", "cand.json")),
    Tool("evalstats", ("evalstats", "analyze", "wide.csv", "--format", "wide")),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Of one tool: seconds by the clock with an empty cache and with a full one, and what was installed."""

    tool: Tool
    cold: list[float]
    warm: list[float]
    mebibytes: float


def write(directory: Path) -> None:
    """The same right and wrong answers in every form that a tool reads."""
    rng = np.random.default_rng(1)
    arms = {"base": rng.random(ITEMS) < 0.70, "cand": rng.random(ITEMS) < 0.75}
    rows = {
        name: [(f"q{item}", int(right)) for item, right in enumerate(values)] for name, values in arms.items()
    }
    for name, answers in rows.items():
        lines = [f"{item},{value}\n" for item, value in answers]
        (directory / f"{name}.csv").write_text("item_id,value\n" + "".join(lines))
        run = dict.fromkeys(("run_id", "model_id"), name) | {"task_id": "task", "metric_name": "accuracy"}
        items = [{"item_id": item, "score": value} for item, value in answers]
        (directory / f"{name}.json").write_text(json.dumps({**run, "items": items}))
    long = [f"{name},{item},{value}\n" for name, answers in rows.items() for item, value in answers]
    (directory / "long.csv").write_text("model,item_id,score\n" + "".join(long))
    wide = [f"{item},{a},{b}\n" for (item, a), (_, b) in zip(*rows.values(), strict=True)]
    (directory / "wide.csv").write_text("input,base,cand\n" + "".join(wide))


def seconds(tool: Tool, directory: Path, cache: Path, wheels: Path) -> float:
    """One answer, by the clock.

    Raises:
        RuntimeError: it gave none; the end of what it said.
    """
    source = () if tool.package != OURS.package else ("--find-links", str(wheels))
    command = (str(ROOT / "do"), "uv", "tool", "run", *source, "--from", tool.package, *tool.command)
    kept = {name: value for name, value in os.environ.items() if name != "UV_COMPILE_BYTECODE"}
    start = time.perf_counter()
    settings = {**kept, "UV_CACHE_DIR": str(cache)}
    done = subprocess.run(command, check=False, cwd=directory, env=settings, capture_output=True, text=True)
    taken = time.perf_counter() - start
    if done.returncode not in (0, 10, 12) or not done.stdout.strip():
        raise RuntimeError(f"{tool.package} did not answer: {done.stderr[-500:]}")
    return taken


def mebibytes(cache: Path) -> float:
    """What is in it; a file under two names counts once."""
    sizes = {(each := path.lstat()).st_ino: each.st_size for path in cache.rglob("*") if path.is_file()}
    return sum(sizes.values()) / 2**20


def measured(rounds: int, say: Callable[[str], None]) -> list[Row]:
    """All tools in turn, as often as asked."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write(directory)
        wheels = directory / "wheels"
        for package in (ROOT, ROOT / "client"):
            build = (str(ROOT / "do"), "uv", "build", "--quiet", "--wheel", "--out-dir", str(wheels))
            subprocess.run((*build, str(package)), check=True)
        rows = [Row(tool, [], [], 0.0) for tool in (OURS, *PEERS)]
        for attempt in range(rounds):
            for at, row in enumerate(rows):
                cache = directory / f"cache-{at}-{attempt}"
                for times in (row.cold, row.warm):
                    times.append(seconds(row.tool, directory, cache, wheels))
                rows[at] = Row(row.tool, row.cold, row.warm, size := mebibytes(cache))
                say(
                    f"{row.tool.package:<16} {row.cold[-1]:.1f} s, again {row.warm[-1]:.1f} s, {size:.0f} MiB"
                )
                subprocess.run(("rm", "-rf", str(cache)), check=True)
        return rows


def table(rows: list[Row]) -> str:
    """The page's table: medians."""
    lines = ["| Tool | seconds from an empty cache | again | MiB in the cache |", "|---|--:|--:|--:|"]
    for row in rows:
        cold, warm = statistics.median(row.cold), statistics.median(row.warm)
        words = " ".join(row.tool.command[:2])
        lines.append(f"| `{words}` of {row.tool.package} | {cold:.1f} | {warm:.1f} | {row.mebibytes:.0f} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and with `--write` put the table into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of every tool (default {ROUNDS})")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args(arguments)
    rows = measured(options.rounds, lambda line: print(line, flush=True))
    print(table(rows))
    if options.write:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(MARKS.sub(lambda match: f"{match[1]}{table(rows)}\n{match[2]}", page), "utf-8")
    ours, *peers = (statistics.median(row.cold) for row in rows)
    print(f"{ours / min(peers):.2f} times the fastest; bar {BAR}")
    return int(ours > BAR * min(peers))


if __name__ == "__main__":
    raise SystemExit(main())
