"""What a series shows in words, a picture of its newest runs, and numbers; and the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forelock.questions.forms.figures import (
    has_ends,
    in_brief,
    show_difference,
    show_interval,
    show_level,
    show_p,
)
from forelock.questions.forms.form import Form
from forelock.questions.pictures.drawing import Bar, Bound, Picture

Json = Mapping[str, Any]
_MARKS = {"no_drop_shown": "✅", "dropped": "📉"}
MOST_BARS = 12
"""Runs in a picture, the newest."""


def exit_code(answer: Json) -> int:
    """10 dropped, 0 no drop shown."""
    return 10 if answer["outcome"] == "dropped" else 0


def form_of(answer: Json) -> Form:
    """The answer of a series, part by part."""
    latest = answer["runs"][-1]["standing"]
    return Form(
        question="gate",
        headline=answer["sentence"],
        mark=_MARKS[answer["outcome"]],
        answer=in_brief(
            answer["outcome"],
            latest["delta"],
            latest["ci"],
            "pp" if latest["binary"] else "score",
            latest["n"],
        ),
        picture=picture_of(answer),
        numbers=[*_numbers(answer)],
        done=[
            "each item's newest value is one of all it has had, if nothing has changed: the chance of a sum so low, "
            "and Shiryaev-Roberts evidence over the runs"
        ],
        cautions=answer["warnings"],
        next=answer["next"],
        status="a series may be looked at after every run",
    )


def picture_of(answer: Json) -> Picture | None:
    """The newest runs' differences from the reference, from above to below, each with its own interval."""
    bars = []
    for run in answer["runs"][-MOST_BARS:]:
        standing = run["standing"]
        if standing["delta"] is not None and has_ends(standing["ci"]):
            bars.append(Bar(standing["ci"]["low"], standing["delta"], standing["ci"]["high"], run["name"]))
    return Picture(bars, [Bound(0.0, "reference", "zero")]) if bars else None


def _numbers(answer: Json) -> Iterator[tuple[str, str]]:
    run = answer["runs"][-1]
    standing, points = run["standing"], run["standing"]["binary"]
    if standing["mean"] is not None:
        yield "run", f"{run['name']}: {show_level(standing['mean'], points=points)} of {standing['n']} items"
    if standing["delta"] is not None:
        interval = show_interval(standing["ci"], points=points, difference=True)
        yield (
            "difference",
            f"{show_difference(standing['delta'], points=points)}, {interval}, of this run alone",
        )
    if standing["p_value"] is not None:
        bound = "" if standing["exact"] else "at most "
        yield "chance", f"{bound}{show_p(standing['p_value'])} of a run so low, if nothing has changed"
    if run["evidence"] is not None:
        every = answer["settings"]["false_alarm_every"]
        yield "evidence", f"{run['evidence']:.3g}; a drop is shown at {every:.10g}"
    yield "runs", f"{answer['n_runs']} since the reference, it included"
