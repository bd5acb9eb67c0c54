"""What several systems tell of the items: their rows as the request of an item analysis, and its answer in lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forelock.questions.forms.form import Form
from forelock.questions.forms.headlines import of_items
from forelock.questions.pictures.shares_drawing import Part, Shares
from forelock.questions.rank import request_of
from forelock.questions.tables.choices import Choices
from forelock.questions.tables.reading import read_for
from forelock.questions.tables.systems import take_several
from forelock.questions.tables.table import Reading
from forelock.text import plain
from forelock.words import Say

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
SHOWN, FEW = 10, 3
"""Items that run against the rest, and those of another kind, that an answer names."""


def describe_items(
    asked_of: Client | Local, paths: Sequence[str], choices: Choices, run: Callable[[Json], Json]
) -> tuple[Json, Reading]:
    """Return the item analysis of the systems in some files, with the items' ids, and how the files were read.

    Args:
        run: answers the request of an item analysis.

    Raises:
        FileFault: a file that is not read, or fewer than two systems.
    """

    def ask(reading: Reading) -> Json:
        return run({"arms": request_of(reading)["arms"]})

    sides = [[path] for path in paths]
    reading = read_for(asked_of, sides, choices, take_several, ask, columns="every", sources=False)
    return {**ask(reading), "item_ids": item_ids_of(reading)}, reading


def item_ids_of(reading: Reading) -> list[str]:
    """Return the items in the order of the request's columns: those of which some system has a result."""
    runs = (entry for system in reading.systems for entry in system.runs().items())
    return list(
        dict.fromkeys(item_id for item_id, values in runs if any(value is not None for value in values))
    )


def form_of(answer: Mapping[str, Any], say: Say) -> Form:
    """Return the first line, the figures of all items, then those to look at: what runs against the rest first."""
    analysis = answer["analysis"]
    line, rest = of_items(analysis, say)
    return Form(
        question="items",
        headline=line,
        open=rest,
        sentence=analysis["sentence"],
        mark="🔍",
        answer={
            "outcome": "described",
            "n": analysis["n"],
            "dead": analysis["n_dead"],
            "alone": analysis.get("n_alone", 0),
            "negative": analysis["n_negative"],
            "reliability": analysis["reliability"],
            "items_needed": analysis["items_needed"],
        },
        picture=_kinds(analysis, say),
        numbers=[*_list_numbers(analysis, say)],
        parts=[*_list_items(analysis, answer["item_ids"], say)],
        cautions=answer.get("warnings") or (),
        next=say("next_read_items" if analysis["n_negative"] else "next_no_item_against"),
        status=say("exploratory"),
    )


def _kinds(analysis: Json, say: Say) -> Shares:
    """Return how many items tell systems apart, and how many all get right or none does."""
    best, worst, alone = analysis["n_all_best"], analysis["n_all_worst"], analysis.get("n_alone", 0)
    middle = "share_varies" if best + worst == analysis["n_dead"] else "share_other"
    parts = [
        Part(best, say("share_best")),
        Part(analysis["n"] - best - worst - alone, say(middle)),
        Part(worst, say("share_worst")),
    ]
    return Shares([*parts, Part(alone, say("share_alone"))] if alone else parts)


def _list_numbers(analysis: Json, say: Say) -> Iterator[tuple[str, str]]:
    """List the numbers of an item analysis by label, in words."""
    yield "items", say("items_of_all", n=analysis["n"], arms=analysis["n_arms"], all=analysis["n_complete"])
    best, worst = analysis["n_all_best"], analysis["n_all_worst"]
    yield "dead", say("all_alike", n=analysis["n_dead"], best=best, worst=worst)
    if analysis.get("n_alone"):
        yield "alone", say("of_one_system", n=analysis["n_alone"])
    if analysis["reliability"] is not None:
        ci = analysis["reliability_ci"]
        ends = {end: f"{ci[end]:.2f}" for end in ("low", "high")}
        text = say(
            "and_interval",
            value=f"{say.method(analysis['reliability_name'])} {analysis['reliability']:.2f}",
            interval=say("interval", level=f"{100 * ci['level']:g}%", **ends),
        )
        half = analysis["split_half"]
        yield "reliability", text if half is None else say("split_half", value=text, half=f"{half:.2f}")
    if analysis.get("n_alone") == analysis["n"]:
        return  # no two systems have an item in common, so that nothing was compared
    for entry in analysis["adjacent"]:
        tie = entry["items_needed"] is None
        names = {"higher": plain(entry["higher"]), "lower": plain(entry["lower"])}
        yield "order", say("order_ties" if tie else "order_kept", **names, n=entry["items_needed"])


def _list_items(analysis: Json, item_ids: Sequence[str], say: Say) -> Iterator[tuple[str, str]]:
    """Yield the items that run against the rest, those that tell nothing, and those that decide."""
    for entry in analysis["negative"][:SHOWN]:
        text = say(
            "against_beyond_chance" if entry["beyond_chance"] else "against_rest",
            name=plain(item_ids[entry["item"]]),
            r=f"{entry['correlation']:.2f}",
            mean=f"{entry['mean']:.3g}",
            arms=entry["n_arms"],
        )
        yield "against", text
    yield from _name_items("dead", analysis["dead"], analysis["n_dead"], item_ids, say)
    decisive = [entry["item"] for entry in analysis["decisive"]]
    yield from _name_items("decides", decisive, analysis["n_decisive"], item_ids, say)


def _name_items(
    name: str, items: Sequence[int], total: int, item_ids: Sequence[str], say: Say
) -> Iterator[tuple[str, str]]:
    if items:
        names = say("names").join(plain(item_ids[item]) for item in items[:FEW])
        yield name, say("and_more", names=names, n=total - FEW) if total > FEW else names
