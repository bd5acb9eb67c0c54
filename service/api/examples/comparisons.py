"""Examples of answers without a plan, and of resolution, for OpenAPI: they are real, and the tests run them."""

from __future__ import annotations

from typing import Any

from service.api.examples.made import read_json

_IDS = [f"q{at}" for at in range(24)]
_CLUSTERS = [f"conversation-{at // 3}" for at in range(24)]
_BASELINE = [1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1]
_CANDIDATE = [1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0]

ROWS: dict[str, Any] = {
    "baseline": {"item_ids": _IDS, "values": _BASELINE, "clusters": _CLUSTERS},
    "candidate": {"item_ids": _IDS, "values": _CANDIDATE},
    "margin": {"value": 2, "unit": "pp"},
}
PILOT: dict[str, Any] = {
    "baseline": _BASELINE,
    "candidate": _CANDIDATE,
    "clusters": _CLUSTERS,
    "effects": [0.05],
}
PUBLISHED: dict[str, Any] = {"n": 500, "baseline": 0.75, "candidate": 0.76, "n_clusters": 10}
SCORED: dict[str, Any] = {"item_ids": _IDS, "values": _CANDIDATE, "clusters": _CLUSTERS, "threshold": 0.9}
SCORE = read_json("score")
COMPARISON = read_json("comparison")
RESOLUTION = read_json("resolution")
AUDIT = read_json("audit")
