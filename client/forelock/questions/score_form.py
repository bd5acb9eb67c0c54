"""One system's score in words, a picture and numbers; and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forelock.questions.drawing import Bar, Bound, Picture
from forelock.questions.figures import has_ends, show_ids, show_interval, show_level, show_p
from forelock.questions.form import Form
from forelock.questions.suite_form import forest_of, suite_numbers, task_lines
from forelock.text import plain

Json = Mapping[str, Any]
EXITS: dict[str, int] = {"estimate": 0, "meets": 0, "falls_short": 10, "cannot_tell": 12}
_MARKS = {"estimate": "📏", "meets": "✅", "falls_short": "❌", "cannot_tell": "❔"}
_TOGETHER = {
    "meets": "together: every slice meets it",
    "falls_short": "together: a slice is shown to fall short, after Holm's correction",
    "cannot_tell": "together: cannot tell whether every slice meets it",
}


def exit_code(answer: Json) -> int:
    """0 meets, or nothing was asked; 10 falls short, or a slice is shown to; 12 cannot tell."""
    slices = answer["slices"] or {}
    return 10 if slices.get("outcome") == "falls_short" else EXITS[str(answer["outcome"])]


def form_of(answer: Json) -> Form:
    """The answer of a score, part by part."""
    ci = answer["ci"] or {}
    return Form(
        question="score",
        headline=answer["sentence"],
        mark=_MARKS[answer["outcome"]],
        answer={
            "outcome": answer["outcome"],
            "estimate": answer["mean"],
            "low": ci.get("low"),
            "high": ci.get("high"),
            "level": ci.get("level"),
            "unit": "share" if answer["points"] else "score",
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
    """The interval, to scale, against the threshold; below it the one that independent items would have."""
    ci, clusters, points = answer["ci"], answer["clusters"], answer["points"]
    if not has_ends(ci):
        return None
    bars = [Bar(ci["low"], answer["mean"], ci["high"])]
    if clusters is not None and has_ends(clusters["independent"]):
        flat = clusters["independent"]
        bars = [
            Bar(ci["low"], answer["mean"], ci["high"], "in clusters"),
            Bar(flat["low"], answer["mean"], flat["high"], "if independent"),
        ]
    if answer["against"] is not None:
        threshold = answer["against"]["threshold"]
        bounds = [Bound(threshold, show_level(threshold, points=points))]
        return forest_of(answer, bounds) if answer.get("suite") else Picture(bars, bounds)
    ends = sorted({ci["low"], ci["high"]})
    bounds = [Bound(end, show_level(end, points=points), "none") for end in ends]
    return forest_of(answer, bounds) if answer.get("suite") else Picture(bars, bounds)


def _numbers(answer: Json) -> Iterator[tuple[str, str]]:
    points = answer["points"]
    spread = "" if answer["se"] is None else f"; standard error {show_level(answer['se'], points=points)}"
    interval = show_interval(answer["ci"], points=points)
    yield "score", f"{show_level(answer['mean'], points=points)}, {interval}{spread}"
    runs = "" if answer["n_values"] == answer["n"] else f", {answer['n_values']} runs"
    clusters = answer["clusters"]
    within = "" if clusters is None else f" in {clusters['n_clusters']} clusters"
    yield "items", f"{answer['n']}{runs}{within}"
    if clusters is not None:
        yield from _clusters(answer, clusters)
    if answer.get("suite"):
        yield from suite_numbers(answer)
    for name, beside in answer["intervals"].items():
        if answer["ci"] is None or name != answer["ci"]["method"]:
            says = " (as many harnesses print)" if name == "cr0_z" else ""
            yield "beside", show_interval(beside, points=points) + says
    these = answer["these_items"]
    if these is not None and these["ci"] is not None:
        error = show_level(these["se"], points=points)
        yield (
            "these items",
            f"{show_interval(these['ci'], points=points)}; standard error {error} (runs alone)",
        )
    yield from _against(answer)
    left = answer["missing"]
    if left is not None:
        became = "left out" if left["counted"] == "left_out" else "as worst"
        yield became, f"{left['n']} without a result: {show_ids(left['item_ids'], left['n'])}"


def _clusters(answer: Json, clusters: Json) -> Iterator[tuple[str, str]]:
    told = [f"the largest holds {clusters['largest_share']:.1%}"]
    if clusters["design_effect"] is not None:
        told.append(f"design effect {clusters['design_effect']:.2f}")
    if clusters["icc"] is not None:
        told.append(f"intraclass correlation {clusters['icc']:.3f}")
    if clusters["effective_n"] is not None:
        told.append(f"as {clusters['effective_n']:.0f} independent items")
    yield "clusters", ", ".join(told)
    if clusters["independent"] is not None:
        flat = show_interval(clusters["independent"], points=answer["points"])
        yield "unclustered", f"{flat}, if items were independent"


def _against(answer: Json) -> Iterator[tuple[str, str]]:
    against = answer["against"]
    if against is None:
        return
    bar = "at least" if answer["prefers"] == "higher" else "at most"
    told = [f"{bar} {show_level(against['threshold'], points=answer['points'])}"]
    for name, words in (("p_meets", "meets"), ("p_falls_short", "falls short")):
        if against[name] is not None:
            told.append(f"p of '{words}' {show_p(against[name])}")
    if against["posterior"] is not None:
        told.append(f"posterior {against['posterior']:.4f} (Jeffreys)")
    yield "threshold", ", ".join(told)


def _slices(answer: Json) -> Iterator[tuple[str, str]]:
    slices = answer["slices"]
    if slices is None:
        return
    width = max((len(plain(each["name"])) for each in slices["results"]), default=0)
    for each in slices["results"]:
        words = "" if each["outcome"] == "estimate" else f"{_outcome(each):<22}"
        mean = show_level(each["mean"], points=answer["points"])
        interval = show_interval(each["ci"], points=answer["points"])
        yield "slice", f"{plain(each['name']):<{width}}  {words}{mean}, {interval}, n = {each['n']}"
    if slices["left_out"]:
        yield "slice", f"not weighed: {', '.join(plain(each) for each in slices['left_out'])}"
    if slices["outcome"] is not None:
        yield "slice", _TOGETHER[slices["outcome"]]


def _outcome(each: Json) -> str:
    return "FALLS SHORT (Holm)" if each["shown_short"] else str(each["outcome"]).replace("_", " ")
