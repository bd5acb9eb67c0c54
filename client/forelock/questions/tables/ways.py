"""What may help where result files are refused: options of the command line by what is open, for the gate to try."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from forelock.columns import NO_VALUE, TABLES, UNNAMED, WORDS, fitting, list_names
from forelock.hints import Refused, Way, spell_option
from forelock.questions.tables.choices import LABELS, Choices, Opened, Piece, listing

Json = dict[str, Any]
_LINE = re.compile(r'"(\w+)": ("[^"{}]*"(?:(?:, | or )"[^"{}]*")*)')
"""A line of the import section within a sentence, and the values that it may have."""
_NEAR_NUMBER = re.compile(r"[-+]?[0-9.]+\s*%|[-+]?[0-9.]*(?:[,' \u00a0\u2009\u202f][0-9]+)+(?:\.[0-9]+)?")
"""Percentages, and numbers with a decimal comma or a separator of thousands."""
PLACES_TRIED = 6
TASK_NAMES = ("task", "benchmark", "subset", "dataset")
"""What people call a column of tasks."""
PAIR = ("baseline", "candidate")
"""Columns of these names are two systems, in this order."""
ROW = "(row)"
"""Where an item goes by the number of its row."""
_MOST_WORDS = 10


def explain_refusal(
    piece: Piece, problem: Json, opened: Opened, choices: Choices, label: str
) -> Refused[Choices]:
    """Return the refusal that an import's `problem` stands for, with the options that may mend it.

    `label` (cluster, slice or suite) is what was read in the place of the cluster, so that a fault in the import
    section's `cluster` is one of that label.
    """
    faults = problem.get("errors") or [{"path": "", "message": problem["detail"], "fix": ""}]
    ways = [way for fault in faults[:3] for way in _ways_of(fault, piece, opened, choices, label)]
    absent = _absent_column(piece, choices, label) if faults[0]["path"] == "import.cluster" else ""
    if absent:
        return Refused(f"{piece.one.name}: {absent}", ways, "" if ways else f"leave --{label} out, or add it")
    held = _systems_within(opened, piece, choices)
    if held is not None and faults[0]["path"] == "import.item_id":  # its rows are no runs of one system
        within = f"holds several systems by {held}, and each of several files is read as one system's"
        by_column = replace(by_set(choices, "arm", held), when=f"to read the systems that {held} names")
        return Refused(
            f"{piece.one.name}: {within}", [by_column], "name one file that holds all, or a file for each"
        )
    messages = "; ".join(dict.fromkeys(str(fault["message"]) for fault in faults[:3]))
    otherwise = "; ".join(dict.fromkeys(str(fault["fix"]) for fault in faults[:3] if fault["fix"]))
    return Refused(f"{piece.one.name}: {messages}", ways, otherwise)


def _absent_column(piece: Piece, choices: Choices, label: str) -> str:
    """That a table lacks the column of a label, and which columns it has; empty where it has it."""
    place, columns = choices.labels.get(label), list(piece.survey["measures"])
    if piece.form not in TABLES or place is None or place in (*columns, *piece.survey["clusters"]):
        return ""
    return f"has no column '{place}'; it has {list_names(columns)}"


def _may_group(column: str, survey: Json, choices: Choices) -> bool:
    """Tell whether items may share what stands in a column: outcomes of right and wrong are none of that."""
    measure = survey["measures"].get(column)
    if column in (*choices.names, choices.metric or "value", "item_id"):
        return False
    return measure is None or not measure["binary"] or bool(measure["texts"])


def _ways_of(
    fault: Json, piece: Piece, opened: Opened, choices: Choices, label: str
) -> Iterator[Way[Choices]]:
    """Yield what one open line of the import section may be."""
    line, survey = fault["path"].removeprefix("import."), piece.survey
    if line == "cluster":
        places = [path for path in survey["clusters"] if _may_group(path, survey, choices)]
        for path in places[:PLACES_TRIED]:
            if label in LABELS:
                yield Way(spell_option(label, path), replace(choices, **{label: path}))
        return
    if line == "item_id":
        for path in (
            id_place for id_place in survey["ids"] if id_place and id_place != choices.fields.get("item_id")
        ):
            yield by_set(choices, "item_id", path)
        yield from arms_elsewhere(opened, choices) if opened.alone else ()
    for name, alternatives in _LINE.findall(fault["fix"]):
        if name == "replicate" and choices.takes_suite and choices.suite is None:
            places = [path for path in survey["clusters"] if path.rpartition(".")[2] in TASK_NAMES]
            for place in places:
                way = Way(spell_option("suite", place), replace(choices, suite=place))
                yield replace(way, when="if ids begin anew in every task")
        when = "if an item's rows are runs of it" if name == "replicate" else ""
        for value in re.findall(r'"([^"{}]*)"', alternatives):
            yield replace(by_set(choices, name, value), when=when)
    if line == "values" and piece.form in TABLES:
        read = [survey["measures"][name] for name in _columns_read(survey, choices)]
        texts = list(dict.fromkeys(text for measure in read for text in list_texts(measure)))
        if all(measure["least"] is None for measure in read):
            yield from ways_to_meanings(texts, choices)
        else:
            yield from _ways_to_no_results(texts, choices)
    if line in ("metric", "scorer"):
        item_id = choices.fields.get("item_id") or survey["section"].get("item_id", "item_id")
        names = outcome_columns(survey, item_id) if piece.form in TABLES else survey["measures"]
        yield from (by_metric(choices, name) for name in names)


def _systems_within(opened: Opened, piece: Piece, choices: Choices) -> str | None:
    """The place that names several systems in a file which is read as one system's because there are other files."""
    place = piece.survey["section"].get("arm")
    several = len(piece.survey["arms"].get(place, ())) > 1
    return place if several and not opened.alone and "arm" not in choices.fields else None


def _columns_read(survey: Json, choices: Choices) -> list[str]:
    """Return the columns of a table that values were read from: one, or that of each system."""
    measures, section = survey["measures"], survey["section"]
    named = choices.metric or choices.fields.get("metric")
    systems = [name for name in choices.names or PAIR if name in measures]
    if named is None and len(systems) > 1:
        return systems
    metric = named or section.get("metric", "value")
    if metric in measures:
        return [metric]
    return outcome_columns(survey, choices.fields.get("item_id") or section.get("item_id", "item_id"))


def by_set(choices: Choices, name: str, value: str) -> Way[Choices]:
    """Return the option that sets a line of the import section on the command line."""
    return Way(
        spell_option("set", f"{name}={value}"), replace(choices, fields={**choices.fields, name: value})
    )


def by_metric(choices: Choices, name: str) -> Way[Choices]:
    """Return the option that reads another measure of the files."""
    return Way(spell_option("metric", name), replace(choices, metric=name))


def by_arms(names: Sequence[str], choices: Choices) -> Way[Choices]:
    """Return the option that names the first two of several systems, as baseline and candidate."""
    pair = listing(names[:2])
    return Way(spell_option("arms", pair), replace(choices, arms=pair))


def arms_elsewhere(opened: Opened, choices: Choices) -> list[Way[Choices]]:
    """Places that tell several arms, and columns of a table without one that may be of them."""
    survey = opened.first.survey
    named = [path for path, names in survey["arms"].items() if path and len(names) > 1]
    if named or opened.form not in TABLES or "arm" in {**survey["section"], **choices.fields}:
        return [by_set(choices, "arm", path) for path in named]
    items, rows = max(survey["ids"].values(), default=0), survey["samples"]
    taken = {*choices.labels.values(), *map(str, survey["section"].values())}
    texts = {name for name, measure in survey["measures"].items() if measure["least"] is None}
    # Ids that repeat, and as often as the column has values at most: every item stands once under each of them.
    return [
        replace(by_set(choices, "arm", path), when=f"if {path} names the systems")
        for path, n in survey["clusters"].items()
        if items < rows <= n * items and path not in taken and path in texts and path not in TASK_NAMES
    ]


def ways_to_wide(
    opened: Opened, section: Json, choices: Choices, columns: Sequence[str]
) -> list[Way[Choices]]:
    """The first two columns that may be systems, of a table with a column for each; each alone where one is asked."""
    measures = opened.first.survey["measures"]
    systems = [name for name in columns if is_outcome(measures[name])]
    if len(systems) < 2:  # words of the same two meanings
        systems = [
            name
            for name in columns
            if set(list_texts(measures[name])) == set(list_texts(measures[columns[0]]))
        ]
    systems.sort(key=lambda name: not measures[name]["binary"])  # a margin has one scale
    if not opened.alone or "arm" in section or len(systems) < 2:
        return []
    if choices.names_by == "arm":
        return [Way(spell_option("arm", name), replace(choices, arms=name)) for name in systems[:2]]
    return [by_arms(systems, choices)]


def ways_to_meanings(texts: Sequence[str], choices: Choices) -> Iterator[Way[Choices]]:
    """Yield what a few words may count as: one of two is right, or the first of several, to be changed."""
    if not 2 <= len(texts) <= _MOST_WORDS or any(map(is_near_number, texts)):
        return
    for right in texts if len(texts) == 2 else texts[:1]:
        values = {text: int(text == right) for text in texts}
        way = by_set(choices, "values", json.dumps(values, ensure_ascii=False))
        yield replace(way, when=f"if {right} is right")


def _ways_to_no_results(texts: Sequence[str], choices: Choices) -> Iterator[Way[Choices]]:
    """Words beside numbers, taken for rows without a result."""
    if 1 <= len(texts) <= _MOST_WORDS and not any(map(is_near_number, texts)):
        way = by_set(choices, "values", json.dumps(dict.fromkeys(texts, "missing"), ensure_ascii=False))
        yield replace(way, when=f"if {list_names(texts)} stand for no result")


def outcome_columns(survey: Json, item_id: str) -> list[str]:
    """Columns that may hold outcomes: of numbers alone, then those of two words. Names of systems and runs are none."""
    others = {
        item_id,
        *(name for role in ("arm", "run", "judge") for name in fitting(role, survey["measures"])),
    }
    measures = {
        name: measure
        for name, measure in survey["measures"].items()
        if name not in others and not UNNAMED.fullmatch(name)
    }
    numbers = [
        name for name, measure in measures.items() if measure["least"] is not None and not measure["texts"]
    ]
    return [
        *numbers,
        *(
            name
            for name, measure in measures.items()
            if measure["least"] is None and len(list_texts(measure)) == 2
        ),
        *(
            name
            for name, measure in measures.items()
            if measure["least"] is not None and measure["texts"] and not list_texts(measure)
        ),
    ]


def is_outcome(measure: Json) -> bool:
    """Tell whether a column holds numbers, or words for right and wrong; gaps may be among them."""
    texts = {text.lower() for text in list_texts(measure)}
    return not texts if measure["least"] is not None else bool(texts) and texts <= set(WORDS)


def meanings_of(measure: Json) -> dict[str, float | str]:
    """Return what the words of a column count as, of those that everybody knows."""
    known: dict[str, float | str] = {**WORDS, **dict.fromkeys(NO_VALUE, "missing")}
    return {text: known[text.lower()] for text in measure["texts"] if text.lower() in known}


def list_texts(measure: Json) -> list[str]:
    """Return the texts of a column that are not there for want of a value."""
    return [text for text in measure["texts"] if text.lower() not in NO_VALUE]


def is_near_number(text: str) -> bool:
    """Tell whether a text is a number as people write it: `65%`, or `0,5`."""
    return _NEAR_NUMBER.fullmatch(text) is not None
