"""One system's reliability over runs in words, curves and numbers: the items that cannot be relied on, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.questions.forms.figures import has_ends, in_brief, show_interval
from forelock.questions.forms.form import Form
from forelock.questions.forms.headlines import of_reliability
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.text import plain
from forelock.words import Say

Json = Mapping[str, Any]
NAMED = 10
"""Items of a list that are named."""


def form_of(answer: Json, name: str, item_ids: Sequence[str], say: Say) -> Form:
    """Return the answer of a reliability of the system of a name, part by part; items go by their ids."""
    analysis = answer["analysis"]
    points = [*_points(analysis, say)]
    share = analysis["least_share"] is not None
    picture = None
    if share and all(has_ends(point["ci"]) for _, point in points):
        bars = [Bar(point["ci"]["low"], point["value"], point["ci"]["high"], name) for name, point in points]
        picture = Picture(bars, [Bound(0.0, "0%", "zero"), Bound(1.0, "100%", "zero")])
    _, worst = points[len(points) // 2 - 1]
    line, rest = of_reliability(analysis, name, say)
    return Form(
        question="noise",
        headline=line,
        open=rest,
        sentence=analysis["sentence"],
        mark="🎲",
        answer=in_brief(
            "estimate", worst["value"], worst["ci"], "share" if share else "score", analysis["n"]
        ),
        picture=picture,
        numbers=[
            *((name, _at_point(point, say, share=share)) for name, point in points),
            *_list_items(analysis, item_ids, say),
        ],
        cautions=answer["warnings"],
        next=_next(analysis, say),
        status=say("exploratory"),
    )


def _points(analysis: Json, say: Say) -> Iterator[tuple[str, Json]]:
    """Yield both curves, by the name of each point: the worst of k runs, then the best."""
    share = analysis["least_share"] is not None
    for side, mark in {"worst": "pass^", "best": "pass@"}.items():
        for point in analysis["curve"]:
            yield f"{mark}{point['k']}" if share else say(f"{side}_of", k=point["k"]), point[side]


def _at_point(point: Json, say: Say, *, share: bool) -> str:
    value = f"{100 * point['value']:.2f}%" if share else f"{point['value']:.4g}"
    return say("and_interval", value=value, interval=show_interval(point["ci"], points=share, say=say))


def _list_items(analysis: Json, item_ids: Sequence[str], say: Say) -> Iterator[tuple[str, str]]:
    """Yield the items that waver between runs, and those that are shown, or not shown, to be right often enough."""
    yield "items", say("runs", items=analysis["n"], n=analysis["n_values"])
    if analysis["n_flaky"]:
        yield "flaky", _name_items(analysis["flaky"], analysis["n_flaky"], item_ids, say)
    if analysis["least_share"] is None:
        return
    rate = f"{100 * analysis['least_share']:.10g}%"
    yield "reliable", say("shown_right", n=analysis["n_reliable"], rate=rate)
    yield "every item", say("right_at_least", rate=f"{100 * analysis['least_low']:.1f}%")
    if analysis["n_unreliable"]:
        yield "unreliable", _name_items(analysis["unreliable"], analysis["n_unreliable"], item_ids, say)
    yield "undecided", str(analysis["n_undecided"])


def _name_items(items: Sequence[Json], total: int, item_ids: Sequence[str], say: Say) -> str:
    """Say how many, and the first of them with how many of their runs are right, or with their mean."""
    names = say("comma").join(
        say("with_note", name=plain(item_ids[entry["item"]]), note=_of_runs(entry, say))
        for entry in items[:NAMED]
    )
    if total > NAMED:
        names = say("and_more_by_json", names=names, n=total - NAMED)
    return say("of_which", n=total, names=names)


def _of_runs(item: Json, say: Say) -> str:
    if item["standing"] is None:
        return say("mean_of_runs", mean=f"{item['mean']:.4g}", runs=item["runs"])
    return say("right_of_runs", right=round(item["mean"] * item["runs"]), runs=item["runs"])


def _next(analysis: Json, say: Say) -> str:
    if analysis["most_runs"] == 1:
        return say("next_several_runs")
    if analysis["n_flaky"]:
        return say("next_flaky")
    needed = analysis["runs_needed"]
    if needed is not None and needed > analysis["least_runs"]:
        return say("next_more_runs", n=needed)
    return say("next_report_runs")
