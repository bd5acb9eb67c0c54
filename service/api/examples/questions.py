"""An example of a question to uploaded files, for OpenAPI: the answer is real, and the tests ask it."""

from __future__ import annotations

from typing import Any

from service.api.examples.comparisons import SCORED
from service.api.examples.made import read_json

_ROWS = zip(SCORED["item_ids"], SCORED["values"], SCORED["clusters"], strict=True)
FORM: dict[str, Any] = {
    "file": [
        "item_id,value,conversation\n"
        + "".join(f"{item},{value},{cluster}\n" for item, value, cluster in _ROWS)
    ],
    "cluster": "conversation",
    "at-least": "90%",
}
ANSWER = read_json("question")
