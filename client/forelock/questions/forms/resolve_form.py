"""What data of a size can show, in words and numbers: of a pilot, and of two published accuracies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from forelock.questions.forms.figures import show_difference, show_p
from forelock.questions.forms.form import Form, Group, lead_lines
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.words import Say

Json = Mapping[str, Any]
_MARK = "🔭"
_LEAST = 1e-99
"""A smaller p is told as that."""


def of_pilot(answer: Json, say: Say) -> Form:
    """Return the answer about a pilot, part by part."""
    points = answer["binary"]
    spread = (
        say("differ_on", share=f"{answer['discordance']:.1%}")
        if points
        else say("have_sd", sd=f"{answer['sd']:.4g}")
    )
    if answer["icc"] is not None:
        spread = say("with_icc", spread=spread, icc=f"{answer['icc']:.3f}")
    reach = answer["reach"][-1]
    return Form(
        question="resolve",
        **lead_lines(answer),
        mark=_MARK,
        answer={
            "outcome": "estimate",
            "detectable_80": reach["detectable_80"],
            "detectable_90": reach["detectable_90"],
            "unit": "share" if points else "score",
            "n": answer["n"],
        },
        picture=_picture_of(answer["reach"], say, points=points),
        numbers=[*_list_numbers(answer["reach"], say, points=points), ("arms", spread)],
        next=answer["next"],
        status=say("exploratory"),
    )


def of_published(answer: Json, say: Say) -> Form:
    """Return the answer about two published accuracies, part by part."""
    more = [
        Group(
            say(words, n=end["n_discordant"]),
            [(say.name(name), value) for name, value in _list_numbers(end["reach"], say, points=True)],
            width=9,
            apart=True,
        )
        for end, words in ((answer["least"], "few_discordant"), (answer["most"], "many_discordant"))
    ]
    return Form(
        question="audit",
        **lead_lines(answer),
        mark=_MARK,
        answer={
            "outcome": "estimate",
            "estimate": answer["delta"],
            "p_low": answer["least"]["p_value"],
            "p_high": answer["most"]["p_value"],
            "unit": "share",
            "n": answer["n"],
        },
        picture=_of_both_ends(answer, say),
        more=more,
        next=answer["next"],
        status=say("exploratory"),
    )


def _picture_of(reaches: Sequence[Json], say: Say, *, points: bool) -> Picture | None:
    """By unit the differences that are told in 80 to 90 of 100 studies, against 0 and those that are asked about."""
    ends = [(reach, reach["detectable_80"], reach["detectable_90"]) for reach in reaches]
    bars = [
        Bar(least, least, most, say("told_from", units=say.count(reach["unit"], reach["units"])))
        for reach, least, most in ends
        if least is not None and most is not None
    ]
    if not bars:
        return None
    effects = dict.fromkeys(one["effect"] for reach in reaches for one in reach["power"])
    bounds = [Bound(0.0, "0", "zero"), *(Bound(effect, _amount(effect, points)) for effect in effects)]
    return Picture(bars, sorted(bounds, key=lambda bound: bound.value), lambda value: _amount(value, points))


def _of_both_ends(answer: Json, say: Say) -> Picture:
    """The difference with its interval, with as few and with as many discordant items as the accuracies allow."""
    bars = [
        Bar(end["low"], answer["delta"], end["high"], say("discordant", n=end["n_discordant"]))
        for end in (answer["least"], answer["most"])
    ]
    return Picture(bars, [Bound(0.0, "0", "zero")], partial(show_difference, points=True))


def _list_numbers(reaches: Sequence[Json], say: Say, *, points: bool) -> Iterator[tuple[str, str]]:
    """Yield, for each unit of resampling, the smallest difference at 80% and 90% power, and power at named effects."""
    for reach in reaches:
        first, second = (
            say("none") if reach[name] is None else _amount(reach[name], points)
            for name in ("detectable_80", "detectable_90")
        )
        least = show_p(reach["least_p"]) if reach["least_p"] >= _LEAST else "< 1e-99"
        yield reach["unit"], say("smallest", units=reach["units"], first=first, second=second, p=least)
        for one in reach["power"]:
            needed = say("beyond_reach") if one["needed"] is None else say.count(reach["unit"], one["needed"])
            power, effect = f"{one['power']:.1%}", _amount(one["effect"], points)
            yield "", say("power_at", power=power, effect=effect, needed=needed)


def _amount(value: float, points: bool) -> str:
    return f"{100 * value:.2f} pp" if points else f"{value:.4g}"
