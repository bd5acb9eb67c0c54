"""Tables with a column for each system: which columns those are, and how they are read at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from forelock.columns import SHARED, TABLES, UNNAMED, fitting
from forelock.problem import FileFault
from forelock.questions.tables.choices import Choices, Opened
from forelock.questions.tables.ways import PAIR, ROW, is_outcome, list_texts, meanings_of

Json = dict[str, Any]
Wanted = Literal["named", "every"]
MOST = 200
"""Columns that one section can name."""


def columns_of(opened: Opened, section: Json, choices: Choices, wanted: Wanted) -> list[str]:
    """The columns of the one file that holds all systems which are systems; none where it has one column of values."""
    if opened.form not in TABLES or len(opened.pieces) > 1 or "arm" in section:
        return []
    measures = opened.first.survey["measures"]
    names = choices.names
    if names and len(set(names)) == len(names) and set(names) <= set(measures):
        return names
    if names or choices.metric is not None or "metric" in choices.fields or "value" in measures:
        return []
    # Before a measure that the survey guessed: where one of the two is empty it guesses the other, and a system would
    # be lost in silence.
    if set(PAIR) <= set(measures):
        return list(PAIR)
    if "metric" in section:
        return []
    systems = [name for name in measures if _is_system(name, opened, section, choices)]
    return systems if wanted == "every" and len(systems) > 1 else []


def _is_system(name: str, opened: Opened, section: Json, choices: Choices) -> bool:
    """Tell whether a column may hold one system's outcomes: numbers, or words for right and wrong, of no other use."""
    measures = opened.first.survey["measures"]
    others = {fitted for role in ("item_id", "run", "judge", "cluster") for fitted in fitting(role, measures)}
    labels = set(choices.labels.values())
    if name in others | labels | set(map(str, section.values())) or UNNAMED.fullmatch(name):
        return False
    return is_outcome(measures[name]) and (measures[name]["least"] is None or name.lower() not in SHARED)


def blank_columns(opened: Opened) -> list[str]:
    """Columns without an outcome, of a table that may have one for each system: not where one is called a score."""
    survey = opened.first.survey
    measures = survey["measures"] if opened.form in TABLES else {}
    own = survey["section"].get("metric", "value")
    if own in measures and fitting("value", [own]) and measures[own]["least"] is not None:
        return []
    return [
        name
        for name, measure in measures.items()
        if name.strip() and not UNNAMED.fullmatch(name) and _is_blank(measure)
    ]


def _is_blank(measure: Json) -> bool:
    return measure["least"] is None and not list_texts(measure)


def section_of(opened: Opened, section: Json, columns: Sequence[str]) -> Json:
    """A section that reads all of them, each as an endpoint of its own; rows without an id are items by themselves."""
    if len(columns) > MOST:
        raise FileFault(f"{opened.name}: has {len(columns)} columns of systems, and {MOST} are read at once")
    measures = opened.first.survey["measures"]
    read = {name: value for name, value in section.items() if name not in ("metric", "values")}
    if section.get("item_id", "item_id").removeprefix("sha256:") not in measures and "item_id" not in section:
        read["item_id"] = ROW
    endpoints = []
    for name in columns:
        meanings = meanings_of(measures[name])
        meanings |= section.get("values", {}) if isinstance(section.get("values"), dict) else {}
        endpoints.append({"metric": name, **({"values": meanings} if meanings else {})})
    read |= {"endpoint": "column-0", **endpoints[0]}
    if len(columns) > 1:
        read["endpoints"] = {f"column-{at}": endpoint for at, endpoint in enumerate(endpoints[1:], start=1)}
    return read


def name_of(table: Json, columns: Sequence[str]) -> str:
    """Return the system of a table that was read."""
    endpoint: str = table["endpoint"]
    return columns[int(endpoint.removeprefix("column-"))] if columns else table["arm"]
