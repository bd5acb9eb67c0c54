"""What a field takes, in words, from the JSON Schema of the model it stands in: what a refusal tells to send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

Schema = Mapping[str, Any]
MOST_CHOICES = 12
"""Choices, or names of fields, that a description lists."""
_PLAIN_BOUND = 10**15
"""Bounds beyond it are not told: they only keep absurd values out."""
_FORMATS = {
    "date": "a date, such as 2027-02-01",
    "date-time": "a date and time with its offset, such as 2027-02-01T12:00:00Z",
    "uuid": "a UUID",
    "uri": "a URL",
    "binary": "base64 text",
}
_TYPES = {"boolean": "true or false", "null": "null", "object": "an object", "array": "an array"}


def describe_place(model: type[BaseModel], loc: Sequence[int | str]) -> str:
    """Describe what may be sent at a place of a document that is read as `model`; empty where the schema has nothing.

    Names of union branches, which pydantic mixes into places, choose the branch.
    """
    schema = _make_schema(model)
    nodes: list[Schema] = [schema]
    for part in loc:
        nodes = list(_list_inner(nodes, part, schema)) or nodes
    return _join_descriptions(nodes, schema)


@lru_cache(maxsize=256)
def _make_schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _list_inner(nodes: Iterable[Schema], part: int | str, whole: Schema) -> Iterable[Schema]:
    for node in nodes:
        tagged = node.get("discriminator", {}).get("mapping", {}).get(part)
        if tagged is not None:
            yield from _list_branches({"$ref": tagged}, whole)
            continue
        for branch in _list_branches(node, whole):
            if isinstance(part, int):
                first = branch.get("prefixItems", ())
                inner = first[part] if part < len(first) else branch.get("items")
            else:
                patterns = (*branch.get("patternProperties", {}).values(), None)
                inner = branch.get("properties", {}).get(part)
                inner = inner or branch.get("additionalProperties") or patterns[0]
            if isinstance(inner, dict):
                yield inner


def _list_branches(node: Schema, whole: Schema) -> Iterable[Schema]:
    """List the branches of a schema: references are followed, and a union becomes its choices."""
    if "$ref" in node:
        beside = {name: value for name, value in node.items() if name != "$ref"}
        for branch in _list_branches(whole.get("$defs", {})[node["$ref"].rpartition("/")[2]], whole):
            yield {**branch, **beside}
        return
    choices = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
    if not choices:
        yield node
        return
    for choice in choices:
        yield from _list_branches(choice, whole)


def _join_descriptions(nodes: Iterable[Schema], whole: Schema) -> str:
    branches = (branch for node in nodes for branch in _list_branches(node, whole))
    return " or ".join(dict.fromkeys(filter(None, (_describe(branch, whole) for branch in branches))))


def _describe(node: Schema, whole: Schema) -> str:
    if "const" in node:
        return json.dumps(node["const"])
    if "enum" in node:
        return _format_choices(node["enum"])
    kind = node.get("type")
    if kind in ("integer", "number"):
        return _format_number(node, "a whole number" if kind == "integer" else "a number")
    if kind == "string":
        if node.get("format") in _FORMATS:
            return _FORMATS[node["format"]]
        return f"text{_format_size(node, 'Length', 'character')}" + (
            f" that matches {node['pattern']}" if "pattern" in node else ""
        )
    if kind == "array":
        inner = [node["items"]] if isinstance(node.get("items"), dict) else node.get("prefixItems", ())
        entries = _join_descriptions(inner, whole) if inner else ""
        return f"an array{_format_size(node, 'Items', 'entry')}" + (f": {entries}" if entries else "")
    if kind == "object" and node.get("properties"):
        needed = node.get("required") or list(node["properties"])[:MOST_CHOICES]
        return "{" + ", ".join(f'"{name}": ...' for name in needed) + "}"
    return _TYPES.get(str(kind), "")


def _format_choices(choices: Sequence[Any]) -> str:
    quoted = [json.dumps(choice) for choice in choices[:MOST_CHOICES]]
    more = (
        f" or {len(choices) - MOST_CHOICES} others, which /docs lists" if len(choices) > MOST_CHOICES else ""
    )
    return (quoted[0] if len(choices) == 1 else f"one of {', '.join(quoted)}") + more


def _format_number(node: Schema, noun: str) -> str:
    bounds = (
        ("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"), ("exclusiveMaximum", "below"),
    )  # fmt: skip
    limits = [
        f"{word} {node[name]:.15g}"
        for name, word in bounds
        if name in node and abs(node[name]) < _PLAIN_BOUND
    ]
    return " ".join([noun, " and ".join(limits)]).strip()


def _format_size(node: Schema, of: str, noun: str) -> str:
    least, most = node.get(f"min{of}"), node.get(f"max{of}")
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    if least and most:
        return f" of {least} to {most} {plural}" if least != most else f" of {least} {plural}"
    if most is not None:
        return f" of at most {most} {plural}"
    return f" of at least {least} {noun if least == 1 else plural}" if least else ""
