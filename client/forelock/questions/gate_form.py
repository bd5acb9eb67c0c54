"""A comparison of two systems in words, a picture and numbers; and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forelock.questions.drawing import Bar, Bound, Picture
from forelock.questions.figures import (
    METHODS,
    has_ends,
    show_difference,
    show_ids,
    show_interval,
    show_level,
    show_p,
)
from forelock.questions.form import Form
from forelock.questions.suite_form import forest_of, has_lost, suite_numbers, task_lines
from forelock.text import plain

Json = Mapping[str, Any]
EXITS: dict[str, int] = {"better": 0, "no_worse": 0, "worse": 10, "cannot_tell": 12}
MARKS = {"better": "✅", "no_worse": "✅", "worse": "❌", "cannot_tell": "❔"}
_LACKING = {
    "only_baseline": "only in the baseline",
    "only_candidate": "only in the candidate",
    "missing": "without a result in one arm",
    "neither": "without a result in both arms",
}
_TOGETHER = {
    "pass": "every slice is shown to lose less than the margin",
    "fail": "a slice is shown to lose more than the margin, after Holm's correction",
    "cannot_tell": "it is not shown of every slice that it loses less than the margin",
}


def exit_code(answer: Json) -> int:
    """0 better or no worse, 10 worse (or a slice or task that is shown to lose), 12 cannot tell."""
    slices = answer.get("slices") or {}
    lost = slices.get("outcome") == "fail" or any(each["shown_worse"] for each in slices.get("results", ()))
    return 10 if lost or has_lost(answer) else EXITS[str(answer["outcome"])]


def form_of(answer: Json) -> Form:
    """The answer of a comparison, part by part."""
    ci = answer["ci"]
    return Form(
        question="gate",
        headline=answer["sentence"],
        mark=MARKS[answer["outcome"]],
        answer={
            "outcome": answer["outcome"],
            "estimate": answer["delta"],
            "low": ci["low"],
            "high": ci["high"],
            "level": ci["level"],
            "unit": "pp" if answer["points"] else "score",
            "n": answer["n"],
        },
        picture=picture_of(answer),
        numbers=[*_numbers(answer)],
        parts=[*_slices(answer), *(task_lines(answer) if answer.get("suite") else ())],
        done=[answer["rule"]],
        cautions=answer["warnings"],
        next=answer["next"],
        status=answer["status"],
    )


def picture_of(answer: Json) -> Picture | None:
    """The interval against 0 and the margin, to scale; None where there is no interval."""
    ci, margin = answer["ci"], answer["margin"]
    if not has_ends(ci) or answer["delta"] is None:
        return None
    bounds = [Bound(0.0, "0", "zero")]
    if margin is not None:
        loss = margin if answer.get("prefers") == "lower" else -margin
        bounds.append(Bound(loss, show_difference(loss, points=answer["points"])))
    bounds.sort(key=lambda bound: bound.value)
    if answer.get("suite"):
        return forest_of(answer, bounds)
    return Picture([Bar(ci["low"], answer["delta"], ci["high"])], bounds)


def _numbers(answer: Json) -> Iterator[tuple[str, str]]:
    points = answer["points"]
    if answer["delta"] is not None:
        amount = show_difference(answer["delta"], points=points)
        yield "difference", f"{amount}, {show_interval(answer['ci'], points=points, difference=True)}"
        means = [show_level(answer[f"{side}_mean"], points=points) for side in ("baseline", "candidate")]
        yield "means", f"baseline {means[0]}, candidate {means[1]}"
    if answer.get("suite"):
        yield from suite_numbers(answer)
    clusters = "" if answer["n_clusters"] is None else f" in {answer['n_clusters']} clusters"
    arms = answer.get("arms")
    if arms is None:
        yield "paired", f"{answer['n']} items{clusters}"
    else:
        yield from _unpaired(answer, arms, clusters)
    left = answer["unpaired"]
    failed = "as worst" if answer.get("prefers") == "lower" else "counted 0"
    for name, words in _LACKING.items():
        if left.get(name):
            became = failed if left.get("counted") == "as_0" and name != "neither" else "left out"
            yield became, f"{left[name]} {words}: {show_ids(left[f'{name}_ids'], left[name])}"
    for each in answer["tests"]:
        p = "decides nothing" if arms is None else "beside it"
        if each["p_value"] is not None:
            p = f"p {each['bound'] or '= ' + show_p(each['p_value'])}"
        interval = ""
        if each["ci"] is not None:
            interval = f", {show_interval(each['ci'], points=points, difference=True)}"
        yield "test", f"{plain(each['test'])} ({METHODS.get(each['method'], each['method'])}): {p}{interval}"


def _unpaired(answer: Json, arms: Json, clusters: str) -> Iterator[tuple[str, str]]:
    """Of systems on items of their own."""
    yield "unpaired", f"baseline {arms['n_baseline']} items, candidate {arms['n_candidate']} others{clusters}"
    for side in ("baseline", "candidate"):
        if arms[f"missing_{side}"]:
            yield "left out", f"{arms[f'missing_{side}']} of the {side} without a result"
    if arms["unadjusted"] is not None:
        plain_difference = show_difference(arms["unadjusted"], points=answer["points"])
        saved = ""
        if arms["items_saved"] is not None:
            names = ", ".join(map(plain, arms["covariates"]))
            saved = f"; {names} stands for {arms['items_saved']:.0%} of the items"
        yield "unadjusted", f"{plain_difference}{saved}"


def _slices(answer: Json) -> Iterator[tuple[str, str]]:
    slices = answer.get("slices")
    if not slices:
        return
    width = max((len(plain(each["name"])) for each in slices["results"]), default=0)
    for each in slices["results"]:
        outcome = "WORSE (Holm)" if each["shown_worse"] else each["outcome"].replace("_", " ")
        amount = show_difference(each["delta"], points=answer["points"])
        interval = show_interval(each["ci"], points=answer["points"], difference=True)
        yield "slice", f"{plain(each['name']):<{width}}  {outcome:<12}  {amount}, {interval}, n = {each['n']}"
    if slices["left_out"]:
        yield "slices", f"too small to weigh: {', '.join(plain(each) for each in slices['left_out'])}"
    standing = slices.get("outcome")
    if standing is None and slices["none_worse"] is not None:  # of a service of an earlier version
        standing = "pass" if slices["none_worse"] else "cannot_tell"
    if standing is not None:
        yield "slices", f"{standing.replace('_', ' ')}: {_TOGETHER[standing]}"
    reversal = slices.get("reversal")
    if reversal is None:
        return
    if reversal["p_value"] is None:
        yield "slices", f"change of sides between slices: cannot tell, {plain(reversal['reason'])}"
    else:
        says = "shown" if reversal["shown"] else "not shown"
        p = show_p(reversal["p_value"])
        yield "slices", f"change of sides between slices: {says} (Gail and Simon: p = {p})"
