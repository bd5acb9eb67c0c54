"""Which types let through no more than they spell out: no infinity, no NaN, no depth of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

_LEAVES = frozenset({"int", "str", "bool", "none", "literal"})
_WRAPPERS = frozenset({"nullable", "default", "function-after", "function-before"})


def is_closed(adapter: TypeAdapter[Any]) -> bool:
    """Tell whether whatever the type takes from JSON is finite and no deeper than the type; False when in doubt."""
    return _Walk({}, frozenset()).is_closed(adapter.core_schema, finite=False)


class _Walk:
    """Walks through pydantic's core schema of a type, which is a tree of nodes with references to definitions."""

    def __init__(self, definitions: Mapping[str, Any], within: frozenset[str]) -> None:
        self._definitions = definitions
        self._within = within

    def is_closed(self, node: Mapping[str, Any], *, finite: bool) -> bool:
        """Tell whether a node is closed; `finite` says whether the model around it refuses infinite numbers."""
        kind = node["type"]
        if kind == "float":
            return not node.get("allow_inf_nan", not finite)
        if kind in _LEAVES:
            return True
        if kind in _WRAPPERS:
            return self.is_closed(node["schema"], finite=finite)
        if kind == "list":
            return "items_schema" in node and self.is_closed(node["items_schema"], finite=finite)
        if kind in ("union", "tagged-union"):
            choices = node["choices"]
            schemas = choices.values() if isinstance(choices, Mapping) else choices
            return all(
                isinstance(schema, Mapping) and self.is_closed(schema, finite=finite) for schema in schemas
            )
        if kind == "model":
            return self._is_closed_model(node)
        if kind == "definitions":
            known = {definition["ref"]: definition for definition in node["definitions"]}
            return _Walk({**self._definitions, **known}, self._within).is_closed(
                node["schema"], finite=finite
            )
        if kind == "definition-ref":
            return self._is_closed_definition(node["schema_ref"], finite=finite)
        return False

    def _is_closed_model(self, node: Mapping[str, Any]) -> bool:
        """Tell whether a model forbids fields it does not know, and each field it has is closed."""
        config, fields = node.get("config", {}), node["schema"]
        while fields["type"] in _WRAPPERS:
            fields = fields["schema"]
        return (
            fields["type"] == "model-fields"
            and config.get("extra_fields_behavior") == "forbid"
            and all(
                self.is_closed(field["schema"], finite=config.get("allow_inf_nan") is False)
                for field in fields["fields"].values()
            )
        )

    def _is_closed_definition(self, name: str, *, finite: bool) -> bool:
        if name in self._within:  # it holds itself, so it is as deep as the sender likes
            return False
        return _Walk(self._definitions, self._within | {name}).is_closed(
            self._definitions[name], finite=finite
        )
