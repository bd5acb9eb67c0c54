"""`./do bench --beside [REF]`: the same rows of an earlier checkout and of this one, in turns, and what rose.

A cost that creeps up by a tenth with every change is seen by no bar against a peer. The earlier checkout is laid out
under `.do` and measures itself by its own rows; a row of one checkout alone is listed and not judged.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import shown

ROOT = Path(__file__).resolve().parents[1]
MOST = 1.15
"""New over old: above it a row has risen. Two runs of one checkout differ by up to a tenth on a shared machine."""
TURNS = 2
RELEASED = re.compile(r'^version = "[0-9.]+"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """A row of both checkouts: the least figure of each over the turns, in the row's own unit."""

    group: str
    name: str
    unit: str
    old: float
    new: float

    @property
    def ratio(self) -> float:
        """New over old, above 1 where the new one costs more; a rate costs more where it is lower."""
        small, large = (self.new, self.old) if self.unit.endswith("/s") else (self.old, self.new)
        return large / small if small else (1.0 if large == small else float("inf"))

    @property
    def risen(self) -> bool:
        """It costs more than twice-measured noise explains."""
        return self.ratio > MOST


def last_release() -> str:
    """The newest commit of this branch whose version is that of a release.

    Raises:
        LookupError: there is none.
    """
    for commit in _git("rev-list", "HEAD", "--", "pyproject.toml").split():
        for of in (commit, f"{commit}~1"):
            if RELEASED.search(_git("show", f"{of}:pyproject.toml")):
                return _git("rev-parse", of).strip()
    raise LookupError("no commit of this branch has the version of a release: name one, --beside REF")


def measure_beside(ref: str, groups: Sequence[str]) -> tuple[list[Change], list[str]]:
    """Measure the groups in both checkouts, in turns; the changes, and the rows that only one of them has.

    Raises:
        subprocess.CalledProcessError: the earlier checkout could not be laid out, or has no such group.
    """
    earlier = _lay_out(ref)
    old: list[dict[str, Any]] = []
    new: list[dict[str, Any]] = []
    for _ in range(TURNS):
        old += _rows(earlier, groups)
        new += _rows(ROOT, groups)
    return compare(old, new)


def compare(
    old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> tuple[list[Change], list[str]]:
    """Rows of both, each by the best of its runs; and the names of the others."""
    before, after = _best(old), _best(new)
    changes = [
        Change(row["group"], name, row["unit"], before[name]["ours"], row["ours"])
        for name, row in after.items()
        if name in before
    ]
    return changes, sorted(before.keys() ^ after.keys())


def as_table(changes: Sequence[Change]) -> str:
    """A Markdown table, old against new."""
    lines = ["| row | old | new | new / old |", "|---|--:|--:|--:|"]
    for change in changes:
        figures = " | ".join(shown(figure, change.unit) for figure in (change.old, change.new))
        lines.append(f"| {change.name} | {figures} | {change.ratio:.2f}{' **risen**' * change.risen} |")
    return "\n".join(lines)


def _best(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The run of each row that other work on the machine disturbed least."""
    best: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        rate = row["unit"].endswith("/s")
        known = best.get(row["name"])
        if known is None or (row["ours"] > known["ours"] if rate else row["ours"] < known["ours"]):
            best[row["name"]] = row
    return best


def _rows(checkout: Path, groups: Sequence[str]) -> list[dict[str, Any]]:
    """Measure there; a missed bar of its own is no failure of the comparison."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        only = ["--only", *groups] if groups else []
        command = [str(checkout / "do"), "bench", "--json", file.name, *only]
        measured = subprocess.run(command, cwd=checkout, stdout=subprocess.DEVNULL, check=False)
        text = Path(file.name).read_text("utf-8")
        if not text:
            raise subprocess.CalledProcessError(measured.returncode, command)
        rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


def _lay_out(ref: str) -> Path:
    """The files of a commit, below `.do`, where they and their environment are kept for the next time."""
    commit = _git("rev-parse", "--verify", f"{ref}^{{commit}}").strip()
    place = ROOT / ".do" / f"beside-{commit[:12]}"
    if not (place / "do").exists():
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile() as file:
            subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=file, check=True)
            file.seek(0)
            with tarfile.open(fileobj=file) as archive:
                # 3.11.2, which Debian 12 has, knows no filters; the archive is of our own files
                archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
                archive.extractall(place)
    return place


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout
