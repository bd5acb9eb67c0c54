"""Tasks of a suite: the files of each, what each is called, and items whose ids begin anew in every task."""

from __future__ import annotations

import argparse
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from forelock.columns import TABLES
from forelock.formats import TOGETHER
from forelock.import_files import OneImport
from forelock.problem import FileFault
from forelock.questions.tables.choices import Choices, Opened
from forelock.questions.tables.table import Reading, System

Json = dict[str, Any]
OWN = "task"
"""`--suite task`: the column of that name, or else each file's own task."""
_OF_MODEL = ("model", "model_deployment")
_SAMPLES, _RESULTS = "samples_", "results"


def split_by_task(form: str, one: OneImport) -> list[OneImport]:
    """Return the files of several tasks that would be one import, task by task; as it is where they are of one."""
    if form not in TOGETHER:
        return [one]
    if form == "lm_eval":
        samples = [path for path in one.paths if path.name.startswith(_SAMPLES)]
        return (
            [OneImport((path, *_results_file(path, one.paths))) for path in samples]
            if len(samples) > 1
            else [one]
        )
    runs = sorted({path.parent for path in one.paths if path.name == "per_instance_stats.json"})
    if form != "helm" or len(runs) < 2:
        return [one]
    return [OneImport(tuple(path for path in one.paths if path.parent == run)) for run in runs]


def _results_file(samples: Path, paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the results file of the same run: of its folder, and of its time where there are several."""
    beside = [path for path in paths if path.parent == samples.parent and path.name.startswith(_RESULTS)]
    timed = [path for path in beside if samples.stem.endswith(path.stem.removeprefix(_RESULTS))]
    yield from (timed or beside)[:1]


def task_of(form: str, one: OneImport, survey: Json) -> str:
    """Return what a file's task is called: by the harness where the file says it, else the file's name."""
    if form == "helm" and (names := survey["arms"].get("name")):
        name, colon, rest = names[0].partition(":")
        kept = [part for part in rest.split(",") if part and part.partition("=")[0] not in _OF_MODEL]
        return f"{name}{colon}{','.join(kept)}" if kept else str(name)
    task = survey.get("about", {}).get("task")
    if isinstance(task, str) and task and not task.startswith(("{", "[", "sha256:")):
        return task
    path = one.paths[0]
    own = survey["measures"].get(OWN) if form in TABLES else None
    if own is not None and own["least"] is None and len(own["texts"]) == 1:
        return str(own["texts"][0])
    if form == "lm_eval" and path.stem.startswith(_SAMPLES):  # samples_TASK_2026-11-21T23-20-38.480968
        return path.stem.removeprefix(_SAMPLES).rpartition("_")[0] or path.stem
    return path.stem


def takes_tasks_from_files(opened: Opened, choices: Choices) -> bool:
    """Tell whether tasks are those of the files, rather than a column of theirs."""
    if choices.suite != OWN:
        return False
    columns = [path for path in opened.first.survey["clusters"] if path.rpartition(".")[2] == OWN]
    if columns and opened.form in TABLES:
        return False
    return not columns or any(len({piece.task for piece in side}) > 1 for side in opened.sides)


def require_tasks(opened: Opened) -> None:
    """Refuse a table whose column of tasks tells none: its files would be read as one task each, in silence.

    Raises:
        FileFault: naming the file.
    """
    for piece in opened.pieces:
        own = piece.survey["measures"].get(OWN) if piece.form in TABLES else None
        if own is not None and (len(own["texts"]) > 1 or own["least"] != own["greatest"]):
            raise FileFault(
                f"{piece.one.name}: its column '{OWN}' tells no tasks: every row has to name one, and several rows "
                f"the same; leave --suite out, or name another column with it"
            )


def describe_tasks_of_files(opened: Opened, systems: Sequence[System]) -> list[str]:
    """What a person should know of tasks that are told by their files: that there is one, or one set of items."""
    names = list(dict.fromkeys(piece.task for piece in opened.pieces))
    if len(names) == 1:
        return [f"there is one task, {names[0]}: a suite has a column '{OWN}' of several, or a file of each"]
    if (
        opened.form not in TABLES
        or not opened.alone
        or any(len(piece.one.paths) > 1 for piece in opened.pieces)
    ):
        return []
    for system in systems:
        items: dict[str, set[str]] = {}
        for task, item_id in zip(system.labels["suite"], system.item_ids, strict=True):
            items.setdefault(str(task), set()).add(item_id.removeprefix(f"{task}/"))
        if len(items) != len(names) or len(set(map(frozenset, items.values()))) > 1:
            return []
    paths = [str(piece.one.paths[0]) for piece in opened.pieces]
    rank = shlex.join(["forelock", "rank", *paths])
    return [f"each file is read as a task, and all have the same items; if they are systems, ask '{rank}'"]


def describe_sections(sections: Mapping[str, Json]) -> str:
    """Say how each task's files are read, those that are read alike together."""
    tasks: dict[str, list[str]] = {}
    for task, section in sections.items():
        chosen = {name: section[name] for name in ("scorer", "metric", "filter", "split") if name in section}
        reading_text = ", ".join(f"{name}={format_line(value)}" for name, value in chosen.items())
        tasks.setdefault(reading_text, []).append(task)
    return "; ".join(
        f"{', '.join(names)} read as {reading_text}" for reading_text, names in tasks.items() if reading_text
    )


def format_line(value: object) -> str:
    """Return a line of a section as a sentence shows it: a text as it stands, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def undo_run_numbers(systems: Sequence[System]) -> list[System] | None:
    """Return the systems with every row as run 1 of its item: ids that begin anew in every task were numbered as runs.

    None where one task has an id twice, so that its rows are runs indeed.
    """
    numbered = []
    for system in systems:
        rows = list(zip(system.labels["suite"], system.item_ids, strict=True))
        if len(set(rows)) < len(rows):
            return None
        numbered.append(replace(system, replicates=[1] * len(rows)))
    return numbered


def prefix_ambiguous_ids(tables: Sequence[Json], suites: Sequence[Sequence[str | None]]) -> None:
    """Put the task before every item id, in place, where one id stands in several tasks.

    Raises:
        FileFault: an item has no task.
    """
    tasks: dict[str, set[str]] = {}
    for table, suite in zip(tables, suites, strict=True):
        for item_id, task in zip(table["item_ids"], suite, strict=True):
            if task is None:
                raise FileFault(
                    f"{table['arm']}: item '{item_id}' has no task, and others have; name one for every item"
                )
            tasks.setdefault(item_id, set()).add(task)
    if all(len(names) == 1 for names in tasks.values()):
        return
    for table, suite in zip(tables, suites, strict=True):
        named = zip(suite, table["item_ids"], strict=True)
        table["item_ids"] = [f"{task}/{item_id}" for task, item_id in named]


def describe_missing_tasks(systems: Sequence[System]) -> list[str]:
    """Sentences on tasks that some system has no row of."""
    if not systems or "suite" not in systems[0].labels:
        return []
    held = {system.name: {task for task in system.labels["suite"] if task is not None} for system in systems}
    every = sorted(set().union(*held.values()))
    sentences = []
    for name, tasks in held.items():
        gone = [task for task in every if task not in tasks]
        if gone:
            first = ", ".join(gone[:5]) + (f" and {len(gone) - 5} more" if len(gone) > 5 else "")
            sentences.append(f"'{name}' lacks {len(gone)} of {len(every)} tasks: {first}")
    return sentences


def suite_body(reading: Reading, choices: Choices) -> Json:
    """Return how the tasks that were read make a suite, as a part of a request; nothing without tasks."""
    return {"suite": dict(choices.together)} if "suite" in reading.systems[0].labels else {}


def read_choices(options: argparse.Namespace) -> Choices:
    """Return what the options of a command with `--suite` say of the files, and how their tasks make a suite.

    Raises:
        FileFault: weights of no suite, or a suite and slices.
    """
    choices = Choices.of(options)
    if choices.suite is None:
        if options.weights is not None or getattr(options, "new_tasks", False):
            raise FileFault("--weights and --new-tasks are of a suite: name it with --suite")
        return choices
    if choices.slice is not None:
        raise FileFault("--slice is of one task: leave it or --suite out")
    new_tasks = getattr(options, "new_tasks", False)  # rankings speak of these tasks alone
    return replace(choices, together=suite_of(options.weights, new_tasks=new_tasks))


def suite_of(weights: str | None, *, new_tasks: bool) -> Json:
    """`equal`, `items` or a file of weights, and perhaps of scales, as the body of a request.

    Raises:
        FileFault: the file is none of weights.
    """
    suite: Json = {"estimand": "new_tasks"} if new_tasks else {}
    if weights is None or weights in ("equal", "items"):
        return {**suite, "weights": weights or "equal"}
    return {**suite, **_read_weights(Path(weights))}


def _read_weights(path: Path) -> Json:
    """Return a JSON object of tasks to weights, or to `weight`, `floor` and `ceiling`."""
    way = 'write a JSON object such as {"code": 2, "maths": {"weight": 1, "floor": 0.25, "ceiling": 1}}'
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileFault(
            f"--weights takes equal, items or a file, and {path} cannot be read: {error.strerror}"
        ) from error
    except ValueError:
        raise FileFault(f"{path}: is no JSON; {way}") from None
    if not isinstance(document, dict) or not document:
        raise FileFault(f"{path}: has no weights; {way}")
    weights: Json = {}
    scales: Json = {}
    for task, entry in document.items():
        line = entry if isinstance(entry, dict) else {"weight": entry}
        # json reads NaN, Infinity and 1e400, which no request can hold; a NaN is below nothing.
        numbers = {
            k: value for k, value in line.items() if type(value) in (int, float) and abs(value) < math.inf
        }
        strange = set(line) - {"weight", "floor", "ceiling"} or set(line) - set(numbers)
        if strange or ("floor" in line) != ("ceiling" in line):
            raise FileFault(f"{path}: task '{task}' has no weight that can be read; {way}")
        weights[task] = numbers.get("weight", 1)
        if "floor" in numbers:
            scales[task] = {"floor": numbers["floor"], "ceiling": numbers["ceiling"]}
    return {"weights": weights, **({"rescale": scales} if scales else {})}
