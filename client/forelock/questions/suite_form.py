"""The tasks of a suite in words, numbers and a forest: a bar for every task, and the suite's diamond below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.questions.drawing import Bar, Bound, Picture
from forelock.questions.figures import has_ends, show_difference, show_interval, show_level, show_p
from forelock.text import plain

Json = Mapping[str, Any]
MOST_DRAWN = 60
"""Tasks that a picture draws; of more the suite alone is drawn."""
LETTERS = 24
_WEIGHTS = {
    "equal": "all of one weight",
    "items": "weighed by their items",
    "named": "weighed as named",
}
_STANDINGS = {
    "pass": "pass: every task is shown to lose less than the margin",
    "fail": "fail: a task is shown to lose more than the margin, after Holm's correction",
    "cannot_tell": "cannot tell: it is not shown of every task that it loses less than the margin",
}


def forest_of(answer: Json, bounds: Sequence[Bound]) -> Picture | None:
    """Every task with its simultaneous interval, and the suite; None where the suite has no interval."""
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
    return Picture([*bars, Bar(ci["low"], estimate, ci["high"], "suite", diamond=True)], bounds)


def suite_numbers(answer: Json) -> Iterator[tuple[str, str]]:
    """What is said of the suite as a whole."""
    suite = answer["suite"]
    points, paired = answer["points"], suite["losses"] is not None
    show = show_difference if paired else show_level
    kind = "; tasks like these" if suite["estimand"] == "new_tasks" else ""
    spans = f"; {suite['n_spanning']} clusters span tasks" if suite["n_spanning"] else ""
    yield "suite", f"{suite['n_tasks']} tasks, {_WEIGHTS[suite['weights']]}{kind}{spans}"
    yield "pooled", f"{show(suite['item_weighted'], points=points)} over all items alike, another quantity"
    losses = suite["losses"]
    if losses is not None:
        for name, word in (("lost", "lost"), ("gained", "gained")):
            told = ", ".join(map(plain, losses[name])) or "none"
            yield word, f"{told} (family-wise)"
        if losses["none_loses"] is not None:
            p = losses["none_loses"]["p_value"]
            yield (
                "no loss",
                _STANDINGS[losses["none_loses"]["outcome"]] + ("" if p is None else f" (p {show_p(p)})"),
            )
    unlike = suite["heterogeneity"]
    if unlike is not None:
        p = "" if unlike["p_value"] is None else f", p {show_p(unlike['p_value'])}"
        told = f"Q {unlike['q']:.1f} of {unlike['df']}{p}; I2 {unlike['i2']:.0%}"
        if has_ends(unlike["prediction"]):
            ends = (show(unlike["prediction"][end], points=points) for end in ("low", "high"))
            told += f"; another such task {' to '.join(ends)}"
        yield "unlike", told


def task_lines(answer: Json) -> Iterator[tuple[str, str]]:
    """A line for every task: its estimate and the interval that holds for all tasks at once."""
    suite, points = answer["suite"], answer["points"]
    paired = suite["losses"] is not None
    show = show_difference if paired else show_level
    width = max((len(plain(task["name"])) for task in suite["tasks"]), default=0)
    for task in suite["tasks"]:
        word = f"{_word(task):<12}  " if paired else ""
        interval = show_interval(
            task["simultaneous"] and {**task["simultaneous"], "method": "simultaneous"},
            points=points,
            difference=paired,
        )
        estimate = show(task["estimate"], points=points)
        told = f"{word}{estimate}, {interval}, n = {task['n']}, weight {task['weight']:.3g}"
        yield "task", f"{plain(task['name']):<{width}}  {told}"
    for name in suite["lacking"]:
        yield (
            "task",
            f"{plain(name):<{width}}  left out: no item has a result{' in both arms' if paired else ''}",
        )


def has_lost(answer: Json) -> bool:
    """Whether a task is shown to have lost, or to have lost more than the margin."""
    tasks = (answer.get("suite") or {}).get("tasks") or ()
    return any(
        task["arms"] is not None and (task["arms"]["lost"] or task["arms"]["standing"] == "fail")
        for task in tasks
    )


def _word(task: Json) -> str:
    arms = task["arms"]
    if arms["standing"] == "fail":
        return "LOST > MARGIN"
    return "LOST" if arms["lost"] else "gained" if arms["gained"] else "not told"


def _short(name: str) -> str:
    told = plain(name)
    half = (LETTERS - 1) // 2
    return told if len(told) <= LETTERS else f"{told[:half]}~{told[-(LETTERS - 1 - half) :]}"
