"""Fields of analyses by their dotted path: what a rule may ask of a test, and what it got."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue

from service.domain.nearest import nearest
from service.domain.rules.truth import (
    Ends,
    Observed,
)
from service.stats.shared.declaring.certainty import BEYOND
from service.stats.shared.declaring.common import Interval
from service.words import say

Shape = Literal["number", "count", "interval", "truth", "other"]

EFFECT_FIELDS = frozenset({"bootstrap_mean", "ci", "delta", "estimates", "intervals"})
"""First names of the fields that are on the scale of the difference itself."""

RATIO = "ratio"
"""First name of the fields that are a multiple of the baseline: plain numbers, of which 1 is no difference."""


def shape_of(model: type[BaseModel], path: tuple[str, ...]) -> Shape | None:
    """What kind of thing an analysis holds at a path; None when it has no such field."""
    annotation: Any = model
    for name in path:
        annotation = _step(_unwrapped(annotation), name)
        if annotation is None:
            return None
    return _shape(_unwrapped(annotation))


def choices(model: type[BaseModel]) -> tuple[str, ...]:
    """The fields of an analysis that a rule can ask for, two levels deep, for messages."""
    names = []
    for name, info in model.model_fields.items():
        if info.exclude:
            continue
        if shape_of(model, (name,)) in ("number", "count", "interval", "truth"):
            names.append(name)
        inner = _unwrapped(info.annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel) and inner is not Interval:
            names += [f"{name}.{choice}" for choice in choices(inner)]
    return tuple(names)


def nearest_field(model: type[BaseModel], path: tuple[str, ...]) -> str | None:
    """The field that a path which leads nowhere was probably meant for: one that ends so, else the one spelt likest.

    Example:
        Of a ratio of means `("ci", "high")` stands for `ratio.ci.high`.
    """
    written = ".".join(path)
    known = [end for name in choices(model) for end in (name, *_ends_of(model, name))]
    within = [name for name in known if name.endswith(f".{written}")]
    return min(within, key=len) if within else nearest(written, known)


def _ends_of(model: type[BaseModel], name: str) -> tuple[str, ...]:
    return (f"{name}.low", f"{name}.high") if shape_of(model, tuple(name.split("."))) == "interval" else ()


def _step(annotation: Any, name: str) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(name)
        return None if field is None or field.exclude else field.annotation
    if get_origin(annotation) is dict:
        key, value = get_args(annotation)
        allowed = get_args(key) if get_origin(key) is Literal else ()
        return value if not allowed or name in allowed else None
    return None


def _unwrapped(annotation: Any) -> Any:
    """Without `Annotated` and `| None`."""
    if get_origin(annotation) is Annotated:
        return _unwrapped(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        rest = [get_arg for get_arg in get_args(annotation) if get_arg is not NoneType]
        return _unwrapped(rest[0]) if len(rest) == 1 else annotation
    return annotation


def _shape(annotation: Any) -> Shape:
    if annotation is bool:
        return "truth"
    if annotation is int:
        return "count"
    if annotation is float:
        return "number"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "interval" if {"low", "high"} <= set(annotation.model_fields) else "other"
    return "other"


@dataclass(frozen=True, slots=True)
class Observation:
    """What a field turned out to be, and why it is undefined where it is, or open beside some thresholds."""

    value: Observed
    reason: str | None = None
    bound: str | None = None
    """Such as `< 1e-12`, when the value lies below the method's resolution."""

    corners: tuple[Observed, ...] = ()
    """The least and the most that a drawn value may be, in every combination of an interval's ends."""


def analysis_of(answer: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The analysis in an answer; empty where there is none."""
    analysis = answer.get("analysis")
    return analysis if isinstance(analysis, Mapping) else {}


def observe(answer: Mapping[str, JsonValue], path: tuple[str, ...]) -> Observation:
    """A field of an answer. An interval's null end counts as unbounded where its reason is `infinite`."""
    analysis = answer.get("analysis")
    if not isinstance(analysis, Mapping):
        return Observation(None, str(answer.get("reason") or say("reasons.no_analysis")))
    value: JsonValue = analysis
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    dotted = ".".join(path)
    reasons, bounds = _texts(analysis.get("reasons")), _texts(analysis.get("bounds"))
    undecided, within = _texts(analysis.get("undecided")), _ranges(analysis.get("within"))
    why = _undecided(undecided, path)
    if why is not None:
        return Observation(None, why)
    if isinstance(value, Mapping):
        ends = {
            name: None if f"{dotted}.{name}" in undecided else value.get(name) for name in ("low", "high")
        }
        return _ends(ends, dotted, {**reasons, **undecided}, within)
    if isinstance(value, (bool, int, float)):
        beyond = beyond_resamples(answer, path) is not None
        return Observation(value, BEYOND if beyond else None, bounds.get(dotted), within.get(dotted, ()))
    if value is None and reasons.get(dotted) == "infinite":
        return Observation(-math.inf if path[-1] == "low" else math.inf)
    return Observation(None, reasons.get(dotted) or say("reasons.undefined_here", field=dotted))


def beyond_resamples(answer: Mapping[str, JsonValue], path: tuple[str, ...]) -> float | None:
    """The chance of signs so uneven, where a p-value lies beyond every resample: more draws would not tell it."""
    analysis, warnings, dotted = answer.get("analysis"), answer.get("warnings"), ".".join(path)
    if not isinstance(analysis, Mapping) or not isinstance(warnings, list):
        return None
    way = {"candidate": "greater", "baseline": "less"}.get(str(analysis.get("better")))
    asked = {"p_better": True, "p_value": analysis.get("alternative") in ("two-sided", way)}.get(dotted)
    codes = [warning.get("code") for warning in warnings if isinstance(warning, Mapping)]
    range_ = _ranges(analysis.get("within")).get(dotted)
    return range_[1] if asked and range_ is not None and "BEYOND_RESAMPLES" in codes else None


def _undecided(undecided: Mapping[str, str], path: tuple[str, ...]) -> str | None:
    """Why no rule may rest on a field, or on what it is part of."""
    parts = (".".join(path[:end]) for end in range(1, len(path) + 1))
    return next((undecided[part] for part in parts if part in undecided), None)


def _ends(
    interval: Mapping[str, JsonValue],
    dotted: str,
    reasons: Mapping[str, str],
    within: Mapping[str, tuple[float, float]],
) -> Observation:
    ends: dict[str, float | None] = {}
    why = reasons.get(dotted)
    for name, unbounded in (("low", -math.inf), ("high", math.inf)):
        end, reason = interval.get(name), reasons.get(f"{dotted}.{name}")
        if isinstance(end, (int, float)) and not isinstance(end, bool):
            ends[name] = float(end)
        else:
            ends[name] = unbounded if reason == "infinite" else None
            why = why or reason
    if None in ends.values():
        return Observation(Ends(**ends), why or say("reasons.end_undefined", field=dotted))
    ranges = [within.get(f"{dotted}.{name}") for name in ("low", "high")]
    if ranges == [None, None]:
        return Observation(Ends(**ends))
    lows, highs = (range_ or (end,) for range_, end in zip(ranges, ends.values(), strict=True))
    return Observation(Ends(**ends), corners=tuple(Ends(low, high) for low in lows for high in highs))


def _ranges(value: JsonValue) -> dict[str, tuple[float, float]]:
    items = value.items() if isinstance(value, dict) else ()
    return {name: (each[0], each[1]) for name, each in items if isinstance(each, (list, tuple))}  # type: ignore[misc]


def _texts(value: JsonValue) -> Mapping[str, str]:
    return {name: str(text) for name, text in value.items()} if isinstance(value, dict) else {}
