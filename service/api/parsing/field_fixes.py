"""The way out of a fault, from the model of the field it is in: what to send there, or where the field belongs.

Every fault has one: what the model does not tell follows from the kind of the error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from service.api.parsing.shapes import describe_place
from service.domain.nearest import nearest
from service.words import Listed, Message, Stored, message

Sentence: TypeAlias = Message | Listed | Stored
"""What is said of a fault, until somebody reads it in a language."""
_WRAPPERS = frozenset({"nullable", "default", "function-after", "function-before", "function-wrap"})
_OBJECT, _LIST = ("dict_", "model_", "mapping_"), ("list_", "tuple_", "iterable_")
_FIXES = {"extra_forbidden": "shapes.remove_it", "missing": "shapes.add_it"}
_KINDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("int_",), "shapes.send_whole_number"),
    (("float_", "decimal_", "finite_", "greater_", "less_", "multiple_"), "shapes.send_number"),
    (("bool_",), "shapes.send_boolean"),
    (("string_", "str_"), "shapes.send_text"),
    ((*_LIST, "set_", "frozen_set_", "too_"), "shapes.send_entries"),
    (_OBJECT, "shapes.send_object"),
    (("datetime_", "timezone_"), "shapes.send_time"),
    (("date_",), "shapes.send_date"),
    (("literal_", "enum", "union_", "none_"), "shapes.send_one_of_these"),
    (("uuid_",), "shapes.send_uuid"),
)
OTHERWISE = "shapes.see_docs"
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


def find_fix(error: ErrorDetails, model: type[BaseModel] | None, sent: Any = None) -> Sentence:
    """Find what to do about one error of a document that is read as `model`.

    `sent` is what stands at the place: it is compared with names that are known, and never repeated.
    """
    kind, context = error["type"], error.get("ctx", {})
    if "fix" in context:
        return Stored(str(context["fix"]), "faults", "shapes.see_docs")
    if model is not None:
        of_model = _find_model_fix(error, model)
        if of_model is not None:
            return of_model
    if kind in _FIXES:
        return message(_FIXES[kind])
    close = _find_closest(
        sent, _CHOICE.findall(str(context.get("expected") or context.get("expected_tags", "")))
    )
    if close:
        return message("shapes.is_meant", name=close)
    shape = None if model is None else describe_place(model, error["loc"])
    if shape is not None:
        return message("shapes.send_shape", shape=shape)
    return message(next((code for starts, code in _KINDS if kind.startswith(starts)), OTHERWISE))


def _find_model_fix(error: ErrorDetails, model: type[BaseModel]) -> Sentence | None:
    """Find a way out in the model: an example, or another name or place for a field; None where it has none."""
    kind, loc = error["type"], error["loc"]
    if kind == "extra_forbidden":
        return _find_elsewhere(str(loc[-1]), _select_models(_list_types(model, loc[:-1])))
    types = _list_types(model, loc)
    if kind.startswith(_LIST):
        inside = [
            get_args(type_)[0] for type_ in types if get_origin(type_) in (list, tuple) and get_args(type_)
        ]
        return _format_first("shapes.send_shapes", _flatten(inside))
    if kind.startswith(_OBJECT) or kind == "missing":
        return _format_first("shapes.add_shape" if kind == "missing" else "shapes.send_shape", types)
    return None


def _format_first(words: str, types: Iterable[Any]) -> Sentence | None:
    """Format the first model of the types as these words, by their code, say it; None where there is none."""
    return next((message(words, shape=_format_shape(model)) for model in _select_models(types)), None)


def _find_elsewhere(name: str, models: Sequence[type[BaseModel]]) -> Sentence | None:
    """Find where a field belongs that the models do not have: to another test, or under another name."""
    for model in models:
        test = getattr(model, "elsewhere", {}).get(name)
        if test is not None:
            return message("shapes.send_to_test", test=test)
    close = _find_closest(name, [field for model in models for field in model.model_fields])
    return message("shapes.is_meant", name=close) if close else None


def _find_closest(sent: Any, known: Sequence[str]) -> str | None:
    return nearest(sent, known) if isinstance(sent, str) else None


def _list_types(model: type[BaseModel], loc: Iterable[int | str]) -> list[Any]:
    """List the types that a value at a place may have. Names of union branches, which pydantic mixes in, are passed."""
    types: list[Any] = [model]
    for part in loc:
        types = _flatten([inner for type_ in types for inner in _list_inner(type_, part)]) or types
    return types


def _list_inner(kind: Any, part: int | str) -> list[Any]:
    """List the types one step below a type: of a model's field, a list's elements or a mapping's values."""
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
