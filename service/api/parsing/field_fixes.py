"""The way out of a fault, from the model of the field it is in: what to send there, or where the field belongs.

Every fault has one: what the model does not tell follows from the kind of the error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from service.api.parsing.shapes import describe_place
from service.domain.nearest import nearest

_WRAPPERS = frozenset({"nullable", "default", "function-after", "function-before", "function-wrap"})
_OBJECT, _LIST = ("dict_", "model_", "mapping_"), ("list_", "tuple_", "iterable_")
_FIXES = {"extra_forbidden": "remove it, or see /docs for the fields", "missing": "add it"}
_KINDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("int_",), "send a whole number"),
    (
        ("float_", "decimal_", "finite_", "greater_", "less_", "multiple_"),
        "send a number within these bounds",
    ),
    (("bool_",), "send true or false"),
    (("string_", "str_"), "send text within these bounds"),
    ((*_LIST, "set_", "frozen_set_", "too_"), "send so many entries in an array"),
    (_OBJECT, "send an object"),
    (("datetime_", "timezone_"), "send one such as 2027-02-01T12:00:00Z"),
    (("date_",), "send one such as 2027-02-01"),
    (("literal_", "enum", "union_", "none_"), "send one of these"),
    (("uuid_",), "send one such as 00000000-0000-4000-8000-000000000000"),
)
OTHERWISE = "see /docs for what is taken there"
_CHOICE = re.compile(r"'([^']*)'")


def find_model(core_schema: Mapping[str, Any]) -> type[BaseModel] | None:
    """Find the model that a whole document is read as; None where it is not one model."""
    node, known = core_schema, dict[str, Any]()
    while node["type"] != "model":
        if node["type"] == "definitions":
            known |= {definition["ref"]: definition for definition in node["definitions"]}
        elif node["type"] == "definition-ref":
            node = known[node["schema_ref"]]
            continue
        elif node["type"] not in _WRAPPERS:
            return None
        node = node["schema"]
    model: type[BaseModel] = node["cls"]
    return model


def find_fix(error: ErrorDetails, model: type[BaseModel] | None, sent: Any = None) -> str:
    """Find what to do about one error of a document that is read as `model`.

    `sent` is what stands at the place: it is compared with names that are known, and never repeated.
    """
    kind, context = error["type"], error.get("ctx", {})
    if "fix" in context:
        return str(context["fix"])
    if model is not None:
        of_model = _find_model_fix(error, model)
        if of_model:
            return of_model
    if kind in _FIXES:
        return _FIXES[kind]
    close = _find_closest(
        sent, _CHOICE.findall(str(context.get("expected") or context.get("expected_tags", "")))
    )
    if close:
        return f"is '{close}' meant?"
    shape = "" if model is None else describe_place(model, error["loc"])
    return (
        f"send {shape}"
        if shape
        else next((fix for starts, fix in _KINDS if kind.startswith(starts)), OTHERWISE)
    )


def _find_model_fix(error: ErrorDetails, model: type[BaseModel]) -> str:
    """Find a way out in the model: an example, or another name or place for a field; empty where it has none."""
    kind, loc = error["type"], error["loc"]
    if kind == "extra_forbidden":
        return _find_elsewhere(str(loc[-1]), _select_models(_list_types(model, loc[:-1])))
    types = _list_types(model, loc)
    if kind.startswith(_LIST):
        inside = [
            get_args(type_)[0] for type_ in types if get_origin(type_) in (list, tuple) and get_args(type_)
        ]
        return next((f"send [{_format_shape(model)}]" for model in _select_models(_flatten(inside))), "")
    if kind.startswith(_OBJECT) or kind == "missing":
        verb = "add" if kind == "missing" else "send"
        return next((f"{verb} {_format_shape(model)}" for model in _select_models(types)), "")
    return ""


def _find_elsewhere(name: str, models: Sequence[type[BaseModel]]) -> str:
    """Find where a field belongs that the models do not have: to another test, or under another name."""
    for model in models:
        test = getattr(model, "elsewhere", {}).get(name)
        if test is not None:
            return f"send the request to '{test}', which takes it"
    close = _find_closest(name, [field for model in models for field in model.model_fields])
    return f"is '{close}' meant?" if close else ""


def _find_closest(sent: Any, known: Sequence[str]) -> str | None:
    return nearest(sent, known) if isinstance(sent, str) else None


def _list_types(model: type[BaseModel], loc: Iterable[int | str]) -> list[Any]:
    """List the types that a value at a place may have. Names of union branches, which pydantic mixes in, are passed."""
    types: list[Any] = [model]
    for part in loc:
        types = _flatten([inner for type_ in types for inner in _list_inner(type_, part)]) or types
    return types


def _list_inner(kind: Any, part: int | str) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return [] if field is None else [field.annotation]
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(part, int) and origin in (list, tuple) and arguments:
        return [arguments[0]]
    if isinstance(part, str) and origin in (dict, Mapping) and arguments:
        return [arguments[1]]
    return []


def _flatten(types: Iterable[Any]) -> list[Any]:
    """Flatten types: `Annotated` is taken off, and a union becomes its choices."""
    plain: list[Any] = []
    for type_ in types:
        origin = get_origin(type_)
        if origin is Annotated:
            plain += _flatten(get_args(type_)[:1])
        elif origin in (Union, UnionType):
            plain += _flatten(get_args(type_))
        else:
            plain.append(type_)
    return plain


def _select_models(types: Iterable[Any]) -> list[type[BaseModel]]:
    return [type_ for type_ in types if isinstance(type_, type) and issubclass(type_, BaseModel)]


def _format_shape(model: type[BaseModel]) -> str:
    """Format the model's own example, else the fields that it cannot do without."""
    extra = model.model_config.get("json_schema_extra")
    examples = extra.get("examples") if isinstance(extra, dict) else None
    if isinstance(examples, list) and examples:
        return json.dumps(examples[0])
    needed = [name for name, field in model.model_fields.items() if field.is_required()]
    names = ", ".join(f'"{name}": ...' for name in needed or model.model_fields)
    return "{" + names + "}"
