"""What the samples of a result file have in common: their measures, and how often each value stands in each place.

A file may have any number of samples, paths and values: what is kept of them has limits.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from forelock.columns import TABLES
from service.domain.plans.importing.formats import mapping_of
from service.ingest.documents.limits import printable
from service.ingest.documents.numbers import percent
from service.ingest.harnesses.registry import harness_of
from service.ingest.harnesses.samples import Sample, look_up, look_up_id

Json = dict[str, Any]
MOST_PATHS, MOST_SHOWN, MOST_DEPTH = 200, 20, 4
_LONGEST = 300
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_SKIPPED = frozenset({"scores", "messages", "resps", "filtered_resps", "arguments", "target", "gradingResult"}) | {
    "namedScores", "metricsData", "assessments", "input", "response", "output", "error", "limit", "traceback", "stats",
}  # fmt: skip


class Tally:
    """What samples have in common, gathered with bounded memory."""

    def __init__(self, form: str) -> None:
        self.form, self.harness = form, harness_of(form)
        self.mapping = mapping_of(form)
        self._is_table = form in TABLES
        self.n = 0
        """Samples."""
        self.events: Counter[str] = Counter()
        self.measures: dict[str, Json] = {}
        """By name: `n`, the first texts, the range of numbers, whether all are 0 or 1, and events."""
        self.paths: dict[str, dict[str, int]] = {}
        """By path of an identifying field: how many samples have each of its values."""
        self.replicates = 1
        self.numbered: set[str] = set()
        """Paths of which some value is a number and no text."""

    def add(self, sample: Sample) -> None:
        """Count what one sample has."""
        self.n += 1
        self.events.update(sample.events)
        place = self.mapping.DEFAULTS.get("replicate")
        number = look_up(sample.fields, place) if place else 1
        self.replicates = max(self.replicates, number if type(number) is int else 1)
        fields = sample.fields
        rest = self._unknown_cells(fields) if self._is_table and len(fields) <= MOST_PATHS else fields
        names = list(sample.measures)[:MOST_PATHS] if rest is fields else list(rest)
        for name in names:
            if can_be_written(name) and (name in self.measures or len(self.measures) < MOST_PATHS):
                self._count_measure(name, sample.measures[name])
        default = self.mapping.DEFAULTS.get("item_id", "")
        if rest is fields or default in rest:
            self._count(default, look_up_id(fields, default))
        for path, value in leaves(rest, "", 0):
            if path != default:
                self._count(path, value)

    def _unknown_cells(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Count the cells of a row that stood in their columns before; the others are left to be looked at whole."""
        rest = {}
        for name, value in row.items():
            known = self.paths.get(name)
            if (
                type(value) is str
                and value
                and known is not None
                and value in known
                and name in self.measures
            ):
                known[value] += 1
                self.measures[name]["n"] += 1
            else:
                rest[name] = value
        return rest

    def _count_measure(self, name: str, measured: Any) -> None:
        """Count one value of a measure: its events, the texts it takes, or the range of its numbers."""
        entry = self.measures.setdefault(
            name, {"n": 0, "texts": [], "least": None, "greatest": None, "binary": True, "events": {}}
        )
        entry["n"] += 1
        if measured.event is not None:
            entry["events"][measured.event] = entry["events"].get(measured.event, 0) + 1
        value = measured.value
        if isinstance(value, bool | str):
            text = value if isinstance(value, str) else str(value).lower()
            number = _number(text) if self._is_table and isinstance(measured.value, str) else None
            if number is None:
                text = printable(text)
                if text and text not in entry["texts"] and len(entry["texts"]) < MOST_SHOWN:
                    entry["texts"].append(text)
                return
            value = number
        if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
            entry["binary"] = entry["binary"] and value in (0, 1)
            entry["least"] = value if entry["least"] is None else min(entry["least"], value)
            entry["greatest"] = value if entry["greatest"] is None else max(entry["greatest"], value)

    def _count(self, path: str, value: Any) -> None:
        """Count a text or whole number of this place, within limits: 512 characters a value, `MOST_PATHS` places."""
        known = self.paths.get(path)
        if type(value) is str and known is not None and value in known:
            known[value] += 1
            return
        if not isinstance(value, str | int) or isinstance(value, bool) or len(str(value)) > 512:
            return
        if path not in self.paths and len(self.paths) >= MOST_PATHS:
            return
        if isinstance(value, int):
            self.numbered.add(path)
        values = self.paths.setdefault(path, {})
        values[str(value)] = values.get(str(value), 0) + 1

    def covers(self, path: str) -> bool:
        """Return True for a path that every sample has a value at."""
        return sum(self.paths[path].values()) == self.n


def leaves(fields: Any, prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Return the paths of what is text or a whole number, in objects of a few levels."""
    if not isinstance(fields, Mapping) or depth > MOST_DEPTH:
        return
    for name, value in fields.items():
        if not isinstance(name, str) or name in _SKIPPED:
            continue
        path = f"{prefix}.{name}" if prefix else name
        if not can_be_written(path):
            continue
        if isinstance(value, Mapping):
            yield from leaves(value, path, depth + 1)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            yield path, value


def can_be_written(name: Any) -> bool:
    """Tell whether a plan can name it: `Line` of plans, and no half of a surrogate pair."""
    return isinstance(name, str) and len(name) <= _LONGEST and _is_line(name)


@lru_cache(1 << 10)
def _is_line(name: str) -> bool:
    """Kept for the columns of a table, which are asked about again with every row."""
    return _LINE.fullmatch(name) is not None


def _number(text: str) -> float | None:
    share = percent(text)
    if share is not None:
        return share
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
