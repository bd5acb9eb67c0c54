"""What a comparison that grows shows in words, a picture of its looks, and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forelock.questions.forms.figures import difference_in_brief, has_ends, show_difference, show_interval
from forelock.questions.forms.form import Form, lead_lines
from forelock.questions.forms.gate_form import MARKS
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.words import ENGLISH, Say

Json = Mapping[str, Any]
MOST_BARS = 12
"""Looks in a picture, the newest."""


def form_of(answer: Json, say: Say = ENGLISH) -> Form:
    """Return the answer of a comparison that grows, part by part, in the language that it was asked in."""
    return Form(
        question="gate",
        **lead_lines(answer),
        mark=MARKS[answer["outcome"]],
        answer=difference_in_brief(answer),
        picture=picture_of(answer),
        numbers=[*_list_numbers(answer, say)],
        done=[say("grown_rule")],
        cautions=answer["warnings"],
        next=answer["next"],
        status=say("grown_status"),
    )


def picture_of(answer: Json) -> Picture | None:
    """Return the interval after every look, from above to below, against 0 and the margin."""
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


def _list_numbers(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """List the numbers of a look by label, in words."""
    points = answer["points"]
    if answer["delta"] is not None:
        interval = show_interval(answer["ci"], points=points, difference=True, say=say)
        yield (
            "difference",
            say("and_interval", value=show_difference(answer["delta"], points=points), interval=interval),
        )
    items = say.count("items", answer["n"])
    clusters = answer["n_clusters"]
    yield "paired", items if clusters is None else say("in_clusters", items=items, n=clusters)
    if answer["n_missing"]:
        yield "left out", say("grown_left_out", n=answer["n_missing"])
    if answer["late"]:
        yield "too late", say("grown_late", n=answer["late"])
    if answer["price"] is None:
        yield "price", say("grown_no_price")
    else:
        once, share = answer["price"]["items_read_once"], answer["price"]["share"]
        yield "price", say("grown_price", once=once, n=answer["n"], share=f"{share:.0%}")
    for number, entry in enumerate(answer["looks"], start=1):
        ci = entry["ci"] and {**entry["ci"], "method": None}
        interval = show_interval(ci, points=points, difference=True, say=say)
        outcome = say(entry["outcome"])
        yield (
            "look",
            say("grown_look", number=number, added=entry["added"], outcome=outcome, interval=interval),
        )
