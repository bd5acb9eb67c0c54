"""A run of a system among its runs before: posted to the project's series, or kept in a file and judged here."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forelock import files
from forelock.local import Local
from forelock.problem import FileFault
from forelock.questions.amounts import margin_of
from forelock.questions.kept import read_kept
from forelock.questions.tables.choices import Choices
from forelock.questions.tables.reading import read_for
from forelock.questions.tables.systems import take_one
from forelock.questions.tables.table import Reading
from forelock.words import Say

if TYPE_CHECKING:
    from forelock.client import Client

Json = dict[str, Any]
TEST = "run-series"
ENDING = ".series.json"
SHAPE: Json = {
    "settings": {"better?": str, "nights?": str, "margin?": {"value": float, "unit": str}},
    "runs": [
        {
            "name": str,
            "item_ids": [str],
            "values": [(float, None)],
            "clusters?": (None, [str]),
            "reference": bool,
        }
    ],
}
"""Of the file."""
QUOTES = ("'{}'", "“{}”")
"""Of a run's name in a sentence, by language."""


def watch(
    asked_of: Client | Local,
    paths: Sequence[str],
    choices: Choices,
    *,
    series: str,
    run: str | None,
    reference: bool,
    margin: str | None,
    nights: str | None,
    say: Say,
) -> tuple[Json, Reading]:
    """Return what a series shows once a run is in it, and how the run's files were read.

    Args:
        series: its name in the project; without a service its file, with or without `.series.json`.
        run: what the run is called; None: as its first file is.
        margin: the drop that is accepted, such as `2pp`; with the first run.
        nights: `vary`, or `alike` where nothing but chance tells runs apart; with the first run.

    Raises:
        FileFault: files that hold no one system, another run of this name, or a file that is no series.
    """
    reading = read_for(asked_of, [paths], choices, take_one, _run_of)
    body = {"name": run or Path(paths[0]).stem[:200] or "run", **_run_of(reading)}
    settings: Json = {"better": "lower"} if reading.lower else {}
    if nights is not None:
        settings["nights"] = nights
    if margin is not None:
        share = all(value is None or 0 <= value <= 1 for value in body["values"])
        settings["margin"] = margin_of(margin, binary=share)
    if isinstance(asked_of, Local):
        return _here(asked_of, series, body, settings, reference=reference, say=say), reading
    if "/" in series:
        raise FileFault(f"the series '{series}' cannot be in an address: name it without a slash")
    sent = {**body, "reference": reference} | ({"settings": settings} if settings else {})
    return asked_of.post_run(series, sent), reading


def _run_of(reading: Reading) -> Json:
    """One value per item, the mean of its repeats; items without any are null."""
    (system,) = reading.systems
    means = []
    for values in system.runs().values():
        there = [value for value in values if value is not None]
        means.append(math.fsum(there) / len(there) if there else None)
    columns: Json = {"item_ids": list(system.runs()), "values": means}
    if "cluster" in system.labels:
        places = system.label_of("cluster")
        columns["clusters"] = [places[item] or item for item in columns["item_ids"]]
    return columns


def _here(asked_of: Local, series: str, run: Json, settings: Json, *, reference: bool, say: Say) -> Json:
    """Return the same from a file, which the run is added to."""
    path = Path(series if series.endswith(".json") else series + ENDING)
    kept = _read_kept(path, settings)
    same = next((other for other in kept["runs"] if other["name"] == run["name"]), None)
    if same is not None and any(
        same.get(name) != run.get(name) for name in ("item_ids", "values", "clusters")
    ):
        raise FileFault(
            f"{path}: has another run '{run['name']}', and runs stay as they came: name this one with --run"
        )
    if same is None:
        first = not kept["runs"]
        kept["runs"].append({**run, "reference": reference or first})
    answer = asked_of.run(TEST, _request(kept))
    if same is None:
        beside = path.with_name(path.name + ".new")
        files.write_bytes(beside, json.dumps(kept, ensure_ascii=False).encode())
        os.replace(beside, path)
    return _state(path.name.removesuffix(ENDING), kept, answer, say)


def _read_kept(path: Path, settings: Json) -> Json:
    """Read a kept series, or begin one; FileFault where it was begun with other settings."""
    if not path.exists():
        return {"settings": {"nights": "vary", **settings}, "runs": []}
    kept = read_kept(path, SHAPE)
    if (
        kept is None
        or not all(map(_is_whole, kept["runs"]))
        or not all(run["reference"] for run in kept["runs"][:1])
    ):
        raise FileFault(f"{path}: is no series: name another file with --series")
    # a file that does not say was begun before nights could vary
    known = {"nights": "alike", **kept["settings"]}
    if settings and {"nights": known["nights"], **settings} != known:
        raise FileFault(
            f"{path}: was begun with other settings: leave --margin, --lower and --nights out, or name another file"
        )
    return {"settings": known, "runs": kept["runs"]}


def _is_whole(run: Json) -> bool:
    clusters = run.get("clusters")
    return len(run["item_ids"]) == len(run["values"]) == len(run["values"] if clusters is None else clusters)


def _request(kept: Json) -> Json:
    """Return the runs since the newest reference, by item."""
    runs = kept["runs"]
    marks = [bool(run["reference"]) for run in runs]
    start = max(at for at in range(len(runs)) if marks[at] and (at == 0 or not marks[at - 1]))
    runs, marks = runs[start:], marks[start:]
    items = list(dict.fromkeys(item for run in runs for item in run["item_ids"]))
    tables = [dict(zip(run["item_ids"], run["values"], strict=True)) for run in runs]
    request: Json = {
        "runs": [[table.get(item) for item in items] for table in tables],
        "names": [run["name"] for run in runs],
        "n_reference": marks.index(False) if False in marks else len(marks),
        **kept["settings"],
    }
    clustered = [run.get("clusters") is not None for run in runs]
    if any(clustered) and not all(clustered):
        raise FileFault("clusters come or go within the series: give --cluster with every run, or with none")
    if all(clustered):
        places: Json = {}
        for run in runs:
            for item, place in zip(run["item_ids"], run["clusters"], strict=True):
                places.setdefault(item, place)
        request["clusters"] = [places[item] for item in items]
    return request


def _state(name: str, kept: Json, answer: Json, say: Say) -> Json:
    """Return the answer of the test, as a service tells it of a series."""
    analysis = answer["analysis"]
    runs = [
        {"name": entry["run"], "evidence": evidence, "standing": entry, "reference": evidence is None}
        for entry, evidence in zip(analysis["runs"], analysis["evidence"], strict=True)
    ]
    last = [quotes.format(runs[-1]["name"]) for quotes in QUOTES]
    return {
        "name": name,
        "settings": {
            "false_alarm_every": analysis["false_alarm_every"],
            "better": "higher",
            **kept["settings"],
        },
        "outcome": analysis["outcome"],
        "since": analysis["since_run"],
        "alarm": analysis["alarm_run"],
        "headline": analysis["headline"],
        "open": analysis["open"],
        "sentence": analysis["sentence"],
        "e_value": analysis["e_value"],
        "n_runs": len(runs),
        "warnings": [entry for entry in answer["warnings"] if any(name in entry["message"] for name in last)],
        "next": say(f"run_next_{'no_run' if analysis['e_value'] is None else analysis['outcome']}"),
        "runs": runs,
        "provenance": answer["provenance"],
    }
