"""Every constraint of every model that a request may have is violated once: the refusal says what is wrong, and what to
send instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from service.api.http.serving.route import Route
from service.api.parsing.models import validate
from service.app import routes
from service.errors import Fault, InvalidData

Schema = dict[str, Any]
DEEPEST = 9
NOWHERE = "\n nothing of the kind"


def bodies() -> dict[str, Any]:
    """What the routes read as JSON, by operation."""
    read: dict[str, Any] = {}
    for route in routes():
        doc = route.body_doc if isinstance(route, Route) else None
        if doc is not None and doc.content.get("application/json", bytes) is not bytes:
            read[f"{min(route.methods or {'?'})} {route.path}"] = doc.content["application/json"]
    return read


BODIES = bodies()


def resolved(schema: Schema, whole: Schema) -> Iterator[Schema]:
    """The schema's branches without references, each with the name of its own record, if it is one."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        for branch in resolved(whole["$defs"][name], whole):
            yield {"name": name} | branch | {key: schema[key] for key in schema if key != "$ref"}
    elif choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        for choice in choices:
            yield from resolved(choice, whole)
    else:
        yield schema


def violations(
    schema: Schema, whole: Schema, seen: frozenset[str], depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """A constraint, and a value that breaks it and as little else as may be."""
    branches = list(resolved(schema, whole))
    for branch in branches:
        name = branch.get("name", "")
        yield from own_violations(branch)
        if depth < DEEPEST and name not in seen:
            yield from inner_violations(branch, whole, seen | ({name} if name else frozenset()), depth)


def own_violations(branch: Schema) -> Iterator[tuple[str, Any]]:
    kind = branch.get("type")
    yield "type", {"string": 5, "array": "x"}.get(str(kind), [[NOWHERE]])
    yield "type", {"object": 5, "integer": 0.5, "number": "0"}.get(str(kind), {NOWHERE: NOWHERE})
    for name, value in (
        ("minimum", lambda most: most - 1), ("maximum", lambda least: least + 1),
        ("exclusiveMinimum", lambda most: most), ("exclusiveMaximum", lambda least: least),
    ):  # fmt: skip
        if name in branch:
            yield name, value(branch[name])
    if "enum" in branch or "const" in branch:
        yield "enum", NOWHERE
        yield "enum", str(branch.get("const", branch.get("enum", [""])[0]))[:-1] + "_"
    if "pattern" in branch or "format" in branch:
        yield "pattern", NOWHERE
    if branch.get("minLength"):
        yield "minLength", ""
    if branch.get("maxLength", 10**6) < 10**5:
        yield "maxLength", "x" * (branch["maxLength"] + 1)
    if branch.get("minItems"):
        yield "minItems", []
    if branch.get("maxItems", 10**6) <= 1000:
        yield "maxItems", [None] * (branch["maxItems"] + 1)
    if branch.get("additionalProperties") is False:
        yield "additionalProperties", {"quite_another": 1}
    if branch.get("required"):
        yield "required", {}


def inner_violations(
    branch: Schema, whole: Schema, seen: frozenset[str], depth: int
) -> Iterator[tuple[str, Any]]:
    tag = {
        name: inner["const"]
        for name, inner in branch.get("properties", {}).items()
        if "const" in inner and name in ("kind", "format", "change", "name")
    }
    for name, inner in branch.get("properties", {}).items():
        for what, value in violations(inner, whole, seen, depth + 1):
            yield f"{name}.{what}", {**tag, name: value}
    for inner in (*branch.get("patternProperties", {}).values(), branch.get("additionalProperties")):
        if isinstance(inner, dict):
            for what, value in violations(inner, whole, seen, depth + 1):
                yield f"*.{what}", {"a": value}
    items = [branch["items"]] if isinstance(branch.get("items"), dict) else branch.get("prefixItems", [])
    for at, inner in enumerate(items):
        for what, value in violations(inner, whole, seen, depth + 1):
            yield f"[{at}].{what}", [value] * (at + 1)


def faults_of(adapter: TypeAdapter[Any], document: Any) -> tuple[Fault, ...]:
    try:
        validate(adapter, json.dumps(document).encode())
    except InvalidData as refused:
        assert len(refused.detail) > 10
        return refused.faults
    return ()


@pytest.mark.parametrize("operation", sorted(BODIES))
def test_every_constraint_of_a_body_is_refused_in_a_sentence_with_a_way_out(operation: str) -> None:
    adapter = TypeAdapter(BODIES[operation])
    schema = adapter.json_schema()
    walked = list(violations(schema, schema, frozenset()))
    assert walked
    lacking = {
        (what, fault.path, fault.message)
        for what, document in walked
        for fault in faults_of(adapter, document)
        if len(fault.message) < 8
        or "not valid" in fault.message
        or len(fault.fix) < 5
        or NOWHERE in fault.fix
    }
    assert lacking == set()
