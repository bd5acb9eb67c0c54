"""One system's reliability over runs in words, curves and numbers: the items that cannot be relied on, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.questions.drawing import Bar, Bound, Picture
from forelock.questions.figures import has_ends, show_interval
from forelock.questions.form import Form
from forelock.text import plain

Json = Mapping[str, Any]
NAMED = 10
"""Items of a list that are named."""


def form_of(answer: Json, item_ids: Sequence[str]) -> Form:
    """The answer of a reliability, part by part; items go by their ids."""
    analysis = answer["analysis"]
    points = [*_points(analysis)]
    share = analysis["least_share"] is not None
    picture = None
    if share and all(has_ends(point["ci"]) for _, point in points):
        bars = [Bar(point["ci"]["low"], point["value"], point["ci"]["high"], name) for name, point in points]
        picture = Picture(bars, [Bound(0.0, "0%", "zero"), Bound(1.0, "100%", "zero")])
    _, worst = points[len(points) // 2 - 1]
    ci = worst["ci"] or {}
    return Form(
        question="noise",
        headline=analysis["sentence"],
        mark="🎲",
        answer={
            "outcome": "estimate",
            "estimate": worst["value"],
            "low": ci.get("low"),
            "high": ci.get("high"),
            "level": ci.get("level"),
            "unit": "share" if share else "score",
            "n": analysis["n"],
        },
        picture=picture,
        numbers=[
            *((name, _shown(point, share=share)) for name, point in points),
            *_items(analysis, item_ids),
        ],
        cautions=answer["warnings"],
        next=_next(analysis),
    )


def _points(analysis: Json) -> Iterator[tuple[str, Json]]:
    """Both curves, by the name of each point: the worst of k runs, then the best."""
    share = analysis["least_share"] is not None
    sides = {"worst": "pass^{k}" if share else "worst of {k}", "best": "pass@{k}" if share else "best of {k}"}
    for side, words in sides.items():
        for each in analysis["curve"]:
            yield words.format(k=each["k"]), each[side]


def _shown(point: Json, *, share: bool) -> str:
    value = f"{100 * point['value']:.2f}%" if share else f"{point['value']:.4g}"
    return f"{value}, {show_interval(point['ci'], points=share)}"


def _items(analysis: Json, item_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "items", f"{analysis['n']}, {analysis['n_values']} runs"
    if analysis["n_flaky"]:
        yield "flaky", _named(analysis["flaky"], analysis["n_flaky"], item_ids)
    if analysis["least_share"] is None:
        return
    rate = f"at least {100 * analysis['least_share']:.10g}%"
    yield "reliable", f"{analysis['n_reliable']} shown to be right {rate} of the time"
    least = f"{100 * analysis['least_low']:.1f}%"
    yield "every item", f"right at least {least} of the time, as the runs show"
    if analysis["n_unreliable"]:
        yield "unreliable", _named(analysis["unreliable"], analysis["n_unreliable"], item_ids)
    yield "undecided", str(analysis["n_undecided"])


def _named(items: Sequence[Json], total: int, item_ids: Sequence[str]) -> str:
    """How many, and the first of them with how many of their runs are right, or with their mean."""
    named = [f"{plain(item_ids[each['item']])} ({_of_runs(each)})" for each in items[:NAMED]]
    more = f" and {total - NAMED} more (--json names them)" if total > NAMED else ""
    return f"{total}: {', '.join(named)}{more}"


def _of_runs(item: Json) -> str:
    if item["standing"] is None:
        return f"mean {item['mean']:.4g} of {item['runs']}"
    return f"{round(item['mean'] * item['runs'])} of {item['runs']}"


def _next(analysis: Json) -> str:
    if analysis["most_runs"] == 1:
        return "run every item several times: one run tells nothing of another"
    if analysis["n_flaky"]:
        return "look at the flaky items, the most variable first: they pass or fail by chance"
    needed = analysis["runs_needed"]
    if needed is not None and needed > analysis["least_runs"]:
        return f"no run differed from another of its item; {needed} runs of each would show them reliable"
    return "no run differed from another of its item: report it with the number of runs"
