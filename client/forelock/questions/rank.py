"""How several systems stand: their rows as the request of a leaderboard, whole and by slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forelock.problem import FileFault, ForelockProblem
from forelock.questions.tables.choices import Choices
from forelock.questions.tables.reading import read_for
from forelock.questions.tables.systems import take_several
from forelock.questions.tables.table import Reading

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
MOST_SLICES = 50


def rank(
    asked_of: Client | Local,
    paths: Sequence[str],
    choices: Choices,
    run: Callable[[Json], Json],
    *,
    filled: bool = False,
) -> tuple[Json, Reading]:
    """Return the leaderboard of the systems in some files, and how they were read: one file of all, or a file for each.

    Args:
        run: answers the request of a leaderboard.
        filled: a result that a system does not have counts as wrong.

    Raises:
        FileFault: a file that is not read, or fewer than two systems; scores that are to be filled.
    """
    suite = choices.together if choices.suite is not None else {}

    def run_with_suite(request: Json) -> Json:
        return run({**request, **suite} if "tasks" in request else request)

    reading = read_systems(asked_of, paths, choices, run_with_suite)
    if filled:
        reading = _fill_missing(reading)
    return run_with_suite(request_of(reading)), reading


def read_systems(
    asked_of: Client | Local, paths: Sequence[str], choices: Choices, run: Callable[[Json], object]
) -> Reading:
    """Return the systems alone; `run` answers requests, to try what a refusal would say."""
    sides = [[path] for path in paths]
    return read_for(
        asked_of, sides, choices, take_several, lambda taken: run(request_of(taken)), columns="every"
    )


def _fill_missing(reading: Reading) -> Reading:
    """Return the same with the worst share there can be in place of every result that is not there.

    Raises:
        FileFault: outcomes are scores, of which no worst is known.
    """
    if not reading.binary:
        sentence = (
            "--missing fail counts what is missing as wrong, and these are scores, of which no worst is known"
        )
        raise FileFault(f"{reading.opened.name}: {sentence}; leave it out")
    worst, n = float(reading.lower), 0
    item_ids = list(dict.fromkeys(item_id for system in reading.systems for item_id in system.item_ids))
    systems = []
    for system in reading.systems:
        present = set(system.item_ids)
        absent = [item_id for item_id in item_ids if item_id not in present]
        n += len(absent) + sum(value is None for value in system.values)
        systems.append(
            replace(
                system,
                item_ids=[*system.item_ids, *absent],
                values=[
                    *(worst if value is None else value for value in system.values),
                    *[worst] * len(absent),
                ],
                replicates=[*system.replicates, *[1] * len(absent)],
                labels={
                    name: [*column, *_of_others(reading, name, absent)]
                    for name, column in system.labels.items()
                },
            )
        )
    remarks = [*reading.remarks, f"{n} results that are not there count as wrong"] if n else reading.remarks
    return replace(reading, systems=systems, remarks=remarks)


def _of_others(reading: Reading, label: str, item_ids: Sequence[str]) -> list[str | None]:
    """Return what the systems that have them say of items."""
    names = {item_id: name for system in reading.systems for item_id, name in system.label_of(label).items()}
    return [names[item_id] for item_id in item_ids]


def by_slice(reading: Reading, alpha: float, run: Callable[[Json], Json]) -> list[tuple[str, Json | str]]:
    """By slice its leaderboard, or why there is none. All of them together hold the level: each has its share of alpha.

    Raises:
        FileFault: more than `MOST_SLICES` slices, or items that no slice or several have.
    """
    whole = request_of(reading)
    slices = labels_of(reading, _item_ids(reading), "slice")
    names = list(dict.fromkeys(slices))
    if len(names) > MOST_SLICES:
        raise FileFault(
            f"{reading.opened.name}: has {len(names)} slices, and {MOST_SLICES} are ranked at once"
        )
    answers: list[tuple[str, Json | str]] = []
    for name in names:
        kept = [at for at, slice_ in enumerate(slices) if slice_ == name]
        arms = {arm: [column[at] for at in kept] for arm, column in whole["arms"].items()}
        request = whole | {"arms": arms, "alpha": alpha / len(names)}
        if "clusters" in whole:
            request["clusters"] = [whole["clusters"][at] for at in kept]
        try:
            answers.append((name, run(request)))
        except ForelockProblem as problem:
            answers.append((name, problem.detail))
    return answers


def request_of(reading: Reading) -> Json:
    """`arms`: by name a value for every item, the mean of its runs, None where there is none.

    `clusters` and `tasks` are there if they were asked for.

    Raises:
        FileFault: items share a cluster that they do not all name.
    """
    means = {system.name: system.means() for system in reading.systems}
    item_ids = list(dict.fromkeys(item_id for own in means.values() for item_id in own))
    request: Json = {
        "arms": {name: [own.get(item_id) for item_id in item_ids] for name, own in means.items()}
    }
    if reading.lower:
        request["better"] = "lower"
    if "cluster" in reading.systems[0].labels:
        request["clusters"] = labels_of(reading, item_ids, "cluster")
    if "suite" in reading.systems[0].labels:
        request["tasks"] = labels_of(reading, item_ids, "suite")
    return request


def _item_ids(reading: Reading) -> list[str]:
    """Return the items of which some system has a value, in the order of the systems."""
    return list(dict.fromkeys(item_id for system in reading.systems for item_id in system.means()))


def labels_of(reading: Reading, item_ids: Sequence[str], label: str) -> list[str]:
    """Return the cluster or slice of each item, as any of the systems says it.

    Raises:
        FileFault: two systems say another, or none says one.
    """
    labels = reading.label_of(label)
    lacking = [item_id for item_id in item_ids if item_id not in labels]
    if lacking:
        raise FileFault(
            f"{reading.opened.name}: item '{lacking[0]}' has no {label}, and others have; name one for every item"
        )
    return [labels[item_id] for item_id in item_ids]
