"""Are results comparable? What files say of their task, data set, scorer and items: same, other, or not said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from forelock.hints import Refused, Way
from forelock.questions.options import ASPECTS
from forelock.questions.tables.choices import Choices, Piece
from forelock.questions.tables.table import Reading, System
from forelock.questions.tables.tasks import describe_missing_tasks
from forelock.text import plain

WORDS = {
    "content": "content of the items",
    "task": "task",
    "task_version": "task version",
    "dataset": "data set",
    "dataset_version": "data set version",
    "scorer": "scorer and its options",
    "judge": "judge",
    "runs": "runs per item",
    "limits": "limits",
    "harness_version": "harness version",
}
"""Aspects in which results may differ."""
NAMED = 5
"""Items of other content that a refusal names."""
_LONGEST = 60
"""Characters of a value that a sentence shows."""


def check_comparable(reading: Reading, choices: Choices) -> Reading:
    """Return the reading with the state of every aspect in `comparable`, and a sentence on them among its remarks.

    Raises:
        Refused: results are of other tasks, data sets, scorers, judges or items, and nobody allowed it.
    """
    settings = {name: list(_read_settings(reading, name)) for name in WORDS if name != "content"}
    alone = len({system.side for system in reading.systems}) == 1 or len(set(reading.opened.forms)) > 1
    states = {name: "unknown" if alone else _compare_settings(values) for name, values in settings.items()}
    others = [*_find_other_contents(reading.systems)]
    known = any(system.contents for system in reading.systems)
    states = {"content": "differs" if others else "same" if known else "unknown", **states}
    for name in ASPECTS:
        if states[name] == "differs" and name not in choices.allowed:
            if name == "content":
                difference = (
                    f"{len(others)} items have other content under the same id: {_name_items(others)}"
                )
            else:
                difference = f"the files differ in the {WORDS[name]}: {_format_values(settings[name])}"
            allowed = replace(choices, allowed=(*choices.allowed, name))
            way = Way(f"--allow-different {name}", allowed, "if that is meant")
            raise Refused(f"not_comparable: {difference}", [way])
    remarks = (
        [] if alone and not known else [_describe_comparability(states, settings, len(others), alone=alone)]
    )
    remarks += describe_missing_tasks(reading.systems)
    return replace(reading, comparable=states, remarks=[*reading.remarks, *filter(None, remarks)])


def _read_settings(reading: Reading, name: str) -> Iterator[str | None]:
    """Yield what the files of every system say of one aspect, one text per system; None where they say nothing.

    Where files are of several tasks, those of the tasks that all systems have.
    """
    sides = [reading.opened.sides[system.side] for system in reading.systems]
    common = set.intersection(*({piece.task for piece in side} for side in sides))
    for side in sides:
        pieces: Sequence[Piece] = [piece for piece in side if not reading.by_task or piece.task in common]
        values = {piece.survey.get("about", {}).get(name) for piece in pieces}
        yield values.pop() if len(values) == 1 else " and ".join(sorted(map(str, values)))


def _compare_settings(values: Sequence[str | None]) -> str:
    """`same`, `differs`, or `unknown` where some file says nothing."""
    if any(value is None for value in values):
        return "unknown"
    return "same" if len(set(values)) == 1 else "differs"


def _find_other_contents(systems: Sequence[System]) -> Iterator[tuple[str, str, str]]:
    """Yield items of which two systems say other content, with the first words of both inputs."""
    first: dict[str, tuple[str, System]] = {}
    seen: set[str] = set()
    for system in systems:
        for item_id, content in system.contents.items():
            before, whose = first.setdefault(item_id, (content, system))
            if before != content and item_id not in seen:
                seen.add(item_id)
                yield item_id, whose.inputs.get(item_id, ""), system.inputs.get(item_id, "")


def _name_items(others: Sequence[tuple[str, str, str]]) -> str:
    items = [
        f"{plain(item_id)} ('{_shorten(one)}' and '{_shorten(other)}')"
        for item_id, one, other in others[:NAMED]
    ]
    return ", ".join(items) + (", …" if len(others) > NAMED else "")


def _format_values(values: Sequence[str | None]) -> str:
    return " and ".join(_shorten(value or "") for value in dict.fromkeys(values))


def _shorten(text: str) -> str:
    short = plain(text)
    return short if len(short) <= _LONGEST else f"{short[: _LONGEST - 1]}…"


def _describe_comparability(
    states: Mapping[str, str], settings: Mapping[str, Sequence[str | None]], others: int, *, alone: bool
) -> str:
    """Return what is the same, what is not and what nobody says, once."""
    if alone:
        return "" if not others else f"{others} items of other content are compared under one id, as allowed"
    if set(states.values()) == {"unknown"}:
        return "nothing in the files says whether they are of the same task, data set, items and scorer"
    parts = []
    same = [WORDS[name] for name, state in states.items() if state == "same"]
    if same:
        parts.append(f"same {', '.join(same)}")
    for name, state in states.items():
        if state == "differs":
            what = f"{others} items" if name == "content" else _format_values(settings[name])
            parts.append(f"other {WORDS[name]} ({what})")
    unknown = [WORDS[name] for name, state in states.items() if state == "unknown"]
    if unknown:
        parts.append(f"not said by the files: {', '.join(unknown)}")
    return "comparable? " + "; ".join(parts)
