"""YAML as JSON would have it: no aliases, no tags, no key twice, and dates stay the text that they are."""

from __future__ import annotations

from typing import Any

import yaml
from typing_extensions import override

from service.ingest.documents import limits
from service.ingest.documents.json_values import Buffer
from service.ingest.documents.limits import too_large, unreadable

_MOST = 8 * limits.MIB
_DEEPEST = 100


class _Loader(yaml.CSafeLoader):
    """Makes texts of dates, and texts of keys."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the library declares it
        first: [
            (tag, pattern) for tag, pattern in resolvers if not tag.endswith(("timestamp", "merge", "value"))
        ]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    @override
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return an object; its keys are what stands in the file, and none of them twice."""
        made: dict[Any, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in made:
                raise yaml.YAMLError("key")
            made[key.value] = self.construct_object(value, deep=deep)
        return made


def load_yaml(document: Buffer, where: str) -> Any:
    """Return the one value of a document.

    Raises:
        MalformedBody: it is no YAML, or uses what JSON does not have.
        TooLarge: it is longer than 8 MiB, which take as long as a thousand of JSON.
    """
    if len(document) > _MOST:
        raise too_large("the YAML is larger", f"{_MOST >> 20} MiB of it: save it as JSON, or")
    text = bytes(document[: len(document)])
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise unreadable(where, "has an alias in its YAML: save it as JSON")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise unreadable(where, "is nested too deeply")
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader's child
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        raise unreadable(where, "is not YAML that is read everywhere") from None
