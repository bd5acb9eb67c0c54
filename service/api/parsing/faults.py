"""Pydantic's errors in our words: built from the kind of error and the model's own limits, so that no message ever
repeats what was sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from service.api.parsing.field_fixes import find_fix
from service.api.parsing.strict_json import quote_key
from service.errors import Fault, InvalidData

MAX_FAULTS = 20
"""Faults that one refusal names."""

_MESSAGES: dict[str, str] = {
    "missing": "is required",
    "extra_forbidden": "is not a field here",
    "finite_number": "must be a finite number",
    "multiple_of": "must be a multiple of {multiple_of}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "union_tag_invalid": "must have {discriminator} one of {expected_tags}",
    "union_tag_not_found": "must have {discriminator}",
    "none_required": "must be null",
    "json_invalid": "is not readable JSON",
}
_KINDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("int_",), "must be an integer"),
    (("float_", "decimal_", "number"), "must be a number"),
    (("bool_",), "must be true or false"),
    (("string_", "str_"), "must be a string"),
    (("list_", "tuple_", "set_", "frozen_set_", "iterable_"), "must be an array"),
    (("dict_", "model_", "mapping_", "dataclass_"), "must be an object"),
    (("datetime_", "timezone_"), "must be a date and time with its offset, such as 2027-02-01T12:00:00Z"),
    (("date_",), "must be a date, such as 2027-02-01"),
    (("uuid_",), "must be a UUID"),
    (("url_",), "must be a URL"),
    (("bytes_",), "must be base64 text"),
)
_KNOWN = frozenset(get_args(ErrorType))
"""Kinds of pydantic's own; the sentences of others are ours."""


def invalid(
    errors: Sequence[ErrorDetails], value: Any = None, model: type[BaseModel] | None = None
) -> InvalidData:
    """Return the refusal of a whole document, with a fault for every place in it.

    `value` is the document, used for paths only; `model`, what it was to be, has the ways out.
    """
    faults = list(_merge(((format_path(error["loc"], value), error) for error in errors), value, model))
    first = faults[0]
    more = len(faults) - 1
    detail = f"{first.path or 'the body'} {first.message}" + (
        f"; and {more} more fault{'s' if more > 1 else ''}" if more else ""
    )
    return InvalidData(detail, faults[:MAX_FAULTS], code="validation_failed")


def too_many(count: int) -> InvalidData:
    """Return the refusal of a document with so many faults that naming them would cost more than reading it."""
    return InvalidData(f"the body has {count} faults: its values are not of the kind that /docs describes")


def invalid_parameters(errors: Sequence[Any]) -> InvalidData:
    """Return the refusal of query parameters and headers, with paths such as `query.limit` and `header.if-match`."""
    faults = [
        Fault(".".join(str(part) for part in error["loc"][:2]), format_message(error), find_fix(error, None))
        for error in errors
    ]
    return InvalidData(f"{faults[0].path} {faults[0].message}", faults[:MAX_FAULTS], code="validation_failed")


def format_message(error: ErrorDetails) -> str:
    """Format one error as the end of a sentence, from its kind and the model's limits: `must be at least 1`."""
    kind = error["type"]
    if kind in _MESSAGES:
        limits = error.get("ctx", {}).items()
        return _MESSAGES[kind].format_map(
            _Limits({name: f"{limit:g}" if isinstance(limit, float) else limit for name, limit in limits})
        )
    if kind not in _KNOWN:
        return error["msg"]
    return next((text for starts, text in _KINDS if kind.startswith(starts)), "is not what /docs describes")


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


class _Limits(dict[str, Any]):
    """The model's own limits by name; one that pydantic does not give is described in words."""

    def __missing__(self, key: str) -> str:
        return "what the schema says"


def _merge(
    errors: Iterable[tuple[str, ErrorDetails]], document: Any, model: type[BaseModel] | None
) -> Iterable[Fault]:
    """Merge errors into a fault for every path: branches of a union become `must be a string or must be an integer`."""
    errors = list(errors)
    messages: dict[str, dict[str, None]] = {}
    fixes: dict[str, str] = {}
    for path, error in errors:
        if error["type"] == "too_short" and any(other.startswith(f"{path}[") for other, _ in errors):
            continue  # refused entries do not count; they are named themselves
        messages.setdefault(path, {})[format_message(error)] = None
        fixes.setdefault(path, find_fix(error, model, _find_value(document, error["loc"])))
    return (Fault(path, " or ".join(texts), fixes[path]) for path, texts in messages.items())
