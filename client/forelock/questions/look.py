"""One comparison that grows: items are added, and the answer may be read after each addition; kept in a file.

The interval is a confidence sequence: it holds the true difference at every number of items at once, so that nobody who
reads it, adds items and reads it again errs more often than its level says. What is in stays as it came, in its order.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forelock import files
from forelock.problem import FileFault
from forelock.questions.amounts import margin_of, range_of
from forelock.questions.gate import read_pair
from forelock.questions.kept import read_kept
from forelock.questions.look_answer import answer_of
from forelock.questions.tables.choices import Choices
from forelock.questions.tables.table import Reading, System
from forelock.words import Say

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
Value = float | None
TEST = "sequential"
ENDING = ".look.json"
UNIT = {"low": 0.0, "high": 1.0}
COLUMNS = ("items", "baseline", "candidate", "clusters")
_VALUES = [(float, None)]
_END = (float, None)
SHAPE: Json = {
    "settings": {
        "alpha": float,
        "missing": str,
        "margin": (None, {"value": float, "unit": str}),
        "range": {"low": float, "high": float},
        "largest_cluster": (None, int),
        "lower": bool,
    },
    "looks": [
        {
            "items": [str],
            "baseline": _VALUES,
            "candidate": _VALUES,
            "clusters": [(str, None)],
            "told": {"outcome": str, "ci": (None, {"low": _END, "high": _END}), "n": int},
        }
    ],
}
"""Of the file."""
SETTINGS = tuple(SHAPE["settings"])


@dataclass(frozen=True, slots=True)
class Pair:
    """An item's outcomes in both arms, None where there is none, and what it shares."""

    item: str
    baseline: Value
    candidate: Value
    cluster: str | None


def look(
    asked_of: Client | Local,
    paths: Sequence[str],
    choices: Choices,
    *,
    name: str,
    alpha: float,
    missing: str,
    margin: str | None,
    scores: str | None,
    largest_cluster: int | None,
    say: Say,
) -> tuple[Json, Reading]:
    """Return what all items show that the comparison `name` has seen, once those of the files are in it.

    Args:
        name: its file, with or without `.look.json`.
        alpha: the error over all looks together; like what follows, said at the first look.
        margin: the loss that would be accepted, such as `2pp`.
        scores: the range of scores, such as `1..5`; without it 0 to 1, where they lie there.
        largest_cluster: items that a cluster may have; without it those of the largest at the first look.

    Raises:
        FileFault: files that hold no two systems, other results of an item that is in, a cluster that comes in parts or
            is too large, other settings than the first look's, or a file that is no comparison.
    """
    path = Path(name if name.endswith(".json") else name + ENDING)
    request = {"alpha": alpha, "missing": missing}
    reading = read_pair(asked_of, paths, choices, request, margin=margin, scores=scores)
    settings: Json = {
        "alpha": alpha,
        "missing": missing,
        "margin": None if margin is None else margin_of(margin, binary=reading.binary),
        "range": None if scores is None else range_of(scores),
        "largest_cluster": largest_cluster,
        "lower": reading.lower,
    }
    kept = _read_kept(path, settings)
    pairs = list(_pairs(reading, fail=kept["settings"]["missing"] == "fail"))
    fresh, stale = _new(path, kept["looks"], pairs)
    if not kept["looks"]:
        _begin(kept["settings"], fresh)
    _require(path, kept, fresh)
    looks = [*kept["looks"], _add_look(fresh)] if fresh else kept["looks"]
    names = [system.name for system in reading.systems]
    answer = answer_of(asked_of, TEST, looks, kept["settings"], names, say)
    # Only what was answered is in, and it is in before anybody reads the answer: the file is replaced whole.
    if fresh:
        looks[-1]["told"] = {part: answer[part] for part in ("outcome", "ci", "n")}
        beside = path.with_name(path.name + ".new")
        files.write_bytes(beside, json.dumps({**kept, "looks": looks}, ensure_ascii=False).encode())
        os.replace(beside, path)
    answer["looks"] = [{"added": len(entry["items"]), **entry["told"]} for entry in looks]
    answer["name"], answer["settings"] = path.name.removesuffix(ENDING), kept["settings"]
    answer["late"] = stale
    return answer, reading


def _read_kept(path: Path, settings_given: Json) -> Json:
    """Return what the file has; with the first look the settings that are given, which later ones may only repeat."""
    if not path.exists():
        return {"settings": settings_given, "looks": []}
    kept = read_kept(path, SHAPE)
    if kept is None or any(len({len(entry[name]) for name in COLUMNS}) > 1 for entry in kept["looks"]):
        raise FileFault(f"{path}: is no comparison that grows: name another file with --look")
    settings = {name: kept["settings"][name] for name in SETTINGS}
    usual: Json = {
        "alpha": 0.05,
        "missing": "exclude_pair",
        "margin": None,
        "range": None,
        "largest_cluster": None,
    }
    for name, value in settings_given.items():
        if value != settings[name] and (name not in usual or value != usual[name]):
            raise FileFault(
                f"{path}: was begun with other settings ({name.replace('_', ' ')}), and a change of them after a look "
                "would undo what it promises: leave them out, or name another file with --look"
            )
    return {"settings": settings, "looks": kept["looks"]}


def _pairs(reading: Reading, *, fail: bool) -> Iterator[Pair]:
    """Yield every item of either system; a missing run counts as the worst where missing results do."""
    baseline, candidate = (
        _average_runs(system, lower=reading.lower, fail=fail) for system in reading.systems
    )
    clustered = "cluster" in reading.systems[0].labels
    places: dict[str, str | None] = {}
    for system in reading.systems if clustered else ():
        for item, place in system.label_of("cluster").items():
            if places.setdefault(item, place) != place:
                raise FileFault(f"item '{item}' is in another cluster in the other arm; mend one")
    nothing = (1.0 if reading.lower else 0.0) if fail else None
    for item in dict.fromkeys((*baseline, *candidate)):
        place = (places[item] or item) if clustered else None
        yield Pair(item, baseline.get(item, nothing), candidate.get(item, nothing), place)


def _average_runs(system: System, *, lower: bool, fail: bool) -> dict[str, Value]:
    """Return each item's mean over its runs; with `fail`, runs that are missing count as the worst value."""
    runs = system.runs()
    if not fail:
        known = system.means()
        return {item: known.get(item) for item in runs}
    # A run that is not there failed as well: every item is filled up to the runs of the one that has most.
    most = max(map(len, runs.values()), default=1)
    worst = 1.0 if lower else 0.0
    filled = {
        item: [worst if value is None else value for value in values] + [worst] * (most - len(values))
        for item, values in runs.items()
    }
    return {item: math.fsum(values) / most for item, values in filled.items()}


def _new(path: Path, looks: Sequence[Json], pairs: Sequence[Pair]) -> tuple[list[Pair], int]:
    """Pairs that are not in yet, and how many came too late: what an item lacked when it came, it lacks for good."""
    held: dict[str, Pair] = {}
    for entry in looks:
        rows = zip(*(entry[column] for column in COLUMNS), strict=True)
        held.update({row[0]: Pair(*row) for row in rows})
    fresh, late = [], 0
    for pair in pairs:
        before = held.get(pair.item)
        if before is None:
            fresh.append(pair)
            continue
        if None not in (before.cluster, pair.cluster) and before.cluster != pair.cluster:
            raise FileFault(
                f"{path}: has another cluster of item '{pair.item}': mend the files, or name another"
            )
        for earlier, now in ((before.baseline, pair.baseline), (before.candidate, pair.candidate)):
            if earlier is None and now is not None:
                late += 1
            elif now is not None and earlier != now:
                raise FileFault(
                    f"{path}: has another result of item '{pair.item}', and results stay as they came: add items that "
                    "are not in, or name another file with --look"
                )
    return fresh, late


def _begin(settings: Json, fresh: Sequence[Pair]) -> None:
    """What the first look fixes for all: between what values lie, and how large a cluster may be."""
    values = [value for pair in fresh for value in (pair.baseline, pair.candidate) if value is not None]
    if settings["range"] is None:
        if not all(0 <= value <= 1 for value in values):
            raise FileFault(
                "scores that are looked at again need the least and the greatest there can be, said before: add "
                "--range LOW..HIGH"
            )
        settings["range"] = dict(UNIT)
    sizes = _sizes(fresh)
    if settings["largest_cluster"] is None and sizes:
        settings["largest_cluster"] = max(sizes.values())


def _require(path: Path, kept: Json, fresh: Sequence[Pair]) -> None:
    """Refuse what no interval that was fixed at the first look can hold."""
    settings, looks = kept["settings"], kept["looks"]
    clustered = {place is not None for entry in looks for place in entry["clusters"]}
    if clustered and fresh and (fresh[0].cluster is not None) not in clustered:
        raise FileFault(f"{path}: clusters come or go: give --cluster with every look, or with none")
    low, high = settings["range"]["low"], settings["range"]["high"]
    for pair in fresh:
        for value in (pair.baseline, pair.candidate):
            if value is not None and not low <= value <= high:
                raise FileFault(
                    f"item '{pair.item}' has {value:g}, and scores lie from {low:g} to {high:g}, as the first look "
                    "said: name another file with --look, and --range"
                )
    before = {place for entry in looks for place in entry["clusters"]}
    for place, size in _sizes(fresh).items():
        if place in before:
            raise FileFault(
                f"{path}: cluster '{place}' came at an earlier look, and a cluster comes whole: add its items under "
                "another comparison, or leave them out"
            )
        if size > settings["largest_cluster"]:
            raise FileFault(
                f"cluster '{place}' has {size} items, and the first look took {settings['largest_cluster']} for the "
                "most: begin with --largest-cluster in another file, named by --look"
            )


def _sizes(pairs: Sequence[Pair]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for pair in pairs:
        if pair.cluster is not None:
            sizes[pair.cluster] = sizes.get(pair.cluster, 0) + 1
    return sizes


def _add_look(fresh: Sequence[Pair]) -> Json:
    """A look's items, clusters whole, in an order that knows nothing of outcomes: that of the hashes of their names."""
    rows = sorted(fresh, key=lambda pair: (_hash_name(pair.cluster or pair.item), _hash_name(pair.item)))
    return {
        "items": [pair.item for pair in rows],
        "baseline": [pair.baseline for pair in rows],
        "candidate": [pair.candidate for pair in rows],
        "clusters": [pair.cluster for pair in rows],
    }


def _hash_name(name: str) -> bytes:
    # Ids of JSON may hold half of a surrogate pair, which UTF-8 has no bytes for.
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
