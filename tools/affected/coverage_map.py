"""Which test runs which function and reads which file, as the last recorded runs saw it.

A table of bits, one row a test and one column a part: `path::function` of the checkout's Python files, or the path of
any other file. It lies in `.do`, is no part of the checkout, and `./do map` makes it anew.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .changes import ROOT

PLACE = ROOT / ".do" / "coverage-map.npz"


@dataclass
class CoverageMap:
    """What each test runs.

    Attributes:
        parts: names of the columns.
        tests: names of the rows, as pytest names them.
        seconds: CPU time of each test, its set-up included.
        bits: (tests, parts), true where the test runs the part.
    """

    parts: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    bits: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), bool))

    def merge(self, newer: CoverageMap) -> CoverageMap:
        """Both maps; where a test file was recorded again, nothing of its earlier rows is kept."""
        again = {name.partition("::")[0] for name in newer.tests}
        kept = [row for row, name in enumerate(self.tests) if name.partition("::")[0] not in again]
        parts = sorted({*self.parts, *newer.parts})
        column = {part: index for index, part in enumerate(parts)}
        bits = np.zeros((len(kept) + len(newer.tests), len(parts)), bool)
        bits[: len(kept), [column[part] for part in self.parts]] = self.bits[kept]
        bits[len(kept) :, [column[part] for part in newer.parts]] = newer.bits
        tests = [self.tests[row] for row in kept] + newer.tests
        return CoverageMap(parts, tests, np.concatenate([self.seconds[kept], newer.seconds]), bits)

    def follow_moves(self, present: Collection[str]) -> CoverageMap:
        """The map with today's paths: a file that went stands for the one file of its name in the same two rooms.

        Where a file was recorded under both paths, a test that ran either counts, and of a test the later row.
        """
        places: dict[tuple[str, str], list[str]] = {}
        for path in present:
            places.setdefault(_identify(path), []).append(path)

        def rename(name: str) -> str:
            path, colons, rest = name.partition("::")
            candidates = (
                places.get(_identify(path), []) if path.endswith(".py") and path not in present else []
            )
            return candidates[0] + colons + rest if len(candidates) == 1 else name

        columns = [rename(part) for part in self.parts]
        rows = {rename(name): row for row, name in enumerate(self.tests)}
        if columns == self.parts and list(rows) == self.tests:
            return self
        rows |= {name: row for row, name in enumerate(self.tests) if rename(name) == name}
        kept = list(rows.values())
        parts = sorted(set(columns))
        place = {part: index for index, part in enumerate(parts)}
        # A row a part: a column of so wide a table is thousands of places apart, and took seconds to walk along.
        by_part = np.zeros((len(parts), len(rows)), bool)
        for before, part in zip(np.ascontiguousarray(self.bits[kept].T), columns, strict=True):
            by_part[place[part]] |= before
        bits = np.ascontiguousarray(by_part.T)
        return CoverageMap(parts, list(rows), self.seconds[kept], bits)

    def save(self, place: Path = PLACE) -> None:
        """Write the map; whoever reads meanwhile sees the earlier one whole."""
        half = place.with_suffix(f".{os.getpid()}.npz")
        np.savez_compressed(
            half,
            parts=np.array("\n".join(self.parts)),
            tests=np.array("\n".join(self.tests)),
            seconds=self.seconds,
            bits=np.packbits(self.bits, axis=1),
        )
        half.replace(place)


def _identify(path: str) -> tuple[str, str]:
    """What a file keeps as it moves within service/stats: that, and its name."""
    rooms, name = path.split("/")[:2], path.rpartition("/")[2]
    return "/".join(rooms if len(rooms) > 1 and rooms[1] != name else rooms[:1]), name


def load_map(place: Path = PLACE) -> CoverageMap:
    """The map of the last recorded runs; an empty one where none was recorded."""
    if not place.exists():
        return CoverageMap()
    with np.load(place) as stored:
        parts = str(stored["parts"]).split("\n")
        bits = np.unpackbits(stored["bits"], axis=1, count=len(parts)).astype(bool)
        return CoverageMap(parts, str(stored["tests"]).split("\n"), stored["seconds"], bits)


def add_to_map(newer: CoverageMap, place: Path = PLACE) -> None:
    """Adds what was recorded to the stored map, which other processes may do at the same time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        load_map(place).merge(newer).save(place)
