"""The tasks of a suite in words, numbers and a forest: a bar for every task, and the suite's diamond below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from forelock.questions.forms.figures import has_ends, show_difference, show_interval, show_level, show_p
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.text import plain
from forelock.words import Say, pad

Json = Mapping[str, Any]
MOST_DRAWN = 60
"""Tasks that a picture draws; of more the suite alone is drawn."""
LETTERS = 24


def forest_of(answer: Json, bounds: Sequence[Bound], say: Say) -> Picture | None:
    """Return every task with its simultaneous interval, and the suite; None where the suite has no interval."""
    suite, ci = answer["suite"], answer["ci"]
    estimate = answer["delta"] if "delta" in answer else answer["mean"]
    if not has_ends(ci) or estimate is None:
        return None
    bars = [
        Bar(task["simultaneous"]["low"], task["estimate"], task["simultaneous"]["high"], _short(task["name"]))
        for task in suite["tasks"]
        if has_ends(task["simultaneous"])
    ]
    bars = bars if len(bars) <= MOST_DRAWN else []
    show = show_difference if "delta" in answer else show_level
    whole = Bar(ci["low"], estimate, ci["high"], say.name("suite"), diamond=True)
    return Picture([*bars, whole], bounds, partial(show, points=answer["points"]))


def suite_numbers(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """Yield what is said of the suite as a whole."""
    suite = answer["suite"]
    points, paired = answer["points"], suite["losses"] is not None
    show = show_difference if paired else show_level
    text = say(f"weights_{suite['weights']}", n=suite["n_tasks"])
    if suite["estimand"] == "new_tasks":
        text = say("tasks_like_these", suite=text)
    yield "suite", say("spanning", suite=text, n=suite["n_spanning"]) if suite["n_spanning"] else text
    yield "pooled", say("over_all_items", value=show(suite["item_weighted"], points=points))
    losses = suite["losses"]
    if losses is not None:
        for name in ("lost", "gained"):
            names = say("names").join(map(plain, losses[name])) or say("none")
            yield name, say("family_wise", names=names)
        if losses["none_loses"] is not None:
            p, standing = losses["none_loses"]["p_value"], say(f"tasks_{losses['none_loses']['outcome']}")
            yield "no loss", standing if p is None else say("with_p", value=standing, p=show_p(p))
    unlike = suite["heterogeneity"]
    if unlike is not None:
        p = "" if unlike["p_value"] is None else say("comma") + f"p {show_p(unlike['p_value'])}"
        text = say("unlike", q=f"{unlike['q']:.1f}", df=unlike["df"], p=p, share=f"{unlike['i2']:.0%}")
        if has_ends(unlike["prediction"]):
            low, high = (show(unlike["prediction"][end], points=points) for end in ("low", "high"))
            text = say("another_task", value=text, low=low, high=high)
        yield "unlike", text


def task_lines(answer: Json, say: Say) -> Iterator[tuple[str, str]]:
    """Yield a line for every task: its estimate and the interval that holds for all tasks at once."""
    suite, points = answer["suite"], answer["points"]
    paired = suite["losses"] is not None
    show = show_difference if paired else show_level
    width = max((len(plain(task["name"])) for task in suite["tasks"]), default=0)
    for task in suite["tasks"]:
        word = pad(say(_word(task)), 12) + "  " if paired else ""
        interval = show_interval(
            task["simultaneous"] and {**task["simultaneous"], "method": "simultaneous"},
            points=points,
            difference=paired,
            say=say,
        )
        text = say("and_interval", value=word + show(task["estimate"], points=points), interval=interval)
        weight = f"{task['weight']:.3g}"
        line = say("task_weighed", estimate=text, n=task["n"], weight=weight)
        yield "task", f"{plain(task['name']):<{width}}  {line}"
    for name in suite["lacking"]:
        reason = say("no_result_in_both" if paired else "no_result_at_all")
        yield "task", f"{plain(name):<{width}}  {reason}"


def has_lost(answer: Json) -> bool:
    """Tell whether a task is shown to have lost, or to have lost more than the margin."""
    tasks = (answer.get("suite") or {}).get("tasks") or ()
    return any(
        task["arms"] is not None and (task["arms"]["lost"] or task["arms"]["standing"] == "fail")
        for task in tasks
    )


def _word(task: Json) -> str:
    """Return the code of what became of a task."""
    arms = task["arms"]
    if arms["standing"] == "fail":
        return "task_lost_margin"
    return "task_lost" if arms["lost"] else "task_gained" if arms["gained"] else "task_not_told"


def _short(name: str) -> str:
    short = plain(name)
    half = (LETTERS - 1) // 2
    return short if len(short) <= LETTERS else f"{short[:half]}~{short[-(LETTERS - 1 - half) :]}"
