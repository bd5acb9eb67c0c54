"""Fields of analyses by their dotted path: what a rule may ask of a test."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from service.domain.nearest import nearest
from service.stats.shared.declaring.common import Interval

Shape = Literal["number", "count", "interval", "truth", "other"]

EFFECT_FIELDS = frozenset(
    {
        "bootstrap_mean", "ci", "delta", "estimate", "estimates", "every", "intervals", "judge_alone",
        "judge_bias", "labels_alone", "labels_ci",
    }
)  # fmt: skip
"""First names of the fields that are on the scale of the difference itself."""

RATIO = "ratio"
"""First name of the fields that are a multiple of the baseline: plain numbers, of which 1 is no difference."""


def shape_of(model: type[BaseModel], path: tuple[str, ...]) -> Shape | None:
    """Return what kind of thing an analysis holds at a path; None when it has no such field."""
    annotation: Any = model
    for name in path:
        annotation = _step(_unwrap(annotation), name)
        if annotation is None:
            return None
    return _shape_of(_unwrap(annotation))


def choices(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields of an analysis that a rule can ask for, two levels deep, for messages."""
    names = []
    for name, info in model.model_fields.items():
        if info.exclude:
            continue
        if shape_of(model, (name,)) in ("number", "count", "interval", "truth"):
            names.append(name)
        inner = _unwrap(info.annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel) and inner is not Interval:
            names += [f"{name}.{choice}" for choice in choices(inner)]
    return tuple(names)


def nearest_field(model: type[BaseModel], path: tuple[str, ...]) -> str | None:
    """Return the field that a path to nowhere probably meant: one that ends so, else the one spelt likest.

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


def _unwrap(annotation: Any) -> Any:
    """Without `Annotated` and `| None`."""
    if get_origin(annotation) is Annotated:
        return _unwrap(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        rest = [get_arg for get_arg in get_args(annotation) if get_arg is not NoneType]
        return _unwrap(rest[0]) if len(rest) == 1 else annotation
    return annotation


def _shape_of(annotation: Any) -> Shape:
    """Return what a rule may ask of a field of this type; a model with `low` and `high` is an interval."""
    if annotation is bool:
        return "truth"
    if annotation is int:
        return "count"
    if annotation is float:
        return "number"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "interval" if {"low", "high"} <= set(annotation.model_fields) else "other"
    return "other"
