"""What several systems tell of the items: their rows as the request of an item analysis, and its answer in lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forelock.questions.asked import Asked
from forelock.questions.form import Form
from forelock.questions.rank import request_of
from forelock.questions.reading import read_for
from forelock.questions.systems import several
from forelock.questions.table import Reading
from forelock.text import plain

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
SHOWN, FEW = 10, 3
"""Items that run against the rest, and those of another kind, that an answer names."""


def describe_items(
    asked_of: Client | Local, paths: Sequence[str], asked: Asked, run: Callable[[Json], Json]
) -> tuple[Json, Reading]:
    """The item analysis of the systems in some files, with the items' ids, and how the files were read.

    Args:
        run: answers the request of an item analysis.

    Raises:
        FileFault: a file that is not read, or fewer than two systems.
    """

    def ask(reading: Reading) -> Json:
        return run({"arms": request_of(reading)["arms"]})

    sides = [[path] for path in paths]
    reading = read_for(asked_of, sides, asked, several, ask, columns="every", sources=False)
    return {**ask(reading), "item_ids": item_ids_of(reading)}, reading


def item_ids_of(reading: Reading) -> list[str]:
    """The items in the order of the request's columns: those of which some system has a result."""
    runs = (each for system in reading.systems for each in system.runs().items())
    return list(
        dict.fromkeys(item_id for item_id, values in runs if any(value is not None for value in values))
    )


def form_of(answer: Mapping[str, Any]) -> Form:
    """The sentence, the figures of all items, then those to look at: what runs against the rest first."""
    analysis = answer["analysis"]
    return Form(
        question="items",
        headline=analysis["sentence"],
        mark="🔍",
        answer={
            "outcome": "described",
            "n": analysis["n"],
            "dead": analysis["n_dead"],
            "negative": analysis["n_negative"],
            "reliability": analysis["reliability"],
            "items_needed": analysis["items_needed"],
        },
        numbers=[*_numbers(analysis)],
        parts=[*_items(analysis, answer["item_ids"])],
        cautions=answer.get("warnings") or (),
        next="Read the items that run against the rest: a label may be wrong, or a question ask for something else.",
    )


def _numbers(analysis: Json) -> Iterator[tuple[str, str]]:
    yield "items", f"{analysis['n']}, of which all {analysis['n_arms']} systems have {analysis['n_complete']}"
    best, worst = analysis["n_all_best"], analysis["n_all_worst"]
    yield "dead", f"{analysis['n_dead']} on which all are alike: {best} best, {worst} worst"
    if analysis["reliability"] is not None:
        ci = analysis["reliability_ci"]
        ends = f"{100 * ci['level']:g}% interval {ci['low']:.2f} to {ci['high']:.2f}"
        half = "" if analysis["split_half"] is None else f"; split half {analysis['split_half']:.2f}"
        yield "reliability", f"{analysis['reliability_name']} {analysis['reliability']:.2f}, {ends}{half}"
    for each in analysis["adjacent"]:
        needed = (
            "they tie"
            if each["items_needed"] is None
            else f"about {each['items_needed']} items keep the order"
        )
        yield "order", f"{plain(each['higher'])} above {plain(each['lower'])}: {needed} with 80%"


def _items(analysis: Json, item_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    for each in analysis["negative"][:SHOWN]:
        beyond = ", beyond chance" if each["beyond_chance"] else ""
        told = f"r {each['correlation']:.2f}{beyond}, mean {each['mean']:.3g} of {each['n_arms']} systems"
        yield "against", f"{plain(item_ids[each['item']])}: {told}"
    yield from _named("dead", analysis["dead"], analysis["n_dead"], item_ids)
    decisive = [each["item"] for each in analysis["decisive"]]
    yield from _named("decides", decisive, analysis["n_decisive"], item_ids)


def _named(name: str, items: Sequence[int], total: int, item_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    if items:
        more = f" and {total - FEW} more" if total > FEW else ""
        yield name, ", ".join(plain(item_ids[item]) for item in items[:FEW]) + more
