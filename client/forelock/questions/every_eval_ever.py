"""An answer's scores in the format Every Eval Ever: a record for each system, and its rows where the files have them.

Schema 0.3.0. What a record says of the model, the source and the metric is what a record beside the files says; where
there is none it says what the rows tell and what else is known, and `unknown` for the rest.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forelock import files
from forelock.problem import FileFault
from forelock.questions.tables.table import Reading, System

Json = dict[str, Any]
FORM, SCHEMA = "every_eval_ever", "0.3.0"
_MOST = 64 << 20
"""Bytes of a record that is looked into for what it says of its run."""
_ODD = re.compile(r"[^\w.-]+")
"""Characters of a name that no path has there; letters of every script stay, since a model is looked up by its path."""
_LONGEST = 60
"""Characters of a part of a path, so that it has less than 255 bytes in every script."""
_KEPT = ("source_metadata", "model_info", "eval_library", "generation_config")
_CORRECT = " is_correct"


@dataclass(frozen=True, slots=True)
class Scored:
    """What an answer says of one system."""

    mean: float
    n: int
    se: float | None = None
    interval: Mapping[str, Any] | None = None
    """`low`, `high`, `level` and `method`."""
    details: Mapping[str, object] | None = None


def of_score(answer: Mapping[str, Any], reading: Reading) -> dict[str, Scored]:
    """Return what the answer of a score says of its system.

    Raises:
        FileFault: it is that of a suite, whose mean is no metric's.
    """
    if answer.get("suite"):
        raise FileFault("--every-eval-ever writes one metric's scores: leave --suite out")
    (system,) = reading.systems
    details = {"rule": answer["rule"], "outcome": answer["outcome"]}
    return {system.name: Scored(answer["mean"], answer["n"], answer["se"], answer["ci"], details)}


def of_gate(answer: Mapping[str, Any], reading: Reading) -> dict[str, Scored]:
    """What a comparison says of both systems: their means, and in the details the difference, which has no place else.

    Raises:
        FileFault: it is that of a suite, or has no means.
    """
    if answer.get("suite") or answer["baseline_mean"] is None:
        raise FileFault("--every-eval-ever writes one metric's scores: leave --suite out")
    ci = answer["ci"] or {}
    details = {name: answer[name] for name in ("outcome", "delta", "rule") if answer.get(name) is not None}
    details |= {f"delta_{name}": ci[name] for name in ("low", "high", "level") if ci.get(name) is not None}
    pair = dict(zip(("baseline", "candidate"), reading.systems, strict=True))
    arms = answer.get("arms") or {}
    return {
        system.name: Scored(
            answer[f"{role}_mean"], arms.get(f"n_{role}") or answer["n"], details={"role": role, **details}
        )
        for role, system in pair.items()
    }


def write_records(reading: Reading, scored: Mapping[str, Scored], directory: str, now: float) -> list[Path]:
    """Return a record for every system that has a score, with its rows beside it where its files are of this format.

    Raises:
        FileFault: the directory cannot be written.
    """
    written: list[Path] = []
    for system in reading.systems:
        if system.name not in scored:
            continue
        rows = _rows(reading, system)
        runs = set() if rows is None else {str(entry.get("evaluation_id")) for entry in _entries(rows)}
        record = record_of(reading, system, scored[system.name], rows if len(runs) == 1 else None, now)
        place = _place(record)
        path = Path(directory, f"{place}.json")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileFault(f"{path.parent}: {error.strerror or 'cannot be written'}") from error
        if rows is not None and runs == {record["evaluation_id"]}:  # whoever reads both compares them
            record["detailed_evaluation_results"] = _describe_details(place, rows)
            beside = Path(directory, f"{place}_samples.jsonl")
            files.write_bytes(str(beside), rows)
            written.append(beside)
        document = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        files.write_bytes(str(path), document.encode())
        written.append(path)
    return written


def record_of(reading: Reading, system: System, scored: Scored, rows: bytes | None, now: float) -> Json:
    """The record of one system's score, from a record beside its files, else from its rows where one run wrote them.

    `now` in seconds since 1970.
    """
    metric = _metric(reading, system)
    source = _record(reading, system)
    results = source.get("evaluation_results")
    entries = results if isinstance(results, list) else []
    run = {} if source or rows is None else _run_of(rows, metric)
    own: Json = next((entry for entry in entries if _is_of(entry, metric)), run)
    name = str(run.get("model_id") or system.name)
    model = {
        "name": name,
        "id": name,
        "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
    }
    evaluation = str(own.get("evaluation_name") or reading.opened.sides[system.side][0].task)
    kept = {part: source[part] for part in _KEPT if isinstance(source.get(part), dict)}
    details = {
        "answered_by": "forelock",
        **{key: str(value) for key, value in (scored.details or {}).items()},
    }
    result = {
        **({"evaluation_result_id": own["evaluation_result_id"]} if own.get("evaluation_result_id") else {}),
        "evaluation_name": evaluation,
        "source_data": own.get("source_data") or {"dataset_name": evaluation, "source_type": "other"},
        "metric_config": own.get("metric_config")
        or {"metric_name": metric, "lower_is_better": reading.lower},
        "score_details": {"score": scored.mean, "details": details, "uncertainty": _make_uncertainty(scored)},
    }
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{evaluation}/{name}/{now:.6f}",
        "retrieved_timestamp": f"{now:.6f}",
        "source_metadata": {
            "source_name": ", ".join(sorted({Path(path).name for path in reading.opened.paths})),
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "model_info": model,
        "eval_library": {
            "name": "unknown" if reading.opened.form == FORM else reading.opened.form,
            "version": "unknown",
        },
        **kept,
        "evaluation_results": [result],
    }
    named = (source or run).get("evaluation_id")
    if isinstance(named, str):  # its rows name it
        record["evaluation_id"] = named
    return record


def _make_uncertainty(scored: Scored) -> Json:
    """Make the format's `uncertainty` of a score: items, standard error and interval, as far as there are any."""
    uncertainty: Json = {"num_samples": scored.n}
    if scored.se is not None:
        uncertainty["standard_error"] = {"value": scored.se, "method": "analytic"}
    ci = scored.interval
    if ci is not None and ci.get("low") is not None and ci.get("high") is not None:
        interval = {"lower": ci["low"], "upper": ci["high"], "confidence_level": ci.get("level")}
        uncertainty["confidence_interval"] = {
            **{name: value for name, value in interval.items() if value is not None},
            **({"method": str(ci["method"])} if ci.get("method") else {}),
        }
    return uncertainty


def _metric(reading: Reading, system: System) -> str:
    section = reading.sections[_key(reading, system)]
    return str(section.get("metric") or section.get("scorer") or "score")


def _key(reading: Reading, system: System) -> str:
    """Say which section read the system's files."""
    return str(reading.opened.key_of(reading.opened.sides[system.side][0]))


def _is_of(result: Any, metric: str) -> bool:
    name = metric.removesuffix(_CORRECT)
    return isinstance(result, dict) and name in (
        result.get("evaluation_result_id"),
        result.get("evaluation_name"),
    )


def _paths(reading: Reading, system: System) -> list[Path]:
    """Files of this format that the system was read from."""
    pieces = [piece for piece in reading.opened.sides[system.side] if piece.form == FORM]
    return [path for piece in pieces for path in piece.one.paths]


def _record(reading: Reading, system: System) -> Json:
    """Return the one record of a run beside the system's rows; empty where there is none, or several."""
    records = []
    for path in _paths(reading, system):
        try:
            if path.suffix != ".json" or path.stat().st_size > _MOST:
                continue
            document = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(document, dict) and "evaluation_results" in document:
            records.append(document)
    return records[0] if len(records) == 1 else {}


def _rows(reading: Reading, system: System) -> bytes | None:
    """Return the rows as they came; None where the files have none of this format, or hold several systems."""
    here = [other for other in reading.systems if other.side == system.side]
    lines = [path for path in _paths(reading, system) if path.suffix == ".jsonl"]
    if len(lines) != 1 or len(here) != 1:
        return None
    try:
        return lines[0].read_bytes()
    except OSError as error:
        raise FileFault(f"{lines[0]}: {error.strerror or 'cannot be read'}") from error


def _run_of(rows: bytes, metric: str) -> Json:
    """Return what the first row of a metric says of its run."""
    members = ("evaluation_id", "evaluation_name", "evaluation_result_id", "model_id")
    first: Json = next((entry for entry in _entries(rows) if _is_of(entry, metric)), {})
    return {member: first[member] for member in members if isinstance(first.get(member), str)}


def _entries(rows: bytes) -> Iterator[Json]:
    """Return every row; the reader has taken them, so that each is an object."""
    return (json.loads(line) for line in rows.split(b"\n") if line.strip())


def _place(record: Json) -> str:
    """Say where a record is to stand in the datastore: by evaluation, developer and model; the name follows from it."""
    # The datastore names a record by a random UUID; of its content, the same record has the same name.
    digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).digest()
    evaluation = str(record["evaluation_results"][0]["evaluation_name"])
    developer, _, model = str(record["model_info"]["id"]).rpartition("/")
    named = [
        _ODD.sub("_", part).strip("._")[:_LONGEST] or "unknown" for part in (evaluation, developer, model)
    ]
    return "/".join(["data", *named, str(uuid.UUID(bytes=digest[:16], version=4))])


def _describe_details(place: str, rows: bytes) -> Json:
    """Return where the rows stand, with their digest."""
    return {
        "format": "jsonl",
        "file_path": f"{place}_samples.jsonl",
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(rows).hexdigest(),
        "total_rows": rows.count(b"\n") + (not rows.endswith(b"\n")),
    }
