"""What a result file holds, for whoever writes the plan: measures, places of ids and clusters, and a section to paste.

Files of earlier runs are read with it, before the lock: nothing is blind in them, and nothing is stored.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from forelock.columns import NO_VALUE, TABLES, WORDS, fitting
from service.domain.plans.importing.formats import mapping_of
from service.domain.plans.importing.mapping import Readable
from service.errors import ForelockError
from service.ingest.documents.files import Files
from service.ingest.documents.limits import printable
from service.ingest.documents.numbers import percent
from service.ingest.harnesses.registry import harness_of, open_files
from service.ingest.harnesses.samples import Reader, Sample, bounded, look_up, look_up_id
from service.ingest.mapping.fingerprints import settings_of
from service.ingest.sections import table
from service.ingest.table_columns import OWN_ARM, max_arms, taken

Json = dict[str, Any]
MOST_PATHS, MOST_SHOWN, MOST_DEPTH = 200, 20, 4
_LONGEST = 300
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_SKIPPED = frozenset({"scores", "messages", "resps", "filtered_resps", "arguments", "target", "gradingResult"}) | {
    "namedScores", "metricsData", "assessments", "input", "response", "output", "error", "limit", "traceback", "stats",
}  # fmt: skip
_ID_NAMES = ("item_id", "id", "instance_id", "question_id", "sample_id", "doc_hash", "qid", "name")
_CLUSTER_NAMES = (
    "cluster",
    "conversation",
    "topic",
    "group",
    "repo",
    "repository",
    "category",
    "subject",
    "sub_split",
)
_TASK_NAMES = ("task", "benchmark", "subset", "dataset")
"""Ids may begin anew in every task of a table, so that there are more tasks than a task has items."""
_MEASURE_NAMES = (
    "match",
    "correct",
    "exact_match",
    "exact",
    "acc",
    "accuracy",
    "resolved",
    "success",
    "includes",
)


def survey(files: Files, form: str) -> Json:
    """What the files of one import hold.

    Returns:
        `measures` by name with their values' texts or range and events; `arms`, `ids` and `clusters` by path;
        `replicates`; `partial`, why the run is not whole; `section`, an `import` section to paste; `about`, settings of
        the run by aspect; `lower`, measures of which the file says that lower values are better; `system`, what a card
        of the arm could say.
    """
    reader = open_files(form, files)
    look = _Look(form)
    systems: dict[int, Mapping[str, Any]] = {}
    for sample in bounded(reader.samples()):
        look.add(sample)
        if (system := reader.system_of(sample)) is not None and len(systems) < MOST_PATHS:
            systems[id(system)] = system
    return look.summarize(reader) | {"system": _in_common([*systems.values()] or [reader.system()])}


def _in_common(systems: Sequence[Mapping[str, Any]]) -> Json:
    """What a file says of its system; of several that it holds, what all of them are."""
    first, *others = systems
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def read_files(files: Files, form: str, section: Any, arm: str | None, *, surveyed: bool = False) -> Json:
    """The survey, and with a section the table or the problem that an import would meet."""
    answer: Json = {"survey": None if surveyed else survey(files, form), "table": None, "problem": None}
    if section is not None:
        try:
            answer["table"] = table(files, section, arm)
        except ForelockError as refused:
            answer["problem"] = refused.document()
    return answer


class _Look:
    """What samples have in common, gathered with bounded memory."""

    def __init__(self, form: str) -> None:
        self._form, self._harness = form, harness_of(form)
        self._mapping = mapping_of(form)
        self._is_table = form in TABLES
        self._n = 0
        self._events: Counter[str] = Counter()
        self._measures: dict[str, Json] = {}
        self._paths: dict[str, dict[str, int]] = {}
        self._replicates = 1
        self._numbered: set[str] = set()
        """Paths of which some value is a number and no text."""

    def add(self, sample: Sample) -> None:
        """Count what one sample has."""
        self._n += 1
        self._events.update(sample.events)
        place = self._mapping.DEFAULTS.get("replicate")
        number = look_up(sample.fields, place) if place else 1
        self._replicates = max(self._replicates, number if type(number) is int else 1)
        fields = sample.fields
        rest = self._unknown_cells(fields) if self._is_table and len(fields) <= MOST_PATHS else fields
        names = list(sample.measures)[:MOST_PATHS] if rest is fields else list(rest)
        for name in names:
            if _can_be_written(name) and (name in self._measures or len(self._measures) < MOST_PATHS):
                self._measure(name, sample.measures[name])
        default = self._mapping.DEFAULTS.get("item_id", "")
        if rest is fields or default in rest:
            self._count(default, look_up_id(fields, default))
        for path, value in _leaves(rest, "", 0):
            if path != default:
                self._count(path, value)

    def _unknown_cells(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Counts the cells of a row that stood in their columns before; the others are for the whole look."""
        rest = {}
        for name, value in row.items():
            known = self._paths.get(name)
            if (
                type(value) is str
                and value
                and known is not None
                and value in known
                and name in self._measures
            ):
                known[value] += 1
                self._measures[name]["n"] += 1
            else:
                rest[name] = value
        return rest

    def _measure(self, name: str, measured: Any) -> None:
        entry = self._measures.setdefault(
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
        known = self._paths.get(path)
        if type(value) is str and known is not None and value in known:
            known[value] += 1
            return
        if not isinstance(value, str | int) or isinstance(value, bool) or len(str(value)) > 512:
            return
        if path not in self._paths and len(self._paths) >= MOST_PATHS:
            return
        if isinstance(value, int):
            self._numbered.add(path)
        values = self._paths.setdefault(path, {})
        values[str(value)] = values.get(str(value), 0) + 1

    def summarize(self, reader: Reader) -> Json:
        """All of it, and a section to paste."""
        default = self._mapping.DEFAULTS.get("item_id", "")
        replicate = self._mapping.DEFAULTS.get("replicate")
        counts = {path: len(values) for path, values in self._paths.items()}
        items = counts.get(default, 0)
        ids = [
            path
            for path, n in counts.items()
            if path == default
            or (
                n >= max(items, 1)
                and _last(path) in _ID_NAMES
                and path != self._harness.row_id
                and self._covers(path)
            )
        ]
        ids.sort(key=lambda path: (_rank(path, _ID_NAMES), path != default, path))
        by_row = self._n if self._form in TABLES else 0  # rows without an id are items by themselves
        least = counts.get(ids[0], 0) if ids else by_row
        clusters = {
            path: n
            for path, n in counts.items()
            if 2 <= n <= max(by_row if _last(path) in _TASK_NAMES else 0, least) / 2
            and self._covers(path)
            and path not in (*ids, replicate)
            and path.partition(".")[0] not in self._harness.beside
        }
        clusters = self._without_copies(clusters)
        run = dict(_leaves(reader.run, "", 0)) if reader.run is not None else None
        arms = (
            {path: [printable(str(value))] for path, value in list(run.items())[:MOST_PATHS]}
            if run is not None
            else self._arms()
        )
        places = dict(
            sorted(clusters.items(), key=lambda cluster: (_rank(cluster[0], _CLUSTER_NAMES), cluster[0]))
        )
        return {
            "format": self._form,
            "samples": self._n,
            "partial": reader.partial,
            "events": dict(self._events),
            "measures": dict(sorted(self._measures.items(), key=lambda measure: self._aside(measure[0]))),
            "replicates": max(self._replicates, reader.repeats or 1),
            "ids": {path: counts.get(path, 0) for path in ids},
            "clusters": places,
            "arms": arms,
            "section": self._section(ids, places),
            "about": settings_of(reader.about()),
            "lower": sorted(name for name in reader.lower() if name in self._measures),
        }

    def _aside(self, name: str) -> bool:
        return name.startswith(self._mapping.BOOKKEEPING)

    def _covers(self, path: str) -> bool:
        return sum(self._paths[path].values()) == self._n

    def _without_copies(self, clusters: Mapping[str, int]) -> dict[str, int]:
        """Harnesses write the metadata of a test beside it and within it: of one name and as many rows each, once."""
        kept: dict[str, int] = {}
        for path in sorted(clusters):
            same = (other for other in kept if _last(other) == _last(path))
            if not any(self._paths[other] == self._paths[path] for other in same):
                kept[path] = clusters[path]
        return kept

    def _arms(self) -> dict[str, list[str]]:
        """Places that may tell the arm, with their first values. A table's own column has as many arms as it likes."""
        names: Sequence[str] = self._harness.arms
        most = MOST_SHOWN - 1
        if self._form in TABLES:
            names = fitting("arm", [path for path in self._paths if self._covers(path)])
            most = max_arms(self._n)
        return {
            path: [printable(value) for value in list(values)[:MOST_SHOWN]]
            for path, values in self._paths.items()
            if path in names and (len(values) <= most or path == OWN_ARM)
        }

    def _arm_place(self) -> str | None:
        """The first place that tells all the arms that any place tells apart."""
        counts = {path: len(self._paths[path]) for path in self._arms() if len(self._paths[path]) > 1}
        return next(
            (path for path in self._harness.arms if counts.get(path) == max(counts.values(), default=0)), None
        )

    def _section(self, ids: Sequence[str], clusters: Mapping[str, int]) -> Json:
        section: Json = {"format": self._form}
        default = self._mapping.DEFAULTS.get("item_id")
        columns = taken(self._measures, self._paths, self._n) if self._form in TABLES else None
        if columns is not None:
            section |= columns
        elif ids and ids[0] != default:
            section["item_id"] = ids[0]
        if self._form in TABLES and section.get("item_id", default) in self._numbered:
            section["integer_ids"] = "text"
        splits = self._paths.get("split", {})
        if "split" in self._mapping.model_fields and len(splits) > 1:
            section["split"] = max(splits, key=splits.__getitem__)
        if (arm := self._arm_place()) is not None:
            section["arm"] = arm
        named = [path for path in clusters if _last(path) in _CLUSTER_NAMES]
        if named:
            section["cluster"] = named[0]
        measure = (
            _choose_measure(
                {name: entry for name, entry in self._measures.items() if not self._aside(name)},
                self._mapping,
            )
            if columns is None
            else columns.get("metric", "value" if "value" in self._measures else None)
        )
        if measure is not None:
            # A measure of lm-eval is called `metric,filter`: each of both has a line of its own.
            needs = self._mapping.NEEDS
            section |= zip(needs, measure.split(",") if len(needs) > 1 else [measure], strict=False)
            entry = self._measures[measure]
            values = _values(entry, self._mapping)
            if values:
                section["values"] = values
            happened = {**self._events, **entry["events"]}
        else:
            happened = dict(self._events)
        for event, undecided in self._harness.undecided.items():
            unsaid = self._mapping.DEFAULTS.get(event) is None or (
                event == "error" and self._mapping.SCORED_ERRORS
            )
            if undecided.choice is not None and happened.get(event) and unsaid:
                section[event] = undecided.choice
        return section


def _choose_measure(measures: Mapping[str, Json], mapping: type[Readable]) -> str | None:
    """The measure that a section names: the first that is binary, else the first."""
    if not measures:
        return None
    names = [name for name in measures if name not in ("item_id", "arm", "cluster", "replicate")] or list(
        measures
    )
    if "value" in names:
        return "value"

    def rank(name: str) -> tuple[bool, bool, int]:
        entry = measures[name]
        plain = entry["binary"] and set(entry["texts"]) <= {*mapping.VALUES, "true", "false"}
        varies = len(entry["texts"]) > 1 or entry["least"] != entry["greatest"]
        base = _last(name.partition(",")[0]).lower()
        return not varies, not plain, _MEASURE_NAMES.index(base) if base in _MEASURE_NAMES else 99

    return min(names, key=rank)


def _values(entry: Json, mapping: type[Readable]) -> dict[str, float | str]:
    """Texts that the format says nothing about; beside numbers or known words an unknown one is not guessed."""
    texts: Sequence[str] = entry["texts"]
    if len(texts) > 10:
        return {}
    unsaid = [text for text in texts if text not in mapping.VALUES and not text.endswith("…")]
    known: dict[str, float | str] = {**WORDS, **dict.fromkeys(NO_VALUE, "missing"), "p": 0.5, "n": 0.0}
    meanings = {text: known[text.lower()] for text in unsaid if text.lower() in known}
    if meanings or len(unsaid) < len(texts) or len(unsaid) < 2 or entry["least"] is not None:
        return meanings
    return dict.fromkeys(unsaid, 0.0)


def _leaves(fields: Any, prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Paths of what is text or a whole number, in objects of a few levels."""
    if not isinstance(fields, Mapping) or depth > MOST_DEPTH:
        return
    for name, value in fields.items():
        if not isinstance(name, str) or name in _SKIPPED:
            continue
        path = f"{prefix}.{name}" if prefix else name
        if not _can_be_written(path):
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, path, depth + 1)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            yield path, value


def _can_be_written(name: Any) -> bool:
    """Whether a plan can name it: `Line` of plans, and no half of a surrogate pair."""
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


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _rank(path: str, names: Sequence[str]) -> int:
    last = _last(path)
    return names.index(last) if last in names else len(names)
