"""The one table that result files are read into: systems, and of each its items, runs, values and labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forelock.problem import FileFault
from forelock.questions.tables.choices import Opened

Json = dict[str, Any]
_COLUMNS = {"suite": "tasks"}
"""What a request calls a label's column."""


@dataclass(frozen=True, slots=True)
class System:
    """One system's rows: columns of one length, a row for every run of an item."""

    name: str
    item_ids: Sequence[str] = field(repr=False)
    values: Sequence[float | None] = field(repr=False)
    """None: there is no result."""
    replicates: Sequence[int] = field(repr=False)
    labels: Mapping[str, Sequence[str | None]] = field(default_factory=dict, repr=False)
    """By what was asked for: each row's cluster, slice or task."""
    side: int = 0
    """Which side's files hold it."""
    contents: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By item what tells its content, where the files have it."""
    inputs: Mapping[str, str] = field(default_factory=dict, repr=False)
    """By item the first words of its input, likewise."""

    def columns(self) -> Json:
        """Return the rows as a request has them, with clusters, slices and runs where there are any."""
        arm: Json = {"name": self.name[:512], "item_ids": list(self.item_ids), "values": list(self.values)}
        arm |= {_COLUMNS.get(label, f"{label}s"): list(column) for label, column in self.labels.items()}
        if max(self.replicates, default=1) > 1:
            arm["replicates"] = list(self.replicates)
        return arm

    def runs(self) -> dict[str, list[float | None]]:
        """By item the values of its runs, in the order of their numbers."""
        by_item: dict[str, list[tuple[int, float | None]]] = {}
        for item_id, number, value in zip(self.item_ids, self.replicates, self.values, strict=True):
            by_item.setdefault(item_id, []).append((number, value))
        return {
            item_id: [value for _, value in sorted(runs, key=lambda run: run[0])]
            for item_id, runs in by_item.items()
        }

    def means(self) -> dict[str, float]:
        """By item the mean of the runs that have a value; items without any are left out."""
        if len(set(self.item_ids)) == len(self.item_ids):
            measured = zip(self.item_ids, self.values, strict=True)
            return {item_id: float(value) for item_id, value in measured if value is not None}
        runs = {item_id: [v for v in values if v is not None] for item_id, values in self.runs().items()}
        return {item_id: math.fsum(values) / len(values) for item_id, values in runs.items() if values}

    def label_of(self, label: str) -> dict[str, str | None]:
        """By item its cluster, slice or task.

        Raises:
            FileFault: rows of one item have several.
        """
        places: dict[str, str | None] = {}
        for item_id, place in zip(self.item_ids, self.labels[label], strict=True):
            if places.setdefault(item_id, place) != place:
                raise FileFault(f"{self.name}: puts item '{item_id}' into two {label}s; mend one")
        return places


def item_twice(item_ids: Sequence[str], replicates: Sequence[int]) -> str | None:
    """Return the first item of which one run stands in two rows; None where there is none."""
    rows = Counter(zip(item_ids, replicates, strict=True))
    return next((item_id for (item_id, _), n in rows.items() if n > 1), None)


@dataclass(frozen=True, slots=True)
class Reading:
    """The systems of the files in their order, how they were read, and what a person should know."""

    systems: Sequence[System]
    sections: Mapping[str, Json]
    """By format the `import` section that the files were read with."""
    remarks: Sequence[str]
    opened: Opened = field(repr=False)
    lower: bool = False
    """Lower values are better."""
    comparable: Mapping[str, str] = field(default_factory=dict)
    """By aspect `same`, `differs` or `unknown`; empty where a question is of one system."""

    @property
    def read(self) -> Json:
        """The section of the only format, or those of all by format."""
        return next(iter(self.sections.values())) if len(self.sections) == 1 else dict(self.sections)

    def label_of(self, label: str) -> dict[str, str]:
        """By item its cluster, slice or task, as any of the systems says it; none says it of items that are not there.

        Raises:
            FileFault: an item has several.
        """
        places: dict[str, str] = {}
        for system in self.systems:
            for item_id, name in system.label_of(label).items():
                if name is not None and places.setdefault(item_id, name) != name:
                    raise FileFault(f"{self.opened.name}: puts item '{item_id}' into two {label}s; mend one")
        return places

    @property
    def by_task(self) -> bool:
        """Files are of several tasks of a suite."""
        return self.opened.by_task

    @property
    def binary(self) -> bool:
        """Every value is 0 or 1."""
        return all(value in (None, 0, 1) for system in self.systems for value in system.values)
