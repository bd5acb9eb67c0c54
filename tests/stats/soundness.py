"""What every answer owes, whatever the test and the data."""

from __future__ import annotations

import json
import math


def leaves(value, path=""):
    """Every scalar of a JSON value with its dotted path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}.{index}")
    else:
        yield path, value


def sound(answer):
    """No NaN, every null explained, no p-value of 0 or above 1, sentences that say nothing forbidden."""
    dumped = json.loads(answer.model_dump_json())
    analysis = dumped["analysis"]
    for path, value in leaves(dumped):
        assert not isinstance(value, float) or math.isfinite(value), path
    explained = analysis["reasons"]
    for path, value in leaves({k: v for k, v in analysis.items() if k not in ("reasons", "bounds")}):
        if value is None:
            parts = path.split(".")
            above = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
            above.add(".".join(part for part in parts if not part.isdigit()))
            assert above & set(explained), f"{path} is null without a reason"
        name = path.rsplit(".", 1)[-1]
        if name.startswith("p_") and isinstance(value, float) and not name.endswith(("_se", "_error")):
            assert 0 < value <= 1, path
    for path in (*explained, *analysis["bounds"]):
        assert explained.get(path) or analysis["bounds"].get(path), path
    words = analysis["sentence"].lower()
    for never in ("marginally significant", "no effect", "confirms", "nan", "inf "):
        assert never not in words, words
    return answer
