"""One system's score in words, a picture and numbers; and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from forelock.questions.forms.figures import has_ends, in_brief, show_ids, show_interval, show_level, show_p
from forelock.questions.forms.form import Form, lead_lines
from forelock.questions.forms.suite_form import forest_of, suite_numbers, task_lines
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.text import plain
from forelock.words import ENGLISH, Say, pad

Json = Mapping[str, Any]
EXITS: dict[str, int] = {"estimate": 0, "meets": 0, "falls_short": 10, "cannot_tell": 12}
_MARKS = {"estimate": "📏", "meets": "✅", "falls_short": "❌", "cannot_tell": "❔"}


def exit_code(answer: Json) -> int:
    """0 meets, or nothing was asked; 10 falls short, or a slice is shown to; 12 cannot tell."""
    slices = answer["slices"] or {}
    return 10 if slices.get("outcome") == "falls_short" else EXITS[str(answer["outcome"])]


def form_of(answer: Json, say: Say = ENGLISH) -> Form:
    """Return the answer of a score, part by part, in the language that it was asked in."""
    return Form(
        question="score",
        **lead_lines(answer),
        mark=_MARKS[answer["outcome"]],
        answer=brief_of(answer),
        picture=picture_of(answer, say),
        numbers=[*_list_numbers(answer, say)],
        parts=[*_list_slices(answer, say), *(task_lines(answer, say) if answer.get("suite") else ())],
        done=[answer["rule"]],
        cautions=answer["warnings"],
        next=answer["next"],
        status=answer["status"],
    )


def brief_of(answer: Json) -> dict[str, Any]:
    """Return the outcome and its numbers, as programs read them first."""
    unit = "share" if answer["points"] else "score"
    return in_brief(answer["outcome"], answer["mean"], answer["ci"], unit, answer["n"])


def picture_of(answer: Json, say: Say = ENGLISH) -> Picture | None:
    """Return the interval, to scale, against the threshold; below it the one that independent items would have."""
    ci, clusters, points = answer["ci"], answer["clusters"], answer["points"]
    if not has_ends(ci):
        return None
    bars = [Bar(ci["low"], answer["mean"], ci["high"])]
    if clusters is not None and has_ends(clusters["independent"]):
        flat = clusters["independent"]
        bars = [
            Bar(ci["low"], answer["mean"], ci["high"], say("in_clusters_label")),
            Bar(flat["low"], answer["mean"], flat["high"], say("if_independent_label")),
        ]
    if answer["against"] is not None:
        threshold = answer["against"]["threshold"]
        bounds = [Bound(threshold, show_level(threshold, points=points))]
        return (
            forest_of(answer, bounds, say)
            if answer.get("suite")
            else Picture(bars, bounds, partial(show_level, points=points))
        )
    ends = sorted({ci["low"], ci["high"]})
    bounds = [Bound(end, show_level(end, points=points), "none") for end in ends]
    return (
        forest_of(answer, bounds, say)
        if answer.get("suite")
        else Picture(bars, bounds, partial(show_level, points=points))
    )


def _list_numbers(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """List the numbers of a score by label, in words."""
    points = answer["points"]
    mean, interval = (
        show_level(answer["mean"], points=points),
        show_interval(answer["ci"], points=points, say=say),
    )
    text = say("and_interval", value=mean, interval=interval)
    if answer["se"] is not None:
        text = say("with_error", value=text, se=show_level(answer["se"], points=points))
    yield "score", text
    clusters, items = answer["clusters"], str(answer["n"])
    if answer["n_values"] != answer["n"]:
        items = say("runs", items=items, n=answer["n_values"])
    if clusters is not None:
        items = say("n_in_clusters", n=items, clusters=clusters["n_clusters"])
    yield "items", items
    if clusters is not None:
        yield from _list_clusters(answer, clusters, say)
    if answer.get("suite"):
        yield from suite_numbers(answer, say)
    for name, beside in answer["intervals"].items():
        if answer["ci"] is None or name != answer["ci"]["method"]:
            interval = show_interval(beside, points=points, say=say)
            yield "beside", say("as_harnesses", interval=interval) if name == "cr0_z" else interval
    these = answer["these_items"]
    if these is not None and these["ci"] is not None:
        interval = show_interval(these["ci"], points=points, say=say)
        yield "these items", say("these_items", interval=interval, se=show_level(these["se"], points=points))
    yield from _list_threshold(answer, say)
    left = answer["missing"]
    if left is not None:
        became = "left out" if left["counted"] == "left_out" else "as worst"
        yield became, say("without_result", n=left["n"], ids=show_ids(left["item_ids"], left["n"]))


def _list_clusters(answer: Json, clusters: Json, say: Say) -> Iterator[tuple[str, str]]:
    """Yield what clusters do to a score: design effect, ICC, effective n, and the interval that ignores them."""
    parts = [say("largest", share=f"{clusters['largest_share']:.1%}")]
    if clusters["design_effect"] is not None:
        parts.append(say("design_effect", value=f"{clusters['design_effect']:.2f}"))
    if clusters["icc"] is not None:
        parts.append(say("icc", value=f"{clusters['icc']:.3f}"))
    if clusters["effective_n"] is not None:
        parts.append(say("as_independent", n=f"{clusters['effective_n']:.0f}"))
    yield "clusters", say("comma").join(parts)
    if clusters["independent"] is not None:
        flat = show_interval(clusters["independent"], points=answer["points"], say=say)
        yield "unclustered", say("if_independent", interval=flat)


def _list_threshold(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """Yield how a score stands to its threshold: both p-values, and the posterior probability."""
    against = answer["against"]
    if against is None:
        return
    bar = "at_least" if answer["prefers"] == "higher" else "at_most"
    parts = [say(bar, value=show_level(against["threshold"], points=answer["points"]))]
    named = ("p_meets", "p_falls_short")
    parts += [say(name, p=show_p(against[name])) for name in named if against[name] is not None]
    if against["posterior"] is not None:
        parts.append(say("posterior", value=f"{against['posterior']:.4f}"))
    yield "threshold", say("comma").join(parts)


def _list_slices(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """List the slices of a score by label, what was not weighed, and what all slices show together."""
    slices = answer["slices"]
    if slices is None:
        return
    width = max((len(plain(result["name"])) for result in slices["results"]), default=0)
    for at, result in enumerate(slices["results"]):
        words = "" if result["outcome"] == "estimate" else pad(_outcome(result, say), 22)
        mean = show_level(result["mean"], points=answer["points"])
        interval = show_interval(result["ci"], points=answer["points"], say=say)
        text = say("and_interval", value=f"{words}{mean}", interval=interval)
        yield "slice", f"{plain(result['name']):<{width}}  {text}{say('comma')}n = {result['n']}"
        withheld = answer.get("reasons", {}).get(f"slices.results.{at}.outcome")
        if withheld is not None:
            yield "slice", f"{' ' * width}  {withheld}"
    if slices["left_out"]:
        yield (
            "slice",
            say("not_weighed", names=say("names").join(plain(result) for result in slices["left_out"])),
        )
    if slices["outcome"] is not None:
        yield "slice", say(f"together_{slices['outcome']}")


def _outcome(result: Json, say: Say) -> str:
    return say("short_holm" if result["shown_short"] else result["outcome"])
