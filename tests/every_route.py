"""A request to every operation of the OpenAPI document, with the ids that a test chooses."""

from __future__ import annotations

import copy
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PICTURES = {
    "chart": "forest",
    "form": "json",
    "test": "mcnemar",
    "arm": "A",
    "link_id": "none",
    "question": "score",
}
"""What paths of pictures, of arms, of view-only links and of questions hold."""
COMMITTED = Path(__file__).parents[1] / "openapi" / "openapi.json"
"""Making the document takes seconds: tests read it, and tests/api/test_openapi.py holds it against what is served."""
DOCUMENT = json.loads(COMMITTED.read_text("utf-8"))
PLACE = re.compile(r"\{(\w+)\}")
WITHOUT_EXAMPLE = {
    ("putItems", "text/csv"): "item_id\nitem-0\nitem-1\n",
    ("putItems", "application/x-ndjson"): '{"item_id":"item-0"}\n{"item_id":"item-1"}\n',
    ("postResults", "text/csv"): "item_id,arm,endpoint,value\nitem-1,A,accuracy,1\n",
    (
        "postResults",
        "application/x-ndjson",
    ): '{"item_id":"item-1","arm":"A","endpoint":"accuracy","value":1}\n',
}
"""The document shows no example of these; a check takes what a post takes."""

MULTIPART, BOUNDARY = "multipart/form-data", "of-parts"


def multipart(body: Mapping[str, Any]) -> tuple[str, str]:
    """A form and its media type, as a text that tests may cut and change; `file` holds files."""
    parts = [
        (f'name="{name}"' + (f'; filename="{at}.csv"' if name == "file" else ""), value)
        for name, values in body.items()
        for at, value in enumerate(values if isinstance(values, list) else [values])
    ]
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; "
    text = "".join(f"{head}{name}\r\n\r\n{value}\r\n" for name, value in parts)
    return f"{MULTIPART}; boundary={BOUNDARY}", f"{text}--{BOUNDARY}--\r\n"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as the document describes it."""

    id: str
    method: str
    path: str
    described: Mapping[str, Any] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """What its path holds."""
        return PLACE.findall(self.path)

    @property
    def reads(self) -> bool:
        """It changes nothing."""
        return self.method == "GET"

    def query(self) -> list[str]:
        """The query parameters that it knows."""
        return [each["name"] for each in self.described.get("parameters", []) if each["in"] == "query"]

    def url(self, ids: Mapping[str, object]) -> str:
        """Its path with these ids, and where it is of a record what its query has to have.

        Raises:
            KeyError: the path holds a name that `ids` does not: a route that its test must be taught.
        """
        asked = [
            f"{each['name']}=example"
            for each in self.described.get("parameters", ())
            if self.names and each.get("in") == "query" and each.get("required")
        ]
        path = PLACE.sub(lambda found: str(ids[found[1]]), self.path)
        return path + ("?" + "&".join(asked) if asked else "")

    def bodies(self) -> list[tuple[str, Any]]:
        """A valid body of every media type, (None, None) where it takes none."""
        content = self.described.get("requestBody", {}).get("content", {})
        examples = [(media, self._example(media, shown)) for media, shown in content.items()]
        return [multipart(body) if media == MULTIPART else (media, body) for media, body in examples] or [
            ("", None)
        ]

    def _example(self, media: str, shown: Mapping[str, Any]) -> Any:
        if "example" in shown:
            return copy.deepcopy(shown["example"])
        if self.id in ("importResults", "checkFile"):
            return "item_id,arm,endpoint,value\nitem-1,A,accuracy,1\n"  # whatever it says it is
        return WITHOUT_EXAMPLE[self.id.replace("checkResults", "postResults"), media]

    def headers(self) -> dict[str, str]:
        """What its headers need to be taken: fresh ones at every call."""
        known = {each["name"] for each in self.described.get("parameters", []) if each["in"] == "header"}
        once = {"Idempotency-Key": uuid.uuid4().hex} if "Idempotency-Key" in known else {}
        return once | ({"If-Match": "*"} if "If-Match" in known else {})


OPERATIONS = [
    Operation(described["operationId"], method.upper(), path, described)
    for path, methods in DOCUMENT["paths"].items()
    for method, described in methods.items()
]


def content(media: str, body: Any) -> dict[str, Any]:
    """The body as httpx takes it."""
    if not media:
        return {}
    headers = {"Content-Type": media}
    if isinstance(body, (str, bytes)):
        return {"content": body, "headers": headers}
    return {"json": body, "headers": headers}
