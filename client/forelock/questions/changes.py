"""Which items changed between two systems: gained and lost ones, with the first words of their inputs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forelock import files
from forelock.problem import FileFault
from forelock.questions.forms.form import Group
from forelock.questions.tables.table import Reading
from forelock.text import escape_cell, plain
from forelock.words import ENGLISH, Say, pad

Json = dict[str, Any]
SHOWN = 10
"""Items of each kind that a terminal shows."""
MOST_FOLDED = 500
"""Items of each kind that a comment holds."""
HEADER = ("change", "item_id", "baseline", "candidate", "input")


@dataclass(frozen=True, slots=True)
class Changed:
    """An item of which both systems have a result, and not the same: its means over runs."""

    item_id: str
    baseline: float
    candidate: float
    input: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Gained and lost items, the largest changes first; those of one size in the order of the baseline's file."""

    gained: Sequence[Changed]
    lost: Sequence[Changed]
    same: int

    def document(self) -> Json:
        """Return all of them, for programs."""
        return {
            kind: [{name: getattr(item, name) for name in HEADER[1:]} for item in items]
            for kind, items in self.kinds()
        } | {"n_same": self.same}

    def kinds(self) -> Iterator[tuple[str, Sequence[Changed]]]:
        """Yield the items that were lost, which people look for first, then those that were gained."""
        yield "lost", self.lost
        yield "gained", self.gained

    def groups(self, say: Say = ENGLISH) -> list[Group]:
        """Group lost and gained items, each group with its number of items and the first `SHOWN` of them."""
        groups = []
        for kind, items in self.kinds():
            count = say.count("items", len(items))
            count = say("changed_first", items=count) if items else count
            rows = [(plain(item.item_id), _change(item, say)) for item in items[:SHOWN]]
            if len(items) > SHOWN:
                rows.append((say("changed_more", n=len(items) - SHOWN), ""))
            heading = f"{pad(say(f'changed_{kind}'), 10)}  {count}"
            groups.append(Group(heading, rows, width=0, gap="  "))
        return groups

    def fold(self, say: Say) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield what is folded in a comment: a summary, and a line for each item."""
        for kind, items in self.kinds():
            if items:
                more = (
                    [say("changed_and_more", n=len(items) - MOST_FOLDED)] if len(items) > MOST_FOLDED else []
                )
                summary = say(
                    "changed_summary", items=say.count("items", len(items)), kind=say(f"changed_{kind}")
                )
                yield summary, [*(_line(item, say) for item in items[:MOST_FOLDED]), *more]

    def write(self, path: str) -> None:
        """All of them as CSV, whose texts no spreadsheet computes.

        A file that is none of these is not written over: it may be one of results.

        Raises:
            FileFault: there is such a file, or it cannot be written.
        """
        head = ",".join(HEADER)
        place = Path(path)
        if place.exists() and not files.read_bytes(path).startswith(head.encode()):
            raise FileFault(
                f"{path}: is there already and no list of items; write --items=FILE, or --items behind the files"
            )
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(HEADER)
        for kind, items in self.kinds():
            writer.writerows(
                [
                    kind,
                    escape_cell(item.item_id),
                    f"{item.baseline:.10g}",
                    f"{item.candidate:.10g}",
                    escape_cell(item.input),
                ]
                for item in items
            )
        files.write_bytes(path, text.getvalue().encode())


def changes_of(reading: Reading) -> Changes:
    """Return the items of which both systems have a result; where lower values are better, less is gained."""
    baseline, candidate = (system.means() for system in reading.systems)
    inputs = {**reading.systems[1].inputs, **reading.systems[0].inputs}
    sign = -1 if reading.lower else 1
    both = [item_id for item_id in baseline if item_id in candidate]
    items = [
        Changed(item_id, baseline[item_id], candidate[item_id], inputs.get(item_id, ""))
        for item_id in both
        if not math.isclose(baseline[item_id], candidate[item_id], rel_tol=1e-12)
    ]
    items.sort(key=lambda item: -abs(item.candidate - item.baseline))
    gained = [item for item in items if sign * (item.candidate - item.baseline) > 0]
    lost = [item for item in items if sign * (item.candidate - item.baseline) < 0]
    return Changes(gained, lost, len(both) - len(items))


def _line(item: Changed, say: Say) -> str:
    return f"{plain(item.item_id)}  {_change(item, say)}"


def _change(item: Changed, say: Say) -> str:
    words = f"  {plain(item.input)}" if item.input else ""
    change = say("changed_from_to", before=f"{item.baseline:.4g}", after=f"{item.candidate:.4g}")
    return f"{change}{words}"
