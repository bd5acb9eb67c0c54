"""Result files of any harness or layout as one table: systems, and of each its items, runs, values and labels."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forelock.columns import TABLES, list_names, obvious
from forelock.formats import FORMATS
from forelock.hints import MOST_TRIED, Refused, Way, spell_option, try_ways
from forelock.import_files import OneImport, UnknownFormat, imports_of
from forelock.problem import FileFault, ForelockError
from forelock.questions.tables import tasks, wide
from forelock.questions.tables.choices import Choices, Opened, Piece
from forelock.questions.tables.comparable import check_comparable
from forelock.questions.tables.sections import (
    describe_reading,
    find_shared_places,
    is_lower,
    place_of,
    sections_of,
)
from forelock.questions.tables.table import Reading, System, item_twice
from forelock.questions.tables.ways import PLACES_TRIED, by_set, explain_refusal
from forelock.reading import read

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
TRIED_BYTES = 16 * 1024 * 1024
"""Files up to this size are read again to try what a sentence would say."""
NAMED = 4
"""Files up to so many are named in a command that a sentence shows."""
_COLUMNS = ("item_ids", "clusters", "replicates", "values", "status", "contents", "inputs")


Choose = Callable[[Reading, Choices], Reading]
"""Takes the systems that a question is about, or refuses with options that name them."""
Prepare = Callable[[Opened, Choices], Choices]
"""Adds what a question reads of such files beside what the command line says."""


def read_for(
    asked_of: Client | Local,
    sides: Sequence[Sequence[str]],
    choices: Choices,
    choose: Choose,
    attempt: Callable[[Reading], object],
    *,
    columns: wide.Wanted = "named",
    prepare: Prepare = lambda _opened, choices: choices,
    sources: bool = True,
    compares: bool = True,
) -> Reading:
    """Return the systems of some files that a question is about. `sides` are the files of one side each, or one of all.

    Options that a refusal or a remark names were tried: with them `attempt` gives an answer on these files.

    Args:
        columns: whether a table without a column of systems has one for each: only those that `--arms` names, or
            `every` one that may be.
        prepare: adds labels that the question reads, once the files are looked through.
        compares: whether systems are compared, so that they have to be comparable.
        sources: whether items that share a source, and no `--cluster`, deserve a remark.

    Raises:
        FileFault: a file that is not read, a measure that is not there, or other systems than the question takes.
    """
    opened: dict[str | None, Opened] = {}

    def reading(wanted: Choices) -> Reading:
        if wanted.form not in opened:
            opened[wanted.form] = open_sides(asked_of, sides, wanted)
        files = opened[wanted.form]
        if wanted.cluster is None and files.have_cluster_column:
            wanted = replace(wanted, cluster="cluster")
        prepared = prepare(files, wanted)
        chosen = choose(_read_opened(asked_of, files, prepared, columns), prepared)
        return check_comparable(chosen, prepared) if compares and len(chosen.systems) > 1 else chosen

    def answer(wanted: Choices) -> None:
        taken = reading(wanted)
        guessed = wanted.fields.get("item_id") != choices.fields.get("item_id")
        if guessed:
            repeated = any("replicate" in section for section in taken.sections.values())
            _require_items(taken, repeated=repeated and "replicate" not in choices.fields)
        if wanted.slice is not None:
            taken.label_of("slice")  # refuses a guessed column in which an item has several
        attempt(taken)

    try:
        taken = reading(choices)
    except Refused as refused:
        size = sum(source.size for source in opened.values())
        raise try_ways(answer, refused, MOST_TRIED if size <= TRIED_BYTES else 1) from None
    shared = _find_shared_source(taken, choices, reading) if sources else None
    return replace(taken, remarks=(shared, *taken.remarks)) if shared else taken


def _require_items(reading: Reading, *, repeated: bool) -> None:
    """Refuse a guessed column of ids that tells no items."""
    several = len(reading.systems) > 1
    for system in reading.systems:
        rows, items = len(system.item_ids), len(set(system.item_ids))
        # One value in every row is of the file, such as its date.
        if (several and repeated) or items < 2 or items < rows / max(items, 1):
            raise FileFault("a column whose values repeat more often than there are of them tells no items")


def open_sides(asked_of: Client | Local, sides: Sequence[Sequence[str]], choices: Choices) -> Opened:
    """Return the files of every side, looked through.

    Raises:
        Refused: it cannot be told what wrote them.
    """
    try:
        pieces_by_side = [list(_list_imports(paths, choices.form)) for paths in sides]
    except UnknownFormat as unknown:
        ways = [Way(f"--format {form}", replace(choices, form=form)) for form in FORMATS]
        raise Refused(str(unknown), ways) from None
    whole = [one for side in pieces_by_side for one in side]
    pieces_by_side = [
        [(form, part) for form, one in side for part in tasks.split_by_task(form, one)]
        for side in pieces_by_side
    ]
    parts = [one for side in pieces_by_side for one in side]
    if choices.suite is None and len(parts) > len(whole):
        together = Way(
            f"--suite {tasks.OWN}", replace(choices, suite=tasks.OWN), "if together they are a suite"
        )
        ways = [together] if choices.takes_suite else []
        paths, most = max(
            ((paths, len(side)) for paths, side in zip(sides, pieces_by_side, strict=True)),
            key=lambda entry: entry[1],
        )
        if len(paths) > 1:  # folders of several systems look like several tasks of one
            fault = f"{', '.join(paths)}: hold {most} tasks, and are read as one system's"
            raise Refused(fault, ways, "name the files of one; 'forelock rank' compares systems")
        raise Refused(f"{paths[0]}: holds {most} tasks", ways, "name the files of one")
    pieces = [
        [
            Piece(form, one, survey := read(asked_of, one, form)["survey"], tasks.task_of(form, one, survey))
            for form, one in side
        ]
        for side in pieces_by_side
    ]
    return Opened([paths[0] for paths in sides], pieces)


def _list_imports(paths: Sequence[str], form: str | None) -> Iterator[tuple[str, OneImport]]:
    """Yield what is imported together, with its format; files that are of no one format are told apart one by one."""
    try:
        known, ones = imports_of(paths, form)
    except UnknownFormat:
        if len(paths) == 1:
            raise
        for path in paths:
            yield from _list_imports([path], form)
        return
    yield from ((known, one) for one in ones)


def _read_opened(asked_of: Client | Local, opened: Opened, choices: Choices, wanted: wide.Wanted) -> Reading:
    """Return the systems of opened files by the choices, with what was decided on the way."""
    if tasks.takes_tasks_from_files(opened, choices):
        tasks.require_tasks(opened)
        opened, choices = replace(opened, by_task=True), replace(choices, suite=None)
    sections, columns = sections_of(opened, choices, wanted)
    try:
        systems = _read_systems(asked_of, opened, sections, choices, columns)
    except Refused as refused:
        systems = _read_systems_by_run(refused, asked_of, opened, sections, choices, columns)
    remarks = [*describe_reading(opened, sections, choices, columns)]
    remarks += tasks.describe_tasks_of_files(opened, systems) if opened.by_task else []
    lower = choices.lower
    if lower is None:
        lower = any(is_lower(piece.survey, sections[opened.key_of(piece)]) for piece in opened.pieces)
        remarks += ["lower values are better, as the files say; --no-lower turns it round"] if lower else []
    return Reading(systems, sections, remarks, opened, lower)


def _read_systems_by_run(
    refused: Refused[Choices],
    asked_of: Client | Local,
    opened: Opened,
    sections: dict[str, Json],
    choices: Choices,
    columns: Sequence[str],
) -> list[System]:
    """Return the systems of files that were `refused`, with ids that stand there again read as runs or as begun anew.

    They are runs where a column is plainly of runs: `sections` has it afterwards. Ids that begin anew in every task of
    a column are no runs of one item.
    """
    if any("replicate" in section for section in sections.values()):
        raise refused
    # What is tried instead is a guess: where it fails too, the refusal of what was asked for is the one to read.
    if choices.suite is None:
        numbered = _number_by_run(opened, sections, choices)
    else:
        numbered = {key: {**section, "replicate": "order"} for key, section in sections.items()}
    if numbered is None:
        raise refused
    try:
        systems = _read_systems(asked_of, opened, numbered, choices, columns)
    except Refused:
        raise refused from None
    if choices.suite is None:
        sections.update(numbered)
        return systems
    begun_anew = tasks.undo_run_numbers(systems)
    if begun_anew is None:
        raise refused
    return begun_anew


def _number_by_run(opened: Opened, sections: Mapping[str, Json], choices: Choices) -> dict[str, Json] | None:
    """Sections of tables that number runs by the one column that is plainly of them; None where there is none."""
    measures = opened.first.survey["measures"]
    run = obvious("run", measures) if opened.form in TABLES and len(sections) == 1 else None
    if run is None or run in choices.labels.values():
        return None
    counted = not measures[run]["texts"]  # names of runs are no numbers: their rows are in order
    return {key: {**section, "replicate": run if counted else "order"} for key, section in sections.items()}


def _read_systems(
    asked_of: Client | Local,
    opened: Opened,
    sections: Mapping[str, Json],
    choices: Choices,
    columns: Sequence[str],
) -> list[System]:
    """Return the systems of all sides, with a column for each label: a label is read in the place of the clusters."""
    labels = list(choices.labels)
    first, others = (labels[0], labels[1:]) if labels else (None, [])
    tables = _read_tables(asked_of, opened, sections, choices, columns, first)
    columns_by_label: dict[str, list[Sequence[str | None]]] = {}
    if first is not None:
        columns_by_label[first] = [table["clusters"] for table in tables]
    for label in others:
        again = _read_tables(asked_of, opened, sections, choices, columns, label)
        columns_by_label[label] = [table["clusters"] for table in again]
    if opened.by_task:
        columns_by_label["suite"] = [table["tasks"] for table in tables]
    if "suite" in columns_by_label:
        tasks.prefix_ambiguous_ids(tables, columns_by_label["suite"])
    return [
        System(
            table["arm"],
            table["item_ids"],
            table["values"],
            table["replicates"],
            {label: of_label[at] for label, of_label in columns_by_label.items()},
            table["side"],
            _by_item(table, "contents"),
            _by_item(table, "inputs"),
        )
        for at, table in enumerate(tables)
    ]


def _continue_runs(table: Json, runs: Counter[str]) -> None:
    """Number a further file's runs after those that `runs` counts of each item so far, and count them."""
    numbered = zip(table["item_ids"], table["replicates"], strict=True)
    table["replicates"] = [runs[item_id] + number for item_id, number in numbered]
    runs.update(table["item_ids"])


def _require_apart(side: Sequence[Piece], arms: Iterable[Json], choices: Choices, *, by_task: bool) -> None:
    """Refuse files of one system that have a result of an item each: of two systems, or of two runs."""
    for arm in arms:
        rows = zip(arm["tasks"], arm["item_ids"], strict=True)
        item_ids = [f"{task}/{item_id}" for task, item_id in rows] if by_task else arm["item_ids"]
        item_id = item_twice(item_ids, arm["replicates"])
        if item_id is not None:
            fault = (
                f"item '{item_id}' stands in several of the files {list_names([piece.one.name for piece in side])}, "
                f"which are read as one system's ({_commands_apart(side, tasks.OWN if by_task else choices.suite)})"
            )
            way = replace(by_set(choices, "replicate", "order"), when="if each file is a run of the system")
            raise Refused(fault, [way], "ask of one file at a time")


def _commands_apart(side: Sequence[Piece], suite: str | None) -> str:
    """Return the commands that take the files as those of several systems, or one of them."""
    paths = [str(piece.one.paths[0]) for piece in side]
    if len(paths) > NAMED or any(len(piece.one.paths) > 1 for piece in side):
        return "'forelock rank' compares systems, 'forelock score' takes one's"
    suite_option = [] if suite is None else ["--suite", suite]
    rank, score = (
        shlex.join(["forelock", *words, *suite_option]) for words in (["rank", *paths], ["score", paths[0]])
    )
    return f"'{rank}' compares systems, '{score}' takes one's"


def _by_item(table: Json, name: str) -> dict[str, str]:
    """Return what a column says of each item, as its first row does."""
    label_of: dict[str, str] = {}
    for item_id, value in zip(table["item_ids"], table[name], strict=True):
        if value is not None:
            label_of.setdefault(item_id, value)
    return label_of


def _read_tables(
    asked_of: Client | Local,
    opened: Opened,
    sections: Mapping[str, Json],
    choices: Choices,
    columns: Sequence[str],
    label: str | None,
) -> list[Json]:
    """Return the systems' tables, the files of a system one after the other; a side without any is refused.

    What `label` says of a row is read in the place of its cluster.
    """
    if label is not None:
        place = choices.labels[label]
        sections = {
            key: {**section, "cluster": place_of(place, opened.surveys(key))}
            for key, section in sections.items()
        }
    tables: list[Json] = []
    for at, (path, side) in enumerate(zip(opened.paths, opened.sides, strict=True)):
        arms: dict[str, Json] = {}
        runs: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for piece in side:
            section = sections[opened.key_of(piece)]
            named = None if "arm" in section else path
            answer = read(asked_of, piece.one, piece.form, section, named, surveyed=True)
            if answer["problem"] is not None:
                raise explain_refusal(piece, answer["problem"], opened, choices, label or "cluster")
            for table in answer["table"]:
                name = wide.name_of(table, columns)
                empty: Json = {column: [] for column in (*_COLUMNS, "tasks")}
                arm = arms.setdefault(name, {"arm": name, "side": at, **empty})
                arm["tasks"] += [piece.task] * len(table["item_ids"])
                if section.get("replicate") == "order":
                    _continue_runs(table, runs[name])
                for column in _COLUMNS:
                    arm[column] += table.get(column) or [None] * len(table["item_ids"])
        if not arms:
            raise FileFault(f"{path}: holds no results")
        if len(side) > 1:
            _require_apart(side, arms.values(), choices, by_task=opened.by_task)
        tables += arms.values()
    return tables


def _find_shared_source(
    taken: Reading, choices: Choices, reading: Callable[[Choices], Reading]
) -> str | None:
    """Return what items may share where nobody said it: the first place with one cluster for every item."""
    opened = taken.opened
    if "cluster" in taken.systems[0].labels or opened.size > TRIED_BYTES:
        return None
    for path in find_shared_places(opened.surveys(), taken.sections[taken.opened.key], choices)[
        :PLACES_TRIED
    ]:
        try:
            systems = reading(replace(choices, cluster=path)).systems
        except ForelockError:
            continue
        labels: dict[str, set[str | None]] = {}
        for system in systems:
            for item_id, cluster in zip(system.item_ids, system.labels["cluster"], strict=True):
                labels.setdefault(item_id, set()).add(cluster)
        clusters = set().union(*labels.values())
        agreed = None not in clusters and all(len(sources) == 1 for sources in labels.values())
        if agreed and 2 <= len(clusters) <= len(labels) / 2:
            option = f"{spell_option('cluster', path)} ({len(clusters)})"
            return f"items that share a source are not independent: {option} if they do"
    return None
