"""What data of a size can show, in words and numbers: of a pilot, and of two published accuracies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.questions.figures import show_p
from forelock.questions.form import Form

Json = Mapping[str, Any]
_MARK = "🔭"
_LEAST = 1e-99
"""A smaller p is told as that."""


def of_pilot(answer: Json) -> Form:
    """The answer about a pilot, part by part."""
    points = answer["binary"]
    spread = (
        f"differ on {answer['discordance']:.1%} of the items"
        if points
        else f"have an SD of {answer['sd']:.4g}"
    )
    icc = "" if answer["icc"] is None else f", intraclass correlation {answer['icc']:.3f}"
    reach = answer["reach"][-1]
    return Form(
        question="resolve",
        headline=answer["sentence"],
        mark=_MARK,
        answer={
            "outcome": "estimate",
            "detectable_80": reach["detectable_80"],
            "detectable_90": reach["detectable_90"],
            "unit": "share" if points else "score",
            "n": answer["n"],
        },
        numbers=[*_numbers(answer["reach"], points=points), ("arms", f"{spread}{icc}")],
        next=answer["next"],
    )


def of_published(answer: Json) -> Form:
    """The answer about two published accuracies, part by part."""
    more: list[str] = []
    for each, words in ((answer["least"], "as few"), (answer["most"], "as many")):
        more += ["", f"  {words} discordant items as the accuracies allow ({each['n_discordant']}):"]
        more += [f"    {name:<9} {value}" for name, value in _numbers(each["reach"], points=True)]
    return Form(
        question="audit",
        headline=answer["sentence"],
        mark=_MARK,
        answer={
            "outcome": "estimate",
            "estimate": answer["delta"],
            "p_low": answer["least"]["p_value"],
            "p_high": answer["most"]["p_value"],
            "unit": "share",
            "n": answer["n"],
        },
        more=more[1:],
        next=answer["next"],
    )


def _numbers(reaches: Sequence[Json], *, points: bool) -> Iterator[tuple[str, str]]:
    for reach in reaches:
        ends = [
            "none" if reach[name] is None else _amount(reach[name], points)
            for name in ("detectable_80", "detectable_90")
        ]
        least = show_p(reach["least_p"]) if reach["least_p"] >= _LEAST else "< 1e-99"
        smallest = f"smallest difference {ends[0]} at 80% power, {ends[1]} at 90%"
        yield reach["unit"], f"{reach['units']}: {smallest}; least p {least}"
        for one in reach["power"]:
            needed = "beyond reach" if one["needed"] is None else f"{one['needed']} {reach['unit']}"
            yield "", f"{one['power']:.1%} power at {_amount(one['effect'], points)}; 80% takes {needed}"


def _amount(value: float, points: bool) -> str:
    return f"{100 * value:.2f} pp" if points else f"{value:.4g}"
