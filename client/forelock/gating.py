"""Two result files as the body of a comparison: which measure, which clusters, and rows by item id."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forelock.columns import SHARED, TABLES, listed
from forelock.import_files import OneImport, imports_of
from forelock.problem import FileFault
from forelock.reading import read

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
_MARGIN = re.compile(r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(pp|%|proportion|score)?")
_LINE = re.compile(r'"(\w+)": "([^"{}]*)"')
_UNITS = {"pp": "pp", "%": "pp", "proportion": "proportion", "score": "score"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says of the files."""

    margin: str | None = None
    metric: str | None = None
    cluster: str | None = None
    slice: str | None = None
    arms: str | None = None
    form: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    range: str | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The body of a comparison, what the reading decided, and what a person should know."""

    body: Json = field(repr=False)
    section: Json
    remarks: tuple[str, ...]


def rows_of(asked_of: Client | Local, paths: Sequence[str], asked: Asked) -> Rows:
    """The rows of a baseline's and a candidate's file, or of one file that holds two arms.

    Raises:
        FileFault: a file that is not read, a measure or margin that is not there, or other than two arms.
    """
    sides = [imports_of([path], asked.form) for path in paths]
    forms = {form for form, _ in sides}
    if len(forms) > 1:
        raise FileFault(f"the files are of different formats: {', '.join(sorted(forms))}")
    (form,) = forms
    files = [one for _, ones in sides for one in ones]
    surveys = [read(asked_of, one, form)["survey"] for one in files]
    section = _section(form, surveys, asked, alone=len(paths) == 1)
    _require_told(files[0].name, form, surveys[0], section)
    tables = [
        _tables(asked_of, ones, form, section, path) for path, (_, ones) in zip(paths, sides, strict=True)
    ]
    pair = _pair(tables, paths, asked.arms)
    by_slice = None
    if asked.slice is not None:
        place = _place(asked.slice, surveys)
        again = [
            _tables(asked_of, ones, form, {**section, "cluster": place}, path)
            for path, (_, ones) in zip(paths, sides, strict=True)
        ]
        by_slice = _pair(again, paths, asked.arms)
    names = _names(paths, pair)
    body: Json = {
        side: _arm(
            name, table, None if by_slice is None else by_slice[at], clustered=asked.cluster is not None
        )
        for at, (side, name, table) in enumerate(zip(("baseline", "candidate"), names, pair, strict=True))
    }
    if asked.margin is not None:
        body["margin"] = margin_of(asked.margin, binary=_binary(body))
    if asked.range is not None:
        body["range"] = range_of(asked.range)
    remarks = [*_order(names, asked, alone=len(paths) == 1), *_remarks(surveys, section, asked)]
    return Rows(body, section, tuple(remarks))


def margin_of(text: str, *, binary: bool) -> Json:
    """`2pp`, `0.02` or `0.5score` as a margin; a bare number is a proportion of 0 and 1, and else score units."""
    found = _MARGIN.fullmatch(text.strip())
    if found is None:
        raise FileFault(f"the margin '{text}' is none: write 2pp, 0.02 or 0.5score")
    unit = _UNITS[found[2]] if found[2] else "proportion" if binary else "score"
    return {"value": float(found[1]), "unit": unit}


def range_of(text: str) -> Json:
    """`1..5` as the least and the greatest score there can be."""
    ends = text.split("..")
    try:
        low, high = (float(each) for each in ends)
    except ValueError:
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise FileFault(
            f"the range '{text}' is none: write the least and the greatest score there can be, as 1..5"
        )
    return {"low": low, "high": high}


def _section(form: str, surveys: Sequence[Json], asked: Asked, *, alone: bool) -> Json:
    """How both files are read: what the first suggests, filled from the other, and what the command line says."""
    section: Json = {}
    for survey in surveys:
        section = {**survey["section"], **section}
    if not alone:
        section.pop("arm", None)  # the file is the arm
    section.pop("cluster", None)
    if asked.metric is not None:
        section |= _measure(form, surveys, asked.metric)
    if asked.cluster is not None:
        section["cluster"] = _place(asked.cluster, surveys)
    for name, value in asked.fields.items():
        try:
            section[name] = json.loads(value)
        except ValueError:
            section[name] = value
    return section


def _require_told(path: str, form: str, survey: Json, section: Json) -> None:
    """Refuse a table whose columns of ids or values are not obvious, and words nobody has said the meaning of.

    Raises:
        FileFault: with the columns there are, and the option that names one.
    """
    columns = list(survey["measures"])
    if form in TABLES and columns:
        for field_, own, option in (
            ("item_id", "item_id", "--set item_id=COLUMN"),
            ("metric", "value", "--metric COLUMN"),
        ):
            if section.get(field_, own).removeprefix("sha256:") in columns:
                continue
            if field_ in section:
                raise FileFault(f"{path}: has no column '{section[field_]}'; it has {listed(columns)}")
            raise FileFault(
                f"{path}: has no column '{own}', and which one stands for it is not plain; "
                f"it has {listed(columns)}: add {option}"
            )
    values = section.get("values")
    if isinstance(values, dict) and len(values) > 1 and set(values.values()) == {0.0}:
        words = json.dumps(dict.fromkeys(values, "…"), ensure_ascii=False)
        raise FileFault(
            f"{path}: say what its values count as: --set values='{words}', 1 for right and 0 for wrong"
        )


def _order(names: Sequence[str], asked: Asked, *, alone: bool) -> list[str]:
    if not alone or asked.arms is not None:
        return []
    return [
        f"the baseline is '{names[0]}', which the file has first; --arms {names[1]},{names[0]} turns them round"
    ]


def _measure(form: str, surveys: Sequence[Json], name: str) -> Json:
    names = list(surveys[0]["measures"])
    if name not in names:
        close = [each for each in names if each.partition(",")[0] == name]
        if len(close) != 1:
            raise FileFault(f"there is no measure '{name}'; the file has {', '.join(names) or 'none'}")
        name = close[0]
    if form == "inspect":
        return {"scorer": name}
    metric, comma, filter_ = name.partition(",")
    return {"metric": metric, "filter": filter_} if form == "lm_eval" and comma else {"metric": name}


def _place(name: str, surveys: Sequence[Json]) -> str:
    """Where a cluster or slice stands: a path, or the last part of the one path that ends so."""
    paths = [path for path in surveys[0]["clusters"] if name in (path, path.rpartition(".")[2])]
    if len(paths) > 1 and name not in paths:
        raise FileFault(f"'{name}' stands in several places: {', '.join(paths)}; name one by its whole path")
    return name if not paths or name in paths else paths[0]


def _tables(
    asked_of: Client | Local, ones: Sequence[OneImport], form: str, section: Json, path: str
) -> list[Json]:
    """The arms of a side, its files one after the other."""
    arms: dict[str, Json] = {}
    given = None if "arm" in section else path
    for one in ones:
        found = read(asked_of, one, form, section, given)
        if found["problem"] is not None:
            raise FileFault(f"{one.name}: {_reason(found['problem'])}")
        for table in found["table"]:
            arm = arms.setdefault(table["arm"], {name: [] for name in _COLUMNS})
            for name in _COLUMNS:
                arm[name] += table[name]
    return [{"arm": name, **columns} for name, columns in arms.items()]


_COLUMNS = ("item_ids", "clusters", "replicates", "values")


def _reason(problem: Json) -> str:
    """What is open, and the option for each line of the import section that would close it."""
    faults = [each for each in problem.get("errors") or () if each.get("fix")]
    if not faults:
        return str(problem["detail"])
    return "; ".join(f"{each['message']}; {_option(each['path'], each['fix'])}" for each in faults[:3])


def _option(path: str, fix: str) -> str:
    """A fix of the import section as the command line takes it."""
    said = _LINE.sub(lambda found: f"--set {found[1]}={found[2]}", fix)
    return said if said != fix else f"--set {path.removeprefix('import.')}=… ({fix})"


def _pair(tables: Sequence[list[Json]], paths: Sequence[str], arms: str | None) -> list[Json]:
    """Baseline and candidate."""
    if arms is not None:
        wanted = [name.strip() for name in arms.split(",")]
        held = {table["arm"]: table for side in tables for table in side}
        if len(wanted) != 2 or not set(wanted) <= set(held):
            raise FileFault(f"--arms takes BASELINE,CANDIDATE of {', '.join(held)}")
        return [held[name] for name in wanted]
    empty = next((path for side, path in zip(tables, paths, strict=False) if not side), None)
    if empty is not None:
        raise FileFault(f"{empty}: holds no results")
    found = list(tables[0]) if len(tables) == 1 else [side[0] for side in tables if len(side) == 1]
    if len(found) != 2:
        names = ", ".join(table["arm"] for side in tables for table in side)
        raise FileFault(
            f"{paths[0]}: takes two arms and there are: {names}; name them with --arms BASELINE,CANDIDATE"
        )
    return found


def _names(paths: Sequence[str], pair: Sequence[Json]) -> list[str]:
    """What sentences call the arms: as short as tells them apart."""
    if len(paths) == 1:
        return [str(table["arm"]) for table in pair]
    short = [path.rstrip("/").rpartition("/")[2] for path in paths]
    return short if short[0] != short[1] else list(paths)


def _arm(name: str, table: Json, by_slice: Json | None, *, clustered: bool) -> Json:
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


def _remarks(surveys: Sequence[Json], section: Json, asked: Asked) -> list[str]:
    remarks = []
    measured = set(surveys[0]["measures"]) - _LABELS | set(map(str, section.values())) | {asked.slice}
    clusters = {path: n for path, n in surveys[0]["clusters"].items() if path not in measured}
    if asked.cluster is None and clusters:
        path, n = next(iter(clusters.items()))
        remarks.append(f"items that share a source are not independent: --cluster {path} ({n}) if they do")
    remarks += [f"a run {survey['partial']}" for survey in surveys if survey["partial"]]
    chosen = {name: value for name, value in section.items() if name not in _PLACES}
    others = {*_PLACES, *clusters, *(section.get(name) for name in _PLACED)}
    measures = [name for name in surveys[0]["measures"] if name not in others]
    if asked.metric is None and len(measures) > 1 and "value" not in measures:
        remarks.append(f"of {len(measures)} measures: {', '.join(measures[:8])}; --metric names another")
    places = {name: section[name] for name in ("item_id", "arm", "replicate") if name in section}
    if places:
        told = ", ".join(f"{_PLACED[name]} by {place}" for name, place in places.items())
        remarks.append(f"{told}; --set {next(iter(places))}=… names another")
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
