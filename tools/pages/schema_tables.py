"""Fields of a JSON Schema as Markdown tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_BOUNDS = (
    ("minimum", "at least"),
    ("exclusiveMinimum", "above"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "below"),
)
_WORDS = {"number": "number", "integer": "whole number", "boolean": "true or false", "null": "null"}
_ANY = "any JSON"
_PLAIN_BOUND = 10**8
"""Bounds of this size and more only keep absurd values out, and are not shown."""


def tables(schema: Schema, *, defaults: bool, without: frozenset[str] = frozenset()) -> str:
    """A table of the schema's fields, then one per nested record, under a heading of its name.

    `defaults`: show what a field is when left out. `without`: fields of the first table left out.
    """
    definitions = schema.get("$defs", {})
    parts = [_table(schema, definitions, defaults, without)]
    for name in _nested(schema, without):
        inner = definitions[name]
        words = plain(inner.get("description", ""))
        parts.append(f"### {name}\n\n{words}\n\n{_table(inner, definitions, defaults)}")
    return "\n\n".join(parts)


def plain(text: str) -> str:
    """Text that Markdown shows as it is written: code in single backquotes, no line breaks."""
    return re.sub(r"\s*\n\s*", " ", text.strip()).replace("``", "`")


def _table(schema: Schema, definitions: Schema, defaults: bool, without: frozenset[str] = frozenset()) -> str:
    header = ["field", "type", "default", "what it is"] if defaults else ["field", "type", "what it is"]
    rows = [header, ["---"] * len(header)]
    for name, field in schema["properties"].items():
        if name in without:
            continue
        row = [f"`{name}`", type_words(field, definitions), plain(_description(field, schema))]
        if defaults:
            row.insert(2, _default(name, field, schema))
        rows.append(row)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _description(field: Schema, schema: Schema) -> str:
    described = field.get("description")
    if described is None and "$ref" in field:
        described = schema.get("$defs", {}).get(_name(field), {}).get("description")
    return str(described or "")


def _default(name: str, field: Schema, schema: Schema) -> str:
    if name in schema.get("required", ()):
        return "required"
    return f"`{json.dumps(field.get('default'))}`"


def type_words(field: Schema, definitions: Schema) -> str:
    """The type in words, with its choices and bounds. Only records have a table that a link can lead to."""
    if "$ref" in field:
        name, referred = _name(field), definitions[_name(field)]
        return f"[{name}](#{name.lower()})" if "properties" in referred else type_words(referred, definitions)
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{choice}`" for choice in field["enum"])
    choices = field.get("anyOf") or field.get("oneOf")
    if choices:
        return " or ".join(dict.fromkeys(type_words(choice, definitions) for choice in choices))
    match field.get("type"):
        case "array":
            return _list_words(field, definitions)
        case "object":
            keys = field.get("propertyNames", {}).get("enum")
            by = ", ".join(f"`{key}`" for key in keys) if keys else "name"
            inner = field.get("additionalProperties", *field.get("patternProperties", {}).values())
            return f"{type_words(inner, definitions)} by {by}" if isinstance(inner, dict) else "object"
        case "string":
            return "text"
        case other:
            return _WORDS.get(str(other), _ANY) + _bounds(field)


def _list_words(field: Schema, definitions: Schema) -> str:
    if "prefixItems" in field:
        return "list of " + " and ".join(type_words(item, definitions) for item in field["prefixItems"])
    return f"list of {type_words(field.get('items', {}), definitions)}"


def _bounds(field: Schema) -> str:
    words = [
        f"{word} {field[name]:g}"
        for name, word in _BOUNDS
        if name in field and abs(field[name]) < _PLAIN_BOUND
    ]
    return f" ({', '.join(words)})" if words else ""


def _name(field: Schema) -> str:
    return str(field["$ref"].rsplit("/", 1)[-1])


def _nested(schema: Schema, without: frozenset[str]) -> list[str]:
    """Names of the records below the fields, in the order they are met."""
    definitions = schema.get("$defs", {})
    nested: dict[str, None] = {}
    open_ = [field for name, field in schema["properties"].items() if name not in without]
    while open_:
        for name in _references(open_.pop(0)):
            if name not in nested and "properties" in definitions[name]:
                nested[name] = None
                open_.append(definitions[name]["properties"])
    return list(nested)


def _references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield _name(part)
        for inner in part.values():
            yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)
