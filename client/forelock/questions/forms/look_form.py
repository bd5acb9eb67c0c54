"""What a comparison that grows shows in words, a picture of its looks, and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forelock.questions.forms.figures import has_ends, in_brief, show_difference, show_interval
from forelock.questions.forms.form import EXPLORATORY, Form
from forelock.questions.forms.gate_form import MARKS
from forelock.questions.pictures.drawing import Bar, Bound, Picture

Json = Mapping[str, Any]
MOST_BARS = 12
"""Looks in a picture, the newest."""


def form_of(answer: Json) -> Form:
    """The answer of a comparison that grows, part by part."""
    return Form(
        question="gate",
        headline=answer["sentence"],
        mark=MARKS[answer["outcome"]],
        answer=in_brief(
            answer["outcome"],
            answer["delta"],
            answer["ci"],
            "pp" if answer["points"] else "score",
            answer["n"],
        ),
        picture=picture_of(answer),
        numbers=[*_numbers(answer)],
        done=[
            "a confidence sequence (hedged capital, Waudby-Smith and Ramdas 2024) over the items of all looks, in "
            "each by the hashes of their names: it holds the true difference at every number of items at once, if "
            "the items are alike and were chosen before their outcomes"
        ],
        cautions=answer["warnings"],
        next=answer["next"],
        status=f"{EXPLORATORY}; it may be looked at again",
    )


def picture_of(answer: Json) -> Picture | None:
    """The interval after every look, from above to below, against 0 and the margin."""
    bars = []
    for number, entry in enumerate(answer["looks"], start=1):
        ci = entry["ci"]
        if has_ends(ci):
            last = number == len(answer["looks"])
            middle = answer["delta"] if last and answer["delta"] is not None else (ci["low"] + ci["high"]) / 2
            bars.append(
                Bar(ci["low"], min(max(middle, ci["low"]), ci["high"]), ci["high"], f"n = {entry['n']}")
            )
    if not bars:
        return None
    bounds = [Bound(0.0, "0", "zero")]
    if answer["margin"] is not None:
        loss = answer["margin"] if answer["prefers"] == "lower" else -answer["margin"]
        bounds.append(Bound(loss, show_difference(loss, points=answer["points"])))
    return Picture(bars[-MOST_BARS:], sorted(bounds, key=lambda bound: bound.value))


def _numbers(answer: Json) -> Iterator[tuple[str, str]]:
    points = answer["points"]
    if answer["delta"] is not None:
        interval = show_interval(answer["ci"], points=points, difference=True)
        yield "difference", f"{show_difference(answer['delta'], points=points)}, {interval}"
    clusters = "" if answer["n_clusters"] is None else f" in {answer['n_clusters']} clusters"
    yield "paired", f"{answer['n']} items{clusters}"
    if answer["n_missing"]:
        yield "left out", f"{answer['n_missing']} without a result in an arm or in both"
    if answer["late"]:
        yield "too late", f"{answer['late']} results of items that were in without them: they stay out"
    if answer["price"] is None:
        yield "price", "cannot be said: there is no interval to compare with"
    else:
        once, share = answer["price"]["items_read_once"], answer["price"]["share"]
        yield (
            "price",
            f"an interval as wide that is read once takes about {once} of these {answer['n']} items: looking as "
            f"often as you like costs the others ({share:.0%})",
        )
    for number, entry in enumerate(answer["looks"], start=1):
        interval = (
            show_interval({**entry["ci"], "method": None}, points=points, difference=True)
            if entry["ci"]
            else "none"
        )
        yield "look", f"{number}: {entry['added']} added, {entry['outcome'].replace('_', ' ')}, {interval}"
