"""Pydantic's errors in our words: built from the kind of error and the model's own limits, so that no message ever
repeats what was sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from service.api.parsing.field_fixes import Sentence, find_fix
from service.api.parsing.strict_json import quote_key
from service.errors import Fault, InvalidData
from service.words import Message, Stored, Value, catalogue, list_values, message

MAX_FAULTS = 20
"""Faults that one refusal names."""

_MESSAGES = frozenset(
    {
        *("missing", "extra_forbidden", "finite_number", "multiple_of", "greater_than", "greater_than_equal"),
        *("less_than", "less_than_equal", "string_too_short", "string_too_long", "string_pattern_mismatch"),
        *("too_short", "too_long", "literal_error", "enum", "union_tag_invalid", "union_tag_not_found"),
        *("none_required", "json_invalid"),
    }
)
"""Kinds of pydantic's that have a sentence each, by their names in the room `shapes`."""
_KINDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("int_",), "must_be_integer"),
    (("float_", "decimal_", "number"), "must_be_number"),
    (("bool_",), "must_be_boolean"),
    (("string_", "str_"), "must_be_string"),
    (("list_", "tuple_", "set_", "frozen_set_", "iterable_"), "must_be_array"),
    (("dict_", "model_", "mapping_", "dataclass_"), "must_be_object"),
    (("datetime_", "timezone_"), "must_be_time"),
    (("date_",), "must_be_date"),
    (("uuid_",), "must_be_uuid"),
    (("url_",), "must_be_url"),
    (("bytes_",), "must_be_base64"),
)
_CHOICES = ("expected", "expected_tags")
_CHOICE = re.compile(r"'[^']*'")
_KNOWN = frozenset(get_args(ErrorType))
"""Kinds of pydantic's own; the sentences of others are ours."""


def invalid(errors: Sequence[ErrorDetails], value: Any, model: type[BaseModel] | None) -> InvalidData:
    """Return the refusal of a whole document, with a fault for every place in it.

    `value` is the document, used for paths only; `model`, what it was to be, has the ways out.
    """
    return _refuse(
        list(_merge(((format_path(error["loc"], value), error) for error in errors), value, model))
    )


def _refuse(faults: Sequence[Fault]) -> InvalidData:
    """Return the refusal that names the first fault, and counts the others."""
    first, more = faults[0], len(faults) - 1
    detail = _locate(first)
    if more:
        detail = message("shapes.and_more", first=detail, more=more)
    return InvalidData(detail, faults[:MAX_FAULTS], code="validation_failed")


def too_many(count: int) -> InvalidData:
    """Return the refusal of a document with so many faults that naming them would cost more than reading it."""
    return InvalidData(message("shapes.too_many", count=count))


def invalid_parameters(errors: Sequence[Any]) -> InvalidData:
    """Return the refusal of query parameters and headers, with paths such as `query.limit` and `header.if-match`."""
    faults = [
        _make_fault(
            ".".join(str(part) for part in error["loc"][:2]), format_message(error), find_fix(error, None)
        )
        for error in errors
    ]
    return InvalidData(_locate(faults[0]), faults[:MAX_FAULTS], code="validation_failed")


def _locate(fault: Fault) -> Message:
    said = fault.message if fault.translated is None else cast(Sentence, fault.translated[0])
    return message("shapes.of_place", place=fault.path or message("shapes.the_body"), fault=said)


def _make_fault(path: str, fault: Sentence, fix: Sentence) -> Fault:
    return Fault(path, fault.text("en"), fix.text("en"), (fault, fix))


def format_message(error: ErrorDetails) -> Sentence:
    """Format one error as the end of a sentence, from its kind and the model's limits: `must be at least 1`."""
    kind = error["type"]
    if kind in _MESSAGES:
        limits = {name: _format_limit(name, limit) for name, limit in error.get("ctx", {}).items()}
        names = catalogue.templates("en", "shapes")[kind].names
        unknown = message("shapes.limit_of_schema")  # pydantic does not give it
        return message(f"shapes.{kind}", **{name: limits.get(name, unknown) for name in names})
    if kind not in _KNOWN:
        return Stored(error["msg"], "faults", "shapes.must_be_described")
    code = next((code for starts, code in _KINDS if kind.startswith(starts)), "must_be_described")
    return message(f"shapes.{code}")


def _format_limit(name: str, limit: Any) -> Value:
    """Format a limit of the model; pydantic's choices as the list that they are."""
    if isinstance(limit, float):
        return f"{limit:g}"
    text = str(limit)
    if name not in _CHOICES:
        return text
    *others, last = _CHOICE.findall(text) or [text]
    rows = [list_values(others, "lists.comma"), last] if others else [last]
    choices = list_values(rows, "shapes.or" if name == "expected" else "lists.comma")
    return choices if choices.text("en") == text else text


def format_path(loc: Sequence[int | str], value: Any) -> str:
    """Format a place such as `("a", 0, "b")` as `a[0].b`, without the union branches that pydantic mixes in."""
    path, last = "", len(loc) - 1
    for position, part in enumerate(loc):
        if position < last and isinstance(value, dict) and value.get("kind") == part:
            continue  # the branch that the value itself names, perhaps like one of its fields
        if _holds(value, part):
            value = value[part]
        elif not (position == last and isinstance(value, dict) and str(part).isidentifier()):
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{quote_key(part)}"
    return path.lstrip(".")


def _holds(value: Any, part: int | str) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


def _find_value(document: Any, loc: Sequence[int | str]) -> Any:
    """Find what was sent at a place, for comparison alone; of an object its `kind`, which may be a union's tag."""
    value = document
    for part in loc:
        if _holds(value, part):
            value = value[part]
    return value.get("kind") if isinstance(value, dict) else value


def _merge(
    errors: Iterable[tuple[str, ErrorDetails]], document: Any, model: type[BaseModel] | None
) -> Iterable[Fault]:
    """Merge errors into a fault for every path: branches of a union become `must be a string or must be an integer`."""
    errors = list(errors)
    messages: dict[str, dict[str, Sentence]] = {}
    fixes: dict[str, Sentence] = {}
    for path, error in errors:
        if error["type"] == "too_short" and any(other.startswith(f"{path}[") for other, _ in errors):
            continue  # refused entries do not count; they are named themselves
        fault = format_message(error)
        messages.setdefault(path, {}).setdefault(fault.text("en"), fault)
        if path not in fixes:
            fixes[path] = find_fix(error, model, _find_value(document, error["loc"]))
    return (
        _make_fault(path, list_values(known.values(), "shapes.or"), fixes[path])
        for path, known in messages.items()
    )
