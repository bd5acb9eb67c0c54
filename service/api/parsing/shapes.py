"""What a field takes, in words, from the JSON Schema of the model it stands in: what a refusal tells to send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from service.words import Value, list_values, message, text_of

Schema = Mapping[str, Any]
MOST_CHOICES = 12
"""Choices, or names of fields, that a description lists."""
_PLAIN_BOUND = 10**15
"""Bounds beyond it are not told: they only keep absurd values out."""
_FORMATS = {"date": "date", "date-time": "date_time", "uuid": "uuid", "uri": "url", "binary": "base64"}
_TYPES = frozenset({"boolean", "null", "object", "array"})
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


def describe_place(model: type[BaseModel], loc: Sequence[int | str]) -> Value | None:
    """Describe what may be sent at a place of a document that is read as `model`; None where the schema has nothing.

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
    """Yield the schemas one step below these: of a property, an element, or the member of a union that `part` names."""
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


def _join_descriptions(nodes: Iterable[Schema], whole: Schema) -> Value | None:
    branches = (branch for node in nodes for branch in _list_branches(node, whole))
    described = [known for branch in branches if (known := _describe(branch, whole)) is not None]
    return (
        list_values({text_of(known, "en"): known for known in described}.values(), "shapes.or")
        if described
        else None
    )


def _describe(node: Schema, whole: Schema) -> Value | None:
    """Describe in words what a JSON schema takes at one place."""
    if "const" in node:
        return json.dumps(node["const"])
    if "enum" in node:
        return _format_choices(node["enum"])
    kind = node.get("type")
    if kind in ("integer", "number"):
        return _format_number(node, "shapes.whole_number" if kind == "integer" else "shapes.number")
    if kind == "string":
        if node.get("format") in _FORMATS:
            return message(f"shapes.{_FORMATS[node['format']]}")
        text = _format_size(node, "Length", "characters", message("shapes.text"))
        return message("shapes.matches", text=text, pattern=node["pattern"]) if "pattern" in node else text
    if kind == "array":
        inner = [node["items"]] if isinstance(node.get("items"), dict) else node.get("prefixItems", ())
        entries = _join_descriptions(inner, whole) if inner else None
        array = _format_size(node, "Items", "entries", message("shapes.array"))
        return array if entries is None else message("shapes.of_entries", array=array, entries=entries)
    if kind == "object" and node.get("properties"):
        needed = node.get("required") or list(node["properties"])[:MOST_CHOICES]
        return "{" + ", ".join(f'"{name}": ...' for name in needed) + "}"
    return message(f"shapes.{kind}") if kind in _TYPES else None


def _format_choices(choices: Sequence[Any]) -> Value:
    quoted = list_values([json.dumps(choice) for choice in choices[:MOST_CHOICES]], "lists.comma")
    known = quoted if len(choices) == 1 else message("shapes.one_of", choices=quoted)
    if len(choices) <= MOST_CHOICES:
        return known
    return message("shapes.others", choices=known, more=len(choices) - MOST_CHOICES)


def _format_number(node: Schema, noun: str) -> Value:
    """Say what a number may be, such as "a number above 0 and at most 1".

    Bounds of `_PLAIN_BOUND` and more are left out.
    """
    limits = [
        message(f"shapes.{name}", limit=f"{node[name]:.15g}")
        for name in _BOUNDS
        if name in node and abs(node[name]) < _PLAIN_BOUND
    ]
    number = message(noun)
    return (
        message("shapes.bounded", noun=number, limits=list_values(limits, "shapes.and")) if limits else number
    )


def _format_size(node: Schema, of: str, noun: str, what: Value) -> Value:
    """Format what it is with how long it may be; `noun` is what its length counts."""
    least, most = node.get(f"min{of}"), node.get(f"max{of}")
    if least and most:
        size = "range" if least != most else "exactly"
    elif most is not None:
        size = "at_most"
    elif least:
        size = "at_least"
    else:
        return what
    return message(f"shapes.{size}_{noun}", noun=what, least=least or 0, most=most or 0)
