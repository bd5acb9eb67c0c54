"""How several systems stand: their rows as the request of a leaderboard, whole and by slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from forelock.problem import FileFault, ForelockProblem
from forelock.questions.asked import Asked
from forelock.questions.reading import read_for
from forelock.questions.systems import several
from forelock.questions.table import Reading

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
MOST_SLICES = 50


def rank(
    asked_of: Client | Local, paths: Sequence[str], asked: Asked, run: Callable[[Json], Json]
) -> tuple[Json, Reading]:
    """The leaderboard of the systems in some files, and how they were read: one file of all, or a file for each.

    Args:
        run: answers the request of a leaderboard.

    Raises:
        FileFault: a file that is not read, or fewer than two systems.
    """
    reading = read_systems(asked_of, paths, asked, run)
    return run(request_of(reading)), reading


def read_systems(
    asked_of: Client | Local, paths: Sequence[str], asked: Asked, run: Callable[[Json], object]
) -> Reading:
    """The systems alone; `run` answers requests, to try what a refusal would say."""
    sides = [[path] for path in paths]
    return read_for(asked_of, sides, asked, several, lambda taken: run(request_of(taken)), columns="every")


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
    """`arms`: by name a value for every item, the mean of its runs, None where there is none; `clusters` if asked for.

    Raises:
        FileFault: items share a cluster that they do not all name.
    """
    item_ids = _item_ids(reading)
    means = {system.name: system.means() for system in reading.systems}
    request: Json = {
        "arms": {name: [own.get(item_id) for item_id in item_ids] for name, own in means.items()}
    }
    if reading.lower:
        request["better"] = "lower"
    if "cluster" in reading.systems[0].labels:
        request["clusters"] = labels_of(reading, item_ids, "cluster")
    return request


def _item_ids(reading: Reading) -> list[str]:
    """The items of which some system has a value, in the order of the systems."""
    return list(dict.fromkeys(item_id for system in reading.systems for item_id in system.means()))


def labels_of(reading: Reading, item_ids: Sequence[str], label: str) -> list[str]:
    """The cluster or slice of each item, as any of the systems says it.

    Raises:
        FileFault: two systems say another, or none says one.
    """
    said: dict[str, str] = {}
    for system in reading.systems:
        for item_id, name in system.label_of(label).items():
            if name is not None and said.setdefault(item_id, name) != name:
                raise FileFault(f"{reading.opened.name}: puts item '{item_id}' into two {label}s; mend one")
    lacking = [item_id for item_id in item_ids if item_id not in said]
    if lacking:
        raise FileFault(
            f"{reading.opened.name}: item '{lacking[0]}' has no {label}, and others have; name one for every item"
        )
    return [said[item_id] for item_id in item_ids]
