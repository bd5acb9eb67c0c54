"""What a result file holds, for whoever writes the plan: measures, places of ids and clusters, and a section to paste.

Files of earlier runs are read with it, before the lock: nothing is blind in them, and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forelock.columns import NO_VALUE, TABLES, WORDS, fitting
from service.domain.plans.importing.mapping import Readable
from service.errors import ForelockError
from service.ingest.documents.files import Files
from service.ingest.documents.limits import printable
from service.ingest.harnesses.registry import harness_of
from service.ingest.harnesses.samples import bound_samples
from service.ingest.mapping.fingerprints import settings_of
from service.ingest.sections import table
from service.ingest.table_columns import OWN_ARM, max_arms, recognize_columns
from service.ingest.tally import MOST_PATHS, MOST_SHOWN, Json, Tally, leaves

_ID_NAMES = ("item_id", "id", "instance_id", "question_id", "sample_id", "doc_hash", "qid", "name")
_CLUSTER_NAMES = (
    "cluster", "conversation", "topic", "group", "repo", "repository", "category", "subject", "sub_split",
)  # fmt: skip
_TASK_NAMES = ("task", "benchmark", "subset", "dataset")
"""Ids may begin anew in every task of a table, so that there are more tasks than a task has items."""
_MEASURE_NAMES = (
    "match", "correct", "exact_match", "exact", "acc", "accuracy", "resolved", "success", "includes",
)  # fmt: skip


def survey(files: Files, form: str) -> Json:
    """Return what the files of one import hold.

    Returns:
        `measures` by name with their values' texts or range and events; `arms`, `ids` and `clusters` by path;
        `replicates`; `partial`, why the run is not whole; `section`, an `import` section to paste; `about`, settings of
        the run by aspect; `lower`, measures of which the file says that lower values are better; `system`, what a card
        of the arm could say.
    """
    reader = harness_of(form).open(files, form, None)
    tally = Tally(form)
    systems: dict[int, Mapping[str, Any]] = {}
    for sample in bound_samples(reader.samples()):
        tally.add(sample)
        if (system := reader.system_of(sample)) is not None and len(systems) < MOST_PATHS:
            systems[id(system)] = system
    ids = _rank_ids(tally)
    clusters = _rank_clusters(tally, ids)
    return {
        "format": tally.form,
        "samples": tally.n,
        "partial": reader.partial,
        "events": dict(tally.events),
        "measures": dict(
            sorted(tally.measures.items(), key=lambda measure: _is_bookkeeping(tally, measure[0]))
        ),
        "replicates": max(tally.replicates, reader.repeats or 1),
        "ids": {path: len(tally.paths.get(path, ())) for path in ids},
        "clusters": clusters,
        "arms": _find_arms(tally) if reader.run is None else _read_arms_of_run(reader.run),
        "section": _suggest_section(tally, ids, clusters),
        "about": settings_of(reader.about()),
        "lower": sorted(name for name in reader.lower() if name in tally.measures),
        "system": _common_fields([*systems.values()] or [reader.system()]),
    }


def _common_fields(systems: Sequence[Mapping[str, Any]]) -> Json:
    """Return what a file says of its system; of several that it holds, what all of them are."""
    first, *others = systems
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def read_files(files: Files, form: str, section: Any, arm: str | None, *, surveyed: bool = False) -> Json:
    """Return the survey, and with a section the table or the problem that an import would meet."""
    answer: Json = {"survey": None if surveyed else survey(files, form), "table": None, "problem": None}
    if section is not None:
        try:
            answer["table"] = table(files, section, arm)
        except ForelockError as refused:
            answer["problem"] = refused.document()
    return answer


def _rank_ids(tally: Tally) -> list[str]:
    """Places that may tell the item, the likeliest first."""
    default = tally.mapping.DEFAULTS.get("item_id", "")
    # A place that tells fewer items apart than the format's own names something else.
    least = max(len(tally.paths.get(default, ())), 1)
    ids = [
        path
        for path, values in tally.paths.items()
        if path == default
        or (
            len(values) >= least
            and _last_name(path) in _ID_NAMES
            and path != tally.harness.row_id
            and tally.covers(path)
        )
    ]
    return sorted(ids, key=lambda path: (_rank(path, _ID_NAMES), path != default, path))


def _rank_clusters(tally: Tally, ids: Sequence[str]) -> dict[str, int]:
    """Places that may tell the cluster, with their number of clusters, the likeliest first."""
    by_row = tally.n if tally.form in TABLES else 0  # rows without an id are items by themselves
    items = len(tally.paths[ids[0]]) if ids else by_row
    counts = {path: len(values) for path, values in tally.paths.items()}
    clusters = {
        path: n
        for path, n in counts.items()
        # Of items in pairs at the least: what has more values is no cluster of them.
        if 2 <= n <= max(by_row if _last_name(path) in _TASK_NAMES else 0, items) / 2
        and tally.covers(path)
        and path not in (*ids, tally.mapping.DEFAULTS.get("replicate"))
        and path.partition(".")[0] not in tally.harness.beside
    }
    ranked = sorted(_without_copies(tally, clusters), key=lambda path: (_rank(path, _CLUSTER_NAMES), path))
    return {path: clusters[path] for path in ranked}


def _is_bookkeeping(tally: Tally, name: str) -> bool:
    """Tell whether a measure is of the requests, such as a number of tokens, and says nothing of the answers."""
    return name.startswith(tally.mapping.BOOKKEEPING)


def _without_copies(tally: Tally, clusters: Mapping[str, int]) -> dict[str, int]:
    """Without places that say what another of their name says: a test's metadata stands beside it and within it."""
    distinct: dict[str, int] = {}
    for path in sorted(clusters):
        same = (other for other in distinct if _last_name(other) == _last_name(path))
        if not any(tally.paths[other] == tally.paths[path] for other in same):
            distinct[path] = clusters[path]
    return distinct


def _find_arms(tally: Tally) -> dict[str, list[str]]:
    """Places that may tell the arm, with their first values. A table's own column has as many arms as it likes."""
    names: Sequence[str] = tally.harness.arms
    most = MOST_SHOWN - 1
    if tally.form in TABLES:
        names = fitting("arm", [path for path in tally.paths if tally.covers(path)])
        most = max_arms(tally.n)
    return {
        path: [printable(value) for value in list(values)[:MOST_SHOWN]]
        for path, values in tally.paths.items()
        if path in names and (len(values) <= most or path == OWN_ARM)
    }


def _read_arms_of_run(run: Mapping[str, Any]) -> dict[str, list[str]]:
    """Places that may tell the arm of a file that holds one run: what it says of the run beside its samples."""
    places = dict(leaves(run, "", 0))
    return {path: [printable(str(value))] for path, value in list(places.items())[:MOST_PATHS]}


def _arm_place(tally: Tally) -> str | None:
    """Return the first place that tells all the arms that any place tells apart."""
    counts = {path: len(tally.paths[path]) for path in _find_arms(tally) if len(tally.paths[path]) > 1}
    return next(
        (path for path in tally.harness.arms if counts.get(path) == max(counts.values(), default=0)), None
    )


def _suggest_section(tally: Tally, ids: Sequence[str], clusters: Mapping[str, int]) -> Json:
    """Return an `import` section to paste, with the likeliest place for all that the format does not fix."""
    section: Json = {"format": tally.form}
    default = tally.mapping.DEFAULTS.get("item_id")
    columns = recognize_columns(tally.measures, tally.paths, tally.n) if tally.form in TABLES else None
    if columns is not None:
        section |= columns
    elif ids and ids[0] != default:
        section["item_id"] = ids[0]
    if tally.form in TABLES and section.get("item_id", default) in tally.numbered:
        section["integer_ids"] = "text"
    splits = tally.paths.get("split", {})
    if "split" in tally.mapping.model_fields and len(splits) > 1:
        section["split"] = max(splits, key=splits.__getitem__)
    if (arm := _arm_place(tally)) is not None:
        section["arm"] = arm
    named = [path for path in clusters if _last_name(path) in _CLUSTER_NAMES]
    if named:
        section["cluster"] = named[0]
    section |= _suggest_measure(tally, columns)
    return section


def _suggest_measure(tally: Tally, columns: Json | None) -> Json:
    """The lines of a section that name the measure, read its texts, and say what became of samples without a value.

    `columns` are the lines by which a table is read; None where it is no such table.
    """
    lines: Json = {}
    if columns is not None:
        measure = columns.get("metric", "value" if "value" in tally.measures else None)
    else:
        names = [name for name in tally.measures if not _is_bookkeeping(tally, name)]
        measure = _choose_measure({name: tally.measures[name] for name in names}, tally.mapping)
    happened = dict(tally.events)
    if measure is not None:
        entry, needs = tally.measures[measure], tally.mapping.NEEDS
        # A measure of lm-eval is called `metric,filter`: each of both has a line of its own.
        lines |= zip(needs, measure.split(",") if len(needs) > 1 else [measure], strict=False)
        if values := _suggest_values(entry, tally.mapping):
            lines["values"] = values
        happened |= entry["events"]
    for event, undecided in tally.harness.undecided.items():
        unsaid = tally.mapping.DEFAULTS.get(event) is None or (
            event == "error" and tally.mapping.SCORED_ERRORS
        )
        if undecided.choice is not None and happened.get(event) and unsaid:
            lines[event] = undecided.choice
    return lines


def _choose_measure(measures: Mapping[str, Json], mapping: type[Readable]) -> str | None:
    """Return the measure that a section names: the first that is binary, else the first."""
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
        base = _last_name(name.partition(",")[0]).lower()
        return not varies, not plain, _MEASURE_NAMES.index(base) if base in _MEASURE_NAMES else 99

    return min(names, key=rank)


def _suggest_values(entry: Json, mapping: type[Readable]) -> dict[str, float | str]:
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


def _last_name(path: str) -> str:
    """Return the name at the end of a path."""
    return path.rpartition(".")[2]


def _rank(path: str, names: Sequence[str]) -> int:
    """Where the end of a path stands among names in their order of trust; behind all of them where it is none."""
    last = _last_name(path)
    return names.index(last) if last in names else len(names)
