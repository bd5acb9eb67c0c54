"""A comparison of two systems in words, a picture and numbers; and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from forelock.questions.forms.figures import (
    METHODS,
    difference_in_brief,
    has_ends,
    show_difference,
    show_ids,
    show_interval,
    show_level,
    show_p,
)
from forelock.questions.forms.form import Form, lead_lines
from forelock.questions.forms.suite_form import forest_of, has_lost, suite_numbers, task_lines
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.text import plain
from forelock.words import ENGLISH, Say, pad

Json = Mapping[str, Any]
EXITS: dict[str, int] = {"better": 0, "no_worse": 0, "worse": 10, "cannot_tell": 12}
MARKS = {"better": "✅", "no_worse": "✅", "worse": "❌", "cannot_tell": "❔"}
_LACKING = ("only_baseline", "only_candidate", "missing", "neither")


def exit_code(answer: Json) -> int:
    """0 better or no worse, 10 worse (or a slice or task that is shown to lose), 12 cannot tell."""
    slices = answer.get("slices") or {}
    lost = slices.get("outcome") == "fail" or any(
        result["shown_worse"] for result in slices.get("results", ())
    )
    return 10 if lost or has_lost(answer) else EXITS[str(answer["outcome"])]


def form_of(answer: Json, say: Say = ENGLISH) -> Form:
    """Return the answer of a comparison, part by part, in the language that it was asked in."""
    return Form(
        question="gate",
        **lead_lines(answer),
        mark=MARKS[answer["outcome"]],
        answer=difference_in_brief(answer),
        picture=picture_of(answer, say),
        numbers=[*_list_numbers(answer, say)],
        parts=[*_list_slices(answer, say), *(task_lines(answer, say) if answer.get("suite") else ())],
        done=[answer["rule"]],
        cautions=answer["warnings"],
        next=answer["next"],
        status=answer["status"],
    )


def picture_of(answer: Json, say: Say = ENGLISH) -> Picture | None:
    """Return the interval against 0 and the margin, to scale; None where there is no interval."""
    ci, margin = answer["ci"], answer["margin"]
    if not has_ends(ci) or answer["delta"] is None:
        return None
    bounds = [Bound(0.0, "0", "zero")]
    if margin is not None:
        loss = margin if answer.get("prefers") == "lower" else -margin
        bounds.append(Bound(loss, show_difference(loss, points=answer["points"])))
    bounds.sort(key=lambda bound: bound.value)
    if answer.get("suite"):
        return forest_of(answer, bounds, say)
    amount = partial(show_difference, points=answer["points"])
    return Picture([Bar(ci["low"], answer["delta"], ci["high"])], bounds, amount)


def _list_numbers(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """List the numbers of a comparison by label, in words."""
    points = answer["points"]
    if answer["delta"] is not None:
        means = {
            side: show_level(answer[f"{side}_mean"], points=points) for side in ("baseline", "candidate")
        }
        yield "means", say("both_means", **means)
    if answer.get("suite"):
        yield from suite_numbers(answer, say)
    arms = answer.get("arms")
    if arms is None:
        yield "paired", _count_in_clusters(say.count("items", answer["n"]), answer, say)
    else:
        yield from _list_unpaired(answer, arms, say)
    left = answer["unpaired"]
    failed = "as worst" if answer.get("prefers") == "lower" else "counted 0"
    for name in _LACKING:
        if left.get(name):
            became = failed if left.get("counted") == "as_0" and name != "neither" else "left out"
            yield became, say(name, n=left[name], ids=show_ids(left[f"{name}_ids"], left[name]))
    for test in answer["tests"]:
        p = say("decides_nothing" if arms is None else "beside_it")
        if test["p_value"] is not None:
            p = f"p {test['bound'] or '= ' + show_p(test['p_value'])}"
        interval = ""
        if test["ci"] is not None and test["ci"] != answer["ci"]:  # that one is in the headline
            interval = say("comma") + show_interval(test["ci"], points=points, difference=True, say=say)
        method = say.method(METHODS.get(test["method"], test["method"]))
        yield "test", say("test", test=plain(test["test"]), method=method, says=p, interval=interval)


def _count_in_clusters(items: str, answer: Json, say: Say) -> str:
    """Return a count of items, and in how many clusters they are."""
    return items if answer["n_clusters"] is None else say("in_clusters", items=items, n=answer["n_clusters"])


def _list_unpaired(answer: Json, arms: Json, say: Say) -> Iterator[tuple[str, str]]:
    """Of systems on items of their own."""
    counts = say("unpaired", baseline=arms["n_baseline"], candidate=arms["n_candidate"])
    yield "unpaired", _count_in_clusters(counts, answer, say)
    for side in ("baseline", "candidate"):
        if arms[f"missing_{side}"]:
            yield "left out", say(f"of_{side}_without", n=arms[f"missing_{side}"])
    if arms["unadjusted"] is not None:
        difference = show_difference(arms["unadjusted"], points=answer["points"])
        if arms["items_saved"] is not None:
            names, share = say("names").join(map(plain, arms["covariates"])), f"{arms['items_saved']:.0%}"
            difference = say("stands_for", difference=difference, names=names, share=share)
        yield "unadjusted", difference


def _list_slices(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """List the slices of a comparison by label, those that are worse, and whether slices reverse it."""
    slices = answer.get("slices")
    if not slices:
        return
    width = max((len(plain(result["name"])) for result in slices["results"]), default=0)
    for result in slices["results"]:
        outcome = say("worse_holm" if result["shown_worse"] else result["outcome"])
        amount = show_difference(result["delta"], points=answer["points"])
        interval = show_interval(result["ci"], points=answer["points"], difference=True, say=say)
        name = f"{plain(result['name']):<{width}}"
        parts = {"name": name, "outcome": pad(outcome, 12), "amount": amount, "interval": interval}
        yield "slice", say("slice", **parts, n=result["n"])
    if slices["left_out"]:
        yield (
            "slices",
            say("too_small", names=say("names").join(plain(result) for result in slices["left_out"])),
        )
    standing = slices.get("outcome")
    if standing is None and slices["none_worse"] is not None:  # of a service of an earlier version
        standing = "pass" if slices["none_worse"] else "cannot_tell"
    if standing is not None:
        yield "slices", say(f"slices_{standing}")
    reversal = slices.get("reversal")
    if reversal is None:
        return
    if reversal["p_value"] is None:
        yield "slices", say("sides_unknown", reason=plain(reversal["reason"]))
    else:
        key = "sides_shown" if reversal["shown"] else "sides_not_shown"
        yield "slices", say(key, p=show_p(reversal["p_value"]))
