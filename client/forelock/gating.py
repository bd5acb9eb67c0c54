"""Two result files as the body of a comparison: which measure, which clusters, and rows by item id."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from forelock.columns import SHARED, TABLES, listed
from forelock.formats import FORMATS
from forelock.gate_ways import (
    PLACES_TRIED,
    Asked,
    Opened,
    arms_elsewhere,
    by_arms,
    by_metric,
    by_set,
    is_near_number,
    meanings,
    open_ends,
    outcome_columns,
)
from forelock.hints import MOST_TRIED, Refused, Way, helped
from forelock.import_files import UnknownFormat, imports_of
from forelock.problem import FileFault, ForelockError
from forelock.reading import read

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
_MARGIN = re.compile(r"((?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][+-]?[0-9]+)?)\s*(pp|%|proportion|score)?")
TRIED_BYTES = 16 * 1024 * 1024
"""Files up to this size are read again to try what a sentence would say."""
_UNITS = {"pp": "pp", "%": "pp", "proportion": "proportion", "score": "score"}


@dataclass(frozen=True, slots=True)
class Rows:
    """The body of a comparison, what the reading decided, and what a person should know."""

    body: Json = field(repr=False)
    section: Json
    remarks: tuple[str, ...]


def rows_of(asked_of: Client | Local, paths: Sequence[str], asked: Asked) -> Rows:
    """The rows of a baseline's and a candidate's file, or of one file that holds two arms.

    Options that a refusal or a remark names were tried: with them these files give an answer.

    Raises:
        FileFault: a file that is not read, a measure or margin that is not there, or other than two arms.
    """
    opened: dict[str | None, Opened] = {}

    def rows(wanted: Asked) -> Rows:
        if wanted.form not in opened:
            opened[wanted.form] = open_sides(asked_of, [[path] for path in paths], wanted)
        return _rows(asked_of, opened[wanted.form], wanted)

    def answer(wanted: Asked) -> None:
        guessed = wanted.fields.get("item_id") != asked.fields.get("item_id")
        if guessed and "replicate" in wanted.fields and "replicate" not in asked.fields:
            raise FileFault("a column whose values repeat tells no items")
        answered = asked_of.compare(rows(wanted).body)
        unpaired = answered["unpaired"]
        if answered["n"] <= unpaired["only_baseline"] + unpaired["only_candidate"]:
            raise FileFault("most items are not paired by it")

    try:
        read_rows = rows(asked)
    except Refused as refused:
        size = sum(each.size for each in opened.values())
        raise helped(answer, refused, MOST_TRIED if size <= TRIED_BYTES else 1) from None
    source = opened[asked.form]

    def arms(wanted: Asked) -> list[Json]:
        body = _rows(asked_of, source, wanted).body
        return [body["baseline"], body["candidate"]]

    return with_shared_source(read_rows, source, asked, arms)


def open_sides(asked_of: Client | Local, paths: Sequence[Sequence[str]], asked: Asked) -> Opened:
    """The files of every side, looked through; a side is named by its first."""
    try:
        sides = [imports_of(path, asked.form) for path in paths]
    except UnknownFormat as unknown:
        ways = [Way(f"--format {each}", replace(asked, form=each)) for each in FORMATS]
        raise Refused(str(unknown), ways) from None
    forms = {form for form, _ in sides}
    if len(forms) > 1:
        ways = [Way(f"--format {form}", replace(asked, form=form)) for form in sorted(forms)]
        raise Refused(f"the files are of different formats: {', '.join(sorted(forms))}", ways)
    (form,) = forms
    surveys = [read(asked_of, one, form)["survey"] for _, ones in sides for one in ones]
    return Opened([path[0] for path in paths], form, [ones for _, ones in sides], surveys)


def _rows(asked_of: Client | Local, opened: Opened, asked: Asked) -> Rows:
    paths, surveys = opened.paths, opened.surveys
    section = section_of(opened, asked)
    columns = _arm_columns(opened, section, asked)
    require_told(opened, section, asked, wide=bool(columns))
    pair = _pair(_sides(asked_of, opened, section, columns, asked), opened, asked, columns)
    by_slice = None
    if asked.slice is not None:
        within = {**section, "cluster": place_of(asked.slice, surveys)}
        by_slice = _pair(_sides(asked_of, opened, within, columns, asked), opened, asked, columns)
    names = _names(paths, pair)
    body: Json = {
        side: columns_of_arm(
            name, table, None if by_slice is None else by_slice[at], clustered=asked.cluster is not None
        )
        for at, (side, name, table) in enumerate(zip(("baseline", "candidate"), names, pair, strict=True))
    }
    if asked.margin is not None:
        body["margin"] = margin_of(asked.margin, binary=_binary(body))
    if asked.range is not None:
        body["range"] = range_of(asked.range)
    remarks = [*_order(names, opened, asked), *remarks_of(surveys, section, asked)]
    return Rows(body, section, tuple(remarks))


def _sides(
    asked_of: Client | Local, opened: Opened, section: Json, columns: Sequence[str], asked: Asked
) -> list[list[Json]]:
    """The arms of every side; those of a wide table are its columns."""
    if columns:
        return [
            [
                table
                for column in columns
                for table in tables_of(asked_of, opened, 0, {**section, "metric": column}, asked, column)
            ]
        ]
    return [tables_of(asked_of, opened, side, section, asked) for side in range(len(opened.sides))]


def _arm_columns(opened: Opened, section: Json, asked: Asked) -> list[str]:
    """The columns that `--arms` names, where one table has a column for each arm."""
    if not opened.alone or opened.form not in TABLES or asked.arms is None or "arm" in section:
        return []
    wanted = _named_arms(asked.arms)
    return wanted if len(set(wanted)) == 2 and set(wanted) <= set(opened.surveys[0]["measures"]) else []


def _named_arms(arms: str) -> list[str]:
    return [name.strip() for name in arms.split(",")]


def with_shared_source(
    rows: Rows, opened: Opened, asked: Asked, arms: Callable[[Asked], Sequence[Json]]
) -> Rows:
    """The rows, with a remark on what items may share where nobody said it; `arms` reads their columns again."""
    if asked.cluster is not None or opened.size > TRIED_BYTES:
        return rows
    shared = _shared_source(rows, opened, asked, arms)
    return replace(rows, remarks=(shared, *rows.remarks)) if shared else rows


def _shared_source(
    rows: Rows, opened: Opened, asked: Asked, arms: Callable[[Asked], Sequence[Json]]
) -> str | None:
    """The first place with one cluster for every item."""
    for path in _clusters_of(opened.surveys, rows.section, asked)[:PLACES_TRIED]:
        try:
            columns = arms(replace(asked, cluster=path, slice=None))
        except ForelockError:
            continue
        labels: dict[str, set[str | None]] = {}
        for arm in columns:
            for item_id, cluster in zip(arm["item_ids"], arm["clusters"], strict=True):
                labels.setdefault(item_id, set()).add(cluster)
        clusters = set().union(*labels.values())
        agreed = None not in clusters and all(len(each) == 1 for each in labels.values())
        if agreed and 2 <= len(clusters) <= len(labels) / 2:
            option = f"--cluster {shlex.quote(path)} ({len(clusters)})"
            return f"items that share a source are not independent: {option} if they do"
    return None


def margin_of(text: str, *, binary: bool) -> Json:
    """`2pp`, `0.02` or `0.5score` as a margin; a bare number is a proportion of 0 and 1, and else score units."""
    match = _MARGIN.fullmatch(text.strip())
    if match is None:
        raise FileFault(f"the margin '{text}' is none: write 2pp, 0.02 or 0.5score")
    unit = _UNITS[match[2]] if match[2] else "proportion" if binary else "score"
    return {"value": float(match[1]), "unit": unit}


def range_of(text: str) -> Json:
    """`1..5` as the least and the greatest score there can be."""
    ends = text.split("..")
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise FileFault(
            f"the range '{text}' is none: write the least and the greatest score there can be, as 1..5"
        )
    return {"low": low, "high": high}


def section_of(opened: Opened, asked: Asked) -> Json:
    """How both files are read: what the first suggests, filled from the other, and what the command line says."""
    section: Json = {}
    for survey in opened.surveys:
        section = {**survey["section"], **section}
    if not opened.alone:
        section.pop("arm", None)  # the file is the arm
    section.pop("cluster", None)
    if asked.metric is not None:
        section |= _measure(opened, asked)
    if asked.cluster is not None:
        section["cluster"] = place_of(asked.cluster, opened.surveys)
    for name, value in asked.fields.items():
        try:
            section[name] = json.loads(value)
        except ValueError:
            section[name] = value
    return section


def require_told(opened: Opened, section: Json, asked: Asked, *, wide: bool) -> None:
    """Refuse a table whose columns of ids or values are not obvious, and words nobody has said the meaning of.

    Raises:
        Refused: with the columns there are, and the options that name one.
    """
    survey, path = opened.surveys[0], opened.name
    columns = list(survey["measures"])
    if opened.form in TABLES and columns:
        item_id, metric = section.get("item_id", "item_id"), section.get("metric", "value")
        if item_id.removeprefix("sha256:") not in columns:
            named = [column for column in columns if column]
            raise _unnamed(opened, "item_id", section, [by_set(asked, "item_id", each) for each in named])
        if metric not in columns and not wide:
            others = outcome_columns(survey, item_id)
            ways = [by_metric(asked, other) for other in others]
            arms = [name for name in others if not survey["measures"][name]["texts"]]
            arms.sort(key=lambda name: not survey["measures"][name]["binary"])  # a margin has one scale
            if opened.alone and "arm" not in section and len(arms) > 1:
                pair = ",".join(arms[:2])
                ways = [Way(f"--arms {shlex.quote(pair)}", replace(asked, arms=pair)), *ways]
            raise _unnamed(opened, "metric", section, ways)
    values = section.get("values")
    if "values" in asked.fields or wide:
        return
    if isinstance(values, dict) and len(values) > 1 and set(values.values()) == {0.0}:
        texts = list(values)
        if all(map(is_near_number, texts)):
            section.pop("values")  # what is the matter with them is said as they are read
            return
        fault = f"{path}: say what its values count as, 1 for right and 0 for wrong"
        raise Refused(fault, list(meanings(texts, asked)))


def _unnamed(opened: Opened, field_: str, section: Json, ways: Sequence[Way[Asked]]) -> Refused[Asked]:
    columns = list(opened.surveys[0]["measures"])
    own = {"item_id": "item_id", "metric": "value"}[field_]
    if field_ in section:
        return Refused(f"{opened.name}: has no column '{section[field_]}'; it has {listed(columns)}", ways)
    what = "tells the items" if field_ == "item_id" else "holds the outcomes"
    otherwise = f"call the column that {what} '{own}' in the first line, or add one"
    return Refused(
        f"{opened.name}: has no column '{own}', and which one stands for it is not plain; it has {listed(columns)}",
        ways,
        otherwise,
    )


def _order(names: Sequence[str], opened: Opened, asked: Asked) -> list[str]:
    if not opened.alone or asked.arms is not None:
        return []
    why = "which the configuration has first" if opened.form == "promptfoo" else "which the file has first"
    turned = shlex.quote(f"{names[1]},{names[0]}")
    return [f"the baseline is '{names[0]}', {why}; --arms {turned} turns them round"]


def _measure(opened: Opened, asked: Asked) -> Json:
    name, names = asked.metric or "", list(opened.surveys[0]["measures"])
    if name not in names:
        close = [each for each in names if each.partition(",")[0] == name]
        if len(close) != 1:
            ways = [by_metric(asked, each) for each in close or names]
            raise Refused(f"there is no measure '{name}'; the file has {', '.join(names) or 'none'}", ways)
        name = close[0]
    if opened.form == "inspect":
        return {"scorer": name}
    metric, comma, filter_ = name.partition(",")
    return {"metric": metric, "filter": filter_} if opened.form == "lm_eval" and comma else {"metric": name}


def place_of(name: str, surveys: Sequence[Json]) -> str:
    """Where a cluster or slice stands: a path, or the last part of the one path that ends so."""
    paths = [path for path in surveys[0]["clusters"] if name in (path, path.rpartition(".")[2])]
    if len(paths) > 1 and name not in paths:
        raise FileFault(f"'{name}' stands in several places: {', '.join(paths)}; name one by its whole path")
    return name if not paths or name in paths else paths[0]


def tables_of(
    asked_of: Client | Local, opened: Opened, side: int, section: Json, asked: Asked, arm: str | None = None
) -> list[Json]:
    """The arms of a side, its files one after the other; `arm` is the one of a column that is read alone."""
    arms: dict[str, Json] = {}
    named = arm or (None if "arm" in section else opened.paths[side])
    for one in opened.sides[side]:
        answer = read(asked_of, one, opened.form, section, named)
        if answer["problem"] is not None:
            raise open_ends(one.name, answer["problem"], opened, asked)
        for table in answer["table"]:
            joined = arms.setdefault(table["arm"], {name: [] for name in _COLUMNS})
            for name in _COLUMNS:
                joined[name] += table[name]
    return [{"arm": name, **columns} for name, columns in arms.items()]


_COLUMNS = ("item_ids", "clusters", "replicates", "values")


def _pair(tables: Sequence[list[Json]], opened: Opened, asked: Asked, columns: Sequence[str]) -> list[Json]:
    """Baseline and candidate."""
    paths = opened.paths
    if columns:
        return list(tables[0])
    if asked.arms is not None:
        wanted = _named_arms(asked.arms)
        held = {table["arm"]: table for side in tables for table in side}
        if len(wanted) != 2 or not set(wanted) <= set(held):
            names = list(held)
            said = f"--arms takes BASELINE,CANDIDATE of {listed(names)}"
            raise Refused(said, [by_arms(names, asked)] if len(names) > 1 else [])
        return [held[name] for name in wanted]
    empty = next((path for side, path in zip(tables, paths, strict=False) if not side), None)
    if empty is not None:
        raise FileFault(f"{empty}: holds no results")
    pair = list(tables[0]) if len(tables) == 1 else [side[0] for side in tables if len(side) == 1]
    if len(pair) != 2:
        names = [table["arm"] for side in tables for table in side]
        ways = [by_arms(names, asked)] if len(names) > 1 else arms_elsewhere(opened, asked)
        otherwise = "name two files, the baseline's first" if len(names) < 2 else ""
        raise Refused(f"{paths[0]}: takes two arms and there are: {listed(names)}", ways, otherwise)
    return pair


def _names(paths: Sequence[str], pair: Sequence[Json]) -> list[str]:
    """What sentences call the arms: as short as tells them apart."""
    if len(paths) == 1:
        return [str(table["arm"]) for table in pair]
    short = [path.rstrip("/").rpartition("/")[2] for path in paths]
    return short if short[0] != short[1] else list(paths)


def columns_of_arm(name: str, table: Json, by_slice: Json | None, *, clustered: bool) -> Json:
    """Columns of one arm, with clusters, slices and runs where there are any."""
    arm: Json = {"name": name[:512], "item_ids": table["item_ids"], "values": table["values"]}
    if clustered:
        arm["clusters"] = table["clusters"]
    if by_slice is not None:
        places = dict(zip(by_slice["item_ids"], by_slice["clusters"], strict=True))
        arm["slices"] = [places.get(item_id) for item_id in table["item_ids"]]
    if max(table["replicates"], default=1) > 1:
        arm["replicates"] = table["replicates"]
    return arm


def _binary(body: Json) -> bool:
    return all(value in (None, 0, 1) for side in ("baseline", "candidate") for value in body[side]["values"])


def _clusters_of(surveys: Sequence[Json], section: Json, asked: Asked) -> list[str]:
    """Places that may say what items share: neither measures nor anything that was read as something else."""
    measured = set(surveys[0]["measures"]) - _LABELS | set(map(str, section.values())) | {asked.slice}
    return [path for path in surveys[0]["clusters"] if path not in measured]


def remarks_of(surveys: Sequence[Json], section: Json, asked: Asked) -> list[str]:
    """What the reading decided by itself, in sentences."""
    remarks = [f"a run {survey['partial']}" for survey in surveys if survey["partial"]]
    chosen = {name: value for name, value in section.items() if name not in _PLACES}
    clusters = _clusters_of(surveys, section, asked)
    others = {*_PLACES, *clusters, *(section.get(name) for name in _PLACED)}
    measures = [name for name in surveys[0]["measures"] if name not in others]
    if asked.metric is None and len(measures) > 1 and "value" not in measures:
        remarks.append(f"of {len(measures)} measures: {', '.join(measures[:8])}; --metric names another")
    places = {name: section[name] for name in ("item_id", "arm", "replicate") if name in section}
    if places:
        placed = ", ".join(f"{_PLACED[name]} by {place}" for name, place in places.items())
        remarks.append(f"{placed}; --set {next(iter(places))}=… names another")
    if chosen:
        remarks.append("read as " + ", ".join(f"{name}={_short(value)}" for name, value in chosen.items()))
    return remarks


_PLACES = ("format", "item_id", "cluster", "arm", "arms", "replicate")
"""Lines of a section that say where something stands."""

_PLACED = {"item_id": "items", "arm": "arms", "replicate": "runs of an item"}

_LABELS = frozenset({"cluster", *SHARED})
"""Columns of a table that are clusters rather than measures."""


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
