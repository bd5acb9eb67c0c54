"""Which systems of a reading a question is about: one, a baseline and a candidate, or all there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forelock.columns import list_names
from forelock.hints import Refused, Way, spell_option
from forelock.problem import FileFault
from forelock.questions.tables.choices import Choices, listing
from forelock.questions.tables.table import Reading, System, item_twice
from forelock.questions.tables.ways import PAIR, arms_elsewhere, by_arms
from forelock.questions.tables.wide import blank_columns

TWO, SEVERAL = "takes two arms", "takes two systems or more"


def take_one_or_all(reading: Reading, choices: Choices) -> Reading:
    """Return the system that is asked for, or all there are.

    Raises:
        Refused: there is none of that name.
    """
    name = reading.opened.name
    held = {system.name: system for system in shorten_names(reading)}
    if choices.arms in held:
        return replace(reading, systems=[held[choices.arms]])
    if choices.arms is None:
        return replace(reading, systems=list(held.values()))
    ways = [Way(spell_option("arm", arm), replace(choices, arms=arm)) for arm in held]
    raise Refused(f"{name}: has no system '{choices.arms}'; it has {list_names(list(held))}", ways)


def take_one(reading: Reading, choices: Choices) -> Reading:
    """Return the system that is asked for, or the only one there is.

    Raises:
        Refused: there are several and none is named, or not the one that is.
    """
    taken = take_one_or_all(reading, choices)
    if len(taken.systems) == 1:
        return taken
    names = [system.name for system in taken.systems]
    ways = [Way(spell_option("arm", name), replace(choices, arms=name)) for name in names]
    fault = f"holds {len(names)} systems, and this is of one ('forelock rank' has all of them)"
    raise Refused(f"{reading.opened.name}: {fault}: {list_names(names)}", ways)


def take_two(reading: Reading, choices: Choices) -> Reading:
    """Baseline and candidate: the two that are named, those of two sides, or the only two there are.

    Raises:
        Refused: there are others, and none are named, or not those that are; or one has no result at all.
    """
    systems, opened, wanted = list(reading.systems), reading.opened, choices.names
    names = [system.name for system in systems]
    with_results = [system.name for system in systems if not is_empty(system)]
    sought = wanted or (names if len(names) > len(opened.paths) else [])
    again = [name for name in sought if names.count(name) > 1]
    if again:
        raise FileFault(
            f"'{again[0]}' stands in several of the files: name the one file that holds both arms"
        )
    if wanted:
        held = {system.name: system for system in systems}
        if len(wanted) != 2 or not set(wanted) <= set(held):
            fault = f"--arms takes BASELINE,CANDIDATE of {list_names(names)}"
            raise Refused(fault, [by_arms(with_results, choices)] if len(with_results) > 1 else [])
        pair = [held[name] for name in wanted]
    else:
        sides = [[system for system in systems if system.side == side] for side in range(len(opened.paths))]
        pair = systems if opened.alone else [side[0] for side in sides if len(side) == 1]
    if len(systems) < 2:
        raise _too_few(reading, choices, TWO, "name two files, the baseline's first")
    if len(pair) != 2:
        ways = [by_arms(with_results, choices)] if len(with_results) > 1 else []
        raise Refused(
            f"{opened.paths[0]}: {TWO} and there are: {list_names(names)}", ways, "name two with --arms"
        )
    pair = shorten_names(replace(reading, systems=pair))
    if any(map(is_empty, pair)) and not choices.fills:
        raise _too_few(replace(reading, systems=pair), choices, TWO, "")
    remarks = [*_describe_order([system.name for system in pair], reading, choices), *reading.remarks]
    return replace(reading, systems=pair, remarks=remarks)


def is_empty(system: System) -> bool:
    """Tell whether no row of a system has a value."""
    return all(value is None for value in system.values)


def take_several(reading: Reading, choices: Choices) -> Reading:
    """Return all systems, or those that are named; rows of one name in several files are one system's.

    A system without any result is left out, and the remarks say so.

    Raises:
        Refused: there are fewer than two, or not those that are named; or one that is named has no result at all.
    """
    by_name: dict[str, System] = {}
    for system in shorten_names(reading):
        by_name[system.name] = join_rows(by_name[system.name], system) if system.name in by_name else system
    names, opened = list(by_name), reading.opened
    if len(names) < len(reading.systems):
        for system in by_name.values():
            item_id = item_twice(system.item_ids, system.replicates)
            if item_id is not None:
                raise FileFault(
                    f"{opened.name}: item '{item_id}' of '{system.name}' stands in several files; leave one out"
                )
    absent = [name for name in choices.names if name not in by_name]
    if absent:
        ways = [by_arms(names, choices)] if len(names) > 1 else []
        raise Refused(f"{opened.name}: has no system '{absent[0]}'; it has {list_names(names)}", ways)
    chosen = [by_name[name] for name in choices.names or names]
    empty = [] if choices.fills else [system.name for system in chosen if is_empty(system)]
    kept = [system for system in chosen if system.name not in empty]
    if len(kept) < 2:
        otherwise = "name a file for each system" if opened.alone else ""
        raise _too_few(replace(reading, systems=chosen), choices, SEVERAL, otherwise)
    if not empty:
        return replace(reading, systems=kept)
    remark = f"left out, since no result of it is there: {list_names(empty)}"
    return replace(reading, systems=kept, remarks=[*reading.remarks, remark])


def _too_few(reading: Reading, choices: Choices, takes: str, otherwise: str) -> Refused[Choices]:
    """That fewer than two systems have results: which have none, and what answers of one alone."""
    opened, systems = reading.opened, shorten_names(reading)
    full = [system.name for system in systems if not is_empty(system)]
    empty = [system.name for system in systems if is_empty(system)]
    if not full:
        return Refused(f"{opened.name}: {takes}, and none has a result", (), "see why their runs gave none")
    empty += [name for name in blank_columns(opened) if name not in empty] if opened.alone else []
    ask = f"ask 'forelock score' of {full[0]} alone"
    if empty:
        fault = (
            f"{opened.name}: {takes}, and {full[0]} alone has results; there is none of {list_names(empty)}"
        )
        return Refused(fault, arms_elsewhere(opened, choices), f"see why its run gave none, or {ask}")
    fault = f"{opened.name}: {takes}, and holds one: {full[0]}"
    return Refused(fault, arms_elsewhere(opened, choices), f"{otherwise}, or {ask}" if otherwise else ask)


def join_rows(first: System, second: System) -> System:
    """Return the rows of one system from two places."""
    return replace(
        first,
        item_ids=[*first.item_ids, *second.item_ids],
        values=[*first.values, *second.values],
        replicates=[*first.replicates, *second.replicates],
        labels={label: [*column, *second.labels[label]] for label, column in first.labels.items()},
        contents={**second.contents, **first.contents},
        inputs={**second.inputs, **first.inputs},
    )


def shorten_names(reading: Reading) -> list[System]:
    """Return the systems; those that go by their files are called as shortly as tells them apart."""
    paths = reading.opened.paths
    short = [path.rstrip("/").rpartition("/")[2] for path in paths]
    short = short if len(set(short)) == len(short) else list(paths)
    names = [system.name for system in reading.systems]
    alike = len(paths) > 1 and len(set(names)) < len(names) == len(paths)
    return [
        replace(system, name=short[system.side]) if alike or system.name == paths[system.side] else system
        for system in reading.systems
    ]


def _describe_order(names: Sequence[str], reading: Reading, choices: Choices) -> list[str]:
    """Say which of two is the baseline, where nobody said it."""
    if not reading.opened.alone or choices.arms is not None or tuple(names) == PAIR:
        return []
    first = reading.opened.form == "promptfoo"
    why = "which the configuration has first" if first else "which the file has first"
    turned = spell_option("arms", listing([names[1], names[0]]))
    return [f"the baseline is '{names[0]}', {why}; {turned} turns them round"]
