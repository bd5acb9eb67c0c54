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
from forelock.questions.forms.form import Form, lead_lines
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.text import plain
from forelock.words import ENGLISH, Say

Json = Mapping[str, Any]
_MARKS = {"no_drop_shown": "✅", "dropped": "📉"}
MOST_BARS = 12
"""Runs in a picture, the newest."""


def exit_code(answer: Json) -> int:
    """10 dropped, 0 no drop shown."""
    return 10 if answer["outcome"] == "dropped" else 0


def form_of(answer: Json, say: Say = ENGLISH) -> Form:
    """Return the answer of a series, part by part, in the language that it was asked in."""
    latest = answer["runs"][-1]["standing"]
    return Form(
        question="gate",
        **lead_lines(answer),
        mark=_MARKS[answer["outcome"]],
        answer=in_brief(
            answer["outcome"],
            latest["delta"],
            latest["ci"],
            "pp" if latest["binary"] else "score",
            latest["n"],
        ),
        picture=picture_of(answer, say),
        numbers=[*_list_numbers(answer, say)],
        done=[say(f"run_rule_{answer['settings'].get('nights', 'alike')}")],
        cautions=answer["warnings"],
        next=answer["next"],
        status=say("run_status"),
    )


def picture_of(answer: Json, say: Say) -> Picture | None:
    """Return the newest runs' differences from the reference, from above to below, each with its own interval."""
    bars = []
    for run in answer["runs"][-MOST_BARS:]:
        standing = run["standing"]
        if standing["delta"] is not None and has_ends(standing["ci"]):
            bars.append(Bar(standing["ci"]["low"], standing["delta"], standing["ci"]["high"], run["name"]))
    return Picture(bars, [Bound(0.0, say("run_reference"), "zero")]) if bars else None


def _list_numbers(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """List the numbers of a series' newest run by label, in words."""
    run = answer["runs"][-1]
    standing, points = run["standing"], run["standing"]["binary"]
    if standing["mean"] is not None:
        mean = show_level(standing["mean"], points=points)
        yield "run", say("run_mean", name=plain(run["name"]), mean=mean, n=standing["n"])
    if standing["delta"] is not None:
        difference = show_difference(standing["delta"], points=points)
        interval = show_interval(standing["ci"], points=points, difference=True, say=say)
        yield "difference", say("run_difference", difference=difference, interval=interval)
    if standing["p_value"] is not None:
        code = "run_chance" if standing["exact"] else "run_chance_at_most"
        yield "chance", say(code, p=show_p(standing["p_value"]))
    if run["evidence"] is not None:
        every = f"{answer['settings']['false_alarm_every']:.10g}"
        yield "evidence", say("run_evidence", value=f"{run['evidence']:.3g}", every=every)
    yield "runs", say("run_count", n=answer["n_runs"])
