"""How result files are read: an `import` section from what they suggest and what the command line says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from forelock.columns import SHARED, TABLES, fitting, list_names
from forelock.formats import LINES, OWN_LINES
from forelock.hints import Refused
from forelock.problem import FileFault
from forelock.questions.tables.choices import Choices, Opened
from forelock.questions.tables.tasks import describe_sections, format_line
from forelock.questions.tables.ways import (
    ROW,
    by_metric,
    by_set,
    is_near_number,
    meanings_of,
    outcome_columns,
    ways_to_meanings,
    ways_to_wide,
)
from forelock.questions.tables.wide import Wanted, blank_columns, columns_of, section_of

Json = dict[str, Any]
_PLACES = ("format", "item_id", "cluster", "arm", "arms", "replicate", "endpoint", "endpoints")
"""Lines of a section that say where something stands."""
_PLACED = {"item_id": "items", "arm": "arms", "replicate": "runs of an item"}
_WORDS_SAID = "say what its values count as, 1 for right and 0 for wrong"
_BESIDE_SAID = {"run": "runs", "judge": "judgements"}
_BESIDE = frozenset({"cluster", *SHARED})
"""Columns of a table that items share rather than measures."""


def sections_of(opened: Opened, choices: Choices, wanted: Wanted) -> tuple[dict[str, Json], list[str]]:
    """By format, or by task, how its files are read; and the columns that are systems, where a table has such.

    What the first file suggests, filled from the others, and what the command line says.

    Raises:
        FileFault: there is no such measure or line, or it is not plain what the columns of a table are.
    """
    lines = {form: {*LINES, *OWN_LINES[form].split()} for form in opened.forms}
    strange = next(
        (name for name in choices.fields if not any(name in known_lines for known_lines in lines.values())),
        None,
    )
    if strange is not None:
        known = sorted(set().union(*lines.values()) - {"format"})
        raise FileFault(f"--set takes {', '.join(known)} of such files, and not '{strange}'")
    sections = {}
    for key, form in opened.keys.items():
        surveys = opened.surveys(key)
        section: Json = {}
        for survey in surveys:
            section = {**survey["section"], **section}
        if not opened.alone:
            section.pop("arm", None)  # the file is the arm
        section.pop("cluster", None)
        if choices.metric is not None:
            section |= _measure(key, opened, choices)
        if choices.cluster is not None:
            section["cluster"] = place_of(choices.cluster, surveys)
        section |= {name: _line(value) for name, value in choices.fields.items() if name in lines[form]}
        sections[key] = section
    columns = columns_of(opened, sections[opened.key], choices, wanted) if opened.alone else []
    if columns:
        sections[opened.key] = section_of(opened, sections[opened.key], columns)
    _require_known(opened, sections[opened.key], choices, wide=bool(columns))
    return sections, columns


def _line(value: str) -> object:
    """What a line says: JSON where that is an object, a list, a text, or true or false; else a name as it stands.

    No line takes a number or null: these are columns of a table that nobody named.
    """
    try:
        said = json.loads(value)
    except ValueError:
        return value
    return said if isinstance(said, dict | list | str | bool) else value


def _measure(key: str, opened: Opened, choices: Choices) -> Json:
    """Return the lines of a section that read the measure which the command line names."""
    form, name, names = opened.keys[key], choices.metric or "", list(opened.surveys(key)[0]["measures"])
    if name not in names:
        close = [other for other in names if other.partition(",")[0] == name]
        if len(close) != 1:
            if any(name in survey["measures"] for survey in opened.surveys()):
                return {}  # it is a measure of files of another format or task
            ways = [by_metric(choices, other) for other in close or names]
            raise Refused(f"there is no measure '{name}'; the file has {', '.join(names) or 'none'}", ways)
        name = close[0]
    if form == "inspect":
        return {"scorer": name}
    if form in TABLES:
        meanings = meanings_of(opened.surveys(key)[0]["measures"][name])
        return {"metric": name, **({"values": meanings} if meanings else {})}
    metric, comma, filter_ = name.partition(",")
    return {"metric": metric, "filter": filter_} if form == "lm_eval" and comma else {"metric": name}


def place_of(name: str, surveys: Sequence[Json]) -> str:
    """Say where a cluster, slice or task stands: a path, or the last part of the one path that ends so."""
    paths = [path for path in surveys[0]["clusters"] if name in (path, path.rpartition(".")[2])]
    if len(paths) > 1 and name not in paths:
        raise FileFault(f"'{name}' stands in several places: {', '.join(paths)}; name one by its whole path")
    return name if not paths or name in paths else paths[0]


def _require_known(opened: Opened, section: Json, choices: Choices, *, wide: bool) -> None:
    """Refuse a table whose columns of ids or values are not obvious, and words nobody has said the meaning of.

    Raises:
        Refused: with the columns there are, and the options that name one.
    """
    survey, path = opened.first.survey, opened.name
    columns = list(survey["measures"])
    if opened.form in TABLES and columns:
        item_id, metric = section.get("item_id", "item_id"), section.get("metric", "value")
        if item_id.removeprefix("sha256:") not in (*columns, ROW):
            ways = [by_set(choices, "item_id", column) for column in columns]
            others = [role for role in ("item_id", "arm", "run", "judge") if fitting(role, columns)]
            if opened.alone and (len(columns) == 1 or not others):
                ways.append(
                    replace(by_set(choices, "item_id", ROW), when="if every row is an item of its own")
                )
            raise _refuse_unnamed(opened, "item_id", section, ways)
        if metric not in columns and not wide:
            others = outcome_columns(survey, item_id)
            ways = [by_metric(choices, other) for other in others]
            ways = [*ways_to_wide(opened, section, choices, others), *ways]
            raise _refuse_unnamed(opened, "metric", section, ways)
    values = section.get("values")
    if "values" in choices.fields or wide:
        return
    if isinstance(values, dict) and len(values) > 1 and set(values.values()) == {0.0}:
        texts = list(values)
        if all(map(is_near_number, texts)):
            section.pop("values")  # what is the matter with them is said as they are read
            return
        fault = f"{path}: {_WORDS_SAID}"
        raise Refused(fault, list(ways_to_meanings(texts, choices)), beside=_WORDS_SAID)


def _refuse_unnamed(opened: Opened, field_: str, section: Json, ways: Sequence[Any]) -> Refused[Choices]:
    """Return the refusal of a table in which it is not plain which column has the ids or the values."""
    columns = list(opened.first.survey["measures"])
    own = {"item_id": "item_id", "metric": "value"}[field_]
    if field_ in section:
        return Refused(
            f"{opened.name}: has no column '{section[field_]}'; it has {list_names(columns)}", ways
        )
    what = "tells the items" if field_ == "item_id" else "holds the outcomes"
    otherwise = f"call the column that {what} '{own}' in the first line, or add one"
    blank = blank_columns(opened) if field_ == "metric" else []
    if blank:
        why = f"see why no cell of {list_names(blank)} holds an outcome (a list or an object is none)"
        otherwise = f"{why}, or {otherwise}"
    return Refused(
        f"{opened.name}: has no column '{own}', and which one stands for it is not plain; it has {list_names(columns)}",
        ways,
        otherwise,
    )


def is_lower(survey: Json, section: Json) -> bool:
    """Tell whether a file says that lower values of the measure that is read are better."""
    named = [section.get(name) for name in ("scorer", "metric", "filter")]
    return ",".join(name for name in named if name is not None) in survey.get("lower", ())


def find_shared_places(surveys: Sequence[Json], section: Json, choices: Choices) -> list[str]:
    """Places that may say what items share: neither measures nor anything that was read as something else."""
    labels = set(choices.labels.values())
    measured = set(surveys[0]["measures"]) - _BESIDE | set(map(str, section.values())) | labels
    return [path for path in surveys[0]["clusters"] if path not in measured]


def describe_reading(
    opened: Opened, sections: dict[str, Json], choices: Choices, columns: Sequence[str]
) -> list[str]:
    """Return what the reading decided by itself, in sentences; `columns` are those of systems."""
    remarks = [f"a run {survey['partial']}" for survey in opened.surveys() if survey["partial"]]
    if opened.by_task:
        return list(dict.fromkeys([*remarks, describe_sections(sections)]))
    for form, section in sections.items():
        of = f" (in files of {form})" if len(sections) > 1 else ""
        remarks += [
            remark + of for remark in _describe_section(opened.surveys(form), section, choices, columns)
        ]
    return list(dict.fromkeys(remarks))


def _describe_section(
    surveys: Sequence[Json], section: Json, choices: Choices, columns: Sequence[str]
) -> list[str]:
    """Return what the reading decided by itself for one format, in sentences."""
    remarks = []
    chosen = {name: value for name, value in section.items() if name not in _PLACES}
    shared = find_shared_places(surveys, section, choices)
    others = {*_PLACES, *shared, *(section.get(name) for name in _PLACED), *choices.labels.values()}
    measures = [name for name in surveys[0]["measures"] if name not in others]
    if columns:
        chosen.pop("metric", None)
        if choices.arms is None:
            fewer = "--arm names one" if choices.names_by == "arm" else "--arms names fewer"
            remarks.append(f"systems are the columns {list_names(columns)}; {fewer}")
    elif choices.metric is None and len(measures) > 1 and "value" not in measures:
        remarks.append(f"of {len(measures)} measures: {', '.join(measures[:8])}; --metric names another")
    if choices.cluster == "cluster":
        remarks.append("clusters by cluster; --cluster names another column")
    places = {name: section[name] for name in _PLACED if name in section}
    if "run" in choices.beside:
        places.pop("replicate", None)
    if places:
        placed = ", ".join(f"{_PLACED[name]} by {place}" for name, place in places.items())
        remarks.append(f"{placed}; --set {next(iter(places))}=… names another")
    guessed = {name: place for name, place in choices.beside.items() if name in _BESIDE_SAID}
    if guessed:
        beside = ", ".join(f"{_BESIDE_SAID[name]} by {place}" for name, place in guessed.items())
        remarks.append(f"{beside}; --set {next(iter(guessed))}=… names another")
    if chosen:
        remarks.append(
            "read as " + ", ".join(f"{name}={format_line(value)}" for name, value in chosen.items())
        )
    return remarks
