"""What data like these can show: a pilot's paired items as the request of a resolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forelock.problem import FileFault
from forelock.questions.tables.choices import Choices, Opened
from forelock.questions.tables.reading import read_for
from forelock.questions.tables.systems import take_two
from forelock.questions.tables.table import Reading, System

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
_PARTS = ("hypothesis", "population", "endpoint")
"""Columns of a pilot's file that say what a part of it is for."""


def resolve(
    asked_of: Client | Local, paths: Sequence[str], choices: Choices, request: Json
) -> tuple[Json, Reading]:
    """What a baseline's and a candidate's items resolve, from two files or one that holds both; and how it was read.

    Args:
        request: what is asked beside the items.

    Raises:
        FileFault: a file that is not read, other than two systems, or no item that both have.
    """

    def body(reading: Reading) -> Json:
        return {**pair_up(reading.systems), **request}

    def prepare(opened: Opened, choices: Choices) -> Choices:
        _require_one_part(opened)
        return choices

    sides = [[path] for path in paths]
    reading = read_for(
        asked_of, sides, choices, take_two, lambda taken: asked_of.resolve(body(taken)), prepare=prepare
    )
    return asked_of.resolve(body(reading)), reading


def pair_up(systems: Sequence[System]) -> Json:
    """`baseline`, `candidate` and perhaps `clusters`: items of both, the runs of an item averaged."""
    means = [system.means() for system in systems]
    both = [item_id for item_id in means[0] if all(item_id in others for others in means)]
    if not both:
        raise FileFault(
            f"no item of '{systems[0].name}' is in '{systems[1].name}': name where the item ids stand (--set item_id=…)"
        )
    pilot: Json = {
        name: [own[item_id] for item_id in both]
        for name, own in zip(("baseline", "candidate"), means, strict=True)
    }
    if "cluster" in systems[0].labels:
        places = systems[0].label_of("cluster")
        pilot["clusters"] = [places[item_id] for item_id in both]
    return pilot


def _require_one_part(opened: Opened) -> None:
    """Refuse a pilot of several hypotheses: their items are not one sample."""
    measures = opened.first.survey["measures"]
    for name in _PARTS:
        several = name in measures and len(measures[name]["texts"]) > 1
        if several and {"baseline", "candidate"} <= set(measures):
            raise FileFault(f"{opened.name}: holds several pilots, by its column '{name}'; give one")
