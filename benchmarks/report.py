"""Rows as a Markdown table and as JSON, and the machine they were measured on."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.harness import Row

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
PACKAGES = ("numpy", "scipy", "arch", "sacrebleu", "statsmodels", "fastapi", "uvicorn", "dask")
HEADING = "### "
HEAD = "| work | ours | peer | | ratio | bar | the peer's remaining error |"


def machine() -> dict[str, str]:
    """Processor, cores, Python and the versions of what is compared."""
    facts = {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def as_json(rows: Sequence[Row]) -> str:
    """The machine and every row, `ratio` and `met` included."""
    body = {"machine": machine(), "rows": [{**asdict(row), "met": row.met} for row in rows]}
    return json.dumps(body, indent=2) + "\n"


def as_markdown(rows: Sequence[Row]) -> str:
    """The machine in one line and a table per group."""
    facts = machine()
    cores = facts.pop("cores")
    where = ", ".join([f"{facts.pop('processor')}, {cores} cores", facts.pop("system")])
    parts = [f"Machine: {where}; " + ", ".join(f"{name} {number}" for name, number in facts.items()) + "."]
    for group in dict.fromkeys(row.group for row in rows):
        lines = [_line(row) for row in rows if row.group == group]
        parts += [
            f"{HEADING}{group.capitalize()}",
            "\n".join([HEAD, "|---|--:|--:|---|--:|--:|--:|", *lines]),
        ]
    return "\n\n".join(parts) + "\n"


def write_page(rows: Sequence[Row], page: Path = PAGE) -> None:
    """Put the tables between the marks in `docs/performance.md`; groups that were not measured keep theirs."""
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    earlier, _, after = rest.partition(END)
    where, *measured = as_markdown(rows).split(HEADING)
    tables = {table.partition("\n")[0]: table.strip() for table in (*earlier.split(HEADING)[1:], *measured)}
    parts = [where.strip(), *(f"{HEADING}{table}" for table in tables.values())]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}", "utf-8")


def _line(row: Row) -> str:
    missed = "" if row.met else " **missed**"
    return (
        f"| {row.name} | {shown(row.ours, row.unit)} | "
        f"{'' if row.peer is None else shown(row.peer, row.unit)} | {row.peer_name} | "
        f"{_number(row.ratio)} | {_bar(row)}{missed} | {row.peer_error} |"
    )


def _bar(row: Row) -> str:
    return "" if row.bar is None else f"{'≤' if row.at_most else '≥'} {_number(row.bar)}"


def shown(figure: float, unit: str) -> str:
    """Three digits with a fitting unit."""
    if unit != "s":
        return f"{_number(figure)} {unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if figure >= scale:
            return f"{_number(figure / scale)} {name}"
    return f"{figure:.2g} s"


def _number(x: float) -> str:
    if x == 0 or not math.isfinite(x):
        return f"{x:g}"
    decimals = max(2 - math.floor(math.log10(abs(x))), 0)
    text = f"{x:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
